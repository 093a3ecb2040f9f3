// What the page's own scripts tell the chat, also before this script has come, and what they are told by events.
const NAME = /^[a-z][a-z0-9_]{0,63}$/, ODD = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;
// Up to 20 short texts by name; what the page does not know is left out.
const texts = (given, before = []) => {
  const told = new Map(before);
  for (const [name, value] of Object.entries(given)) {
    if (value == null || value === "") continue;
    if (!NAME.test(name)) throw new TypeError(`"${name}" is no name: a to z, 0 to 9 and _, at most 64 characters.`);
    if (value instanceof Object || String(value).length > 500 || ODD.test(value)) throw new TypeError(`"${name}" is no text of one line, at most 500 characters.`);
    told.set(name, String(value));
  }
  if (told.size > 20) throw new RangeError("At most 20 values.");
  return told;
};
const CALLS = {
  open: (chat) => chat.open(navigator.userActivation?.isActive ?? true), // no page takes the focus by itself
  close: (chat) => chat.isOpen && chat.close(),
  prefill: (chat, given) => { chat.known = texts(given, chat.known); chat.render(); },
  attributes: (chat, given) => {
    const { conversation } = chat;
    conversation.attributes = Object.fromEntries(texts(given, Object.entries(conversation.attributes ?? {})));
  },
  identify: (chat, given) => {
    const { email, user_id, name, expires, signature } = Object.fromEntries(texts(given)), { conversation } = chat;
    const person = JSON.stringify([email, user_id]), isOther = (one) => one && one !== person;
    if (isOther(conversation.person)) chat.known = conversation.attributes = undefined; // the page told them of somebody else
    if ([conversation.whose, known(chat).person].some(isOther)) { chat.opinion.value = ""; chat.write(""); }
    if (known(chat).person !== person) keep(chat, { person });
    conversation.identify({ email, user_id, name, expires: Number(expires), signature }, person);
    CALLS.prefill(chat, { email, name });
  },
};
// A wrong call is an error of its own, as one in an event's handler is: the page goes on.
const obey = (name, given = {}) => {
  try {
    if (!Object.hasOwn(CALLS, name)) throw new TypeError(`"${name}" is none of ${Object.keys(CALLS).join(", ")}.`);
    CALLS[name](document.querySelector("leadwire-chat"), given);
  } catch (error) { reportError(error); }
};
const tell = (chat, news) => {
  const detail = { bot: chat.dataset.bot, conversation: chat.conversation.kept.id ?? null };
  chat.dispatchEvent(new CustomEvent(`leadwire:${news}`, { bubbles: true, detail }));
};
// What the page knows stands in the field when the bot asks for it, once: the visitor sends it, or something else.
const fill = (chat, asked = "") => {
  const name = asked.replace("custom_fields.", ""), { field, known } = chat;
  if (field.value || !known?.has(name)) return;
  chat.write(known.get(name));
  known.delete(name);
};
