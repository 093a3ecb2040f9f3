// What the widget itself says, in English. Other languages, and what the owner has chosen, come with the bot.
const WORDS = {
  open: "Open chat", close: "Close chat", unread: "new messages", log: "Conversation", send: "Send",
  field: "Your message", bot: "Automated assistant", waiting: "A person has been asked to join",
  live: "You are talking to our team", ended: "The chat has ended", again: "Start a new chat",
  person: "Talk to a person", end: "End chat", mail: "Mail me this chat", mailed: "Sent by mail", you: "You", says: "Assistant", team: "Team", unsent: "Not sent yet",
  failed: "Not delivered", offline: "You are offline. Your message will be sent when you are back.",
  away: "The chat cannot be reached. Trying again …", slow: "That was a lot at once. Yours will be sent in a moment.",
  closed: "This chat is not available here.", long: "Please shorten your message. Characters too many:",
  dismiss: "Dismiss", types: "is typing …", seen: "Seen", rate: "How was this chat?", poor: "Very bad",
  great: "Very good", comment: "Anything to add?", thanks: "Thank you for your rating.",
};
const directionOf = (locale) => (["ar", "fa", "he", "ur"].includes((locale || "").toLowerCase().split("-")[0]) ? "rtl" : "ltr");
