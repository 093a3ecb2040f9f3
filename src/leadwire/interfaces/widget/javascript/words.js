// What the widget itself says; a bot's own words come with the bot. One entry a language, English is the rest.
const WORDS = {
  en: {
    open: "Open chat", close: "Close chat", unread: "new messages", log: "Conversation", send: "Send",
    field: "Your message", bot: "Automated assistant", waiting: "A person has been asked to join",
    live: "You are talking to our team", ended: "The chat has ended", again: "Start a new chat",
    person: "Talk to a person", end: "End chat", mail: "Mail me this chat", mailed: "Sent by mail", you: "You", says: "Assistant", team: "Team", unsent: "Not sent yet",
    failed: "Not delivered", offline: "You are offline. Your message will be sent when you are back.",
    away: "The chat cannot be reached. Trying again …", slow: "That was a lot at once. Yours will be sent in a moment.",
    closed: "This chat is not available here.", long: "Please shorten your message. Characters too many:",
  },
  de: {
    open: "Chat öffnen", close: "Chat schließen", unread: "neue Nachrichten", log: "Gespräch", send: "Senden",
    field: "Ihre Nachricht", bot: "Automatischer Assistent", waiting: "Ein Mensch wurde dazugebeten",
    live: "Sie sprechen mit unserem Team", ended: "Der Chat ist beendet", again: "Neuen Chat beginnen",
    person: "Mit einem Menschen sprechen", end: "Chat beenden", mail: "Chat per E-Mail", mailed: "Per E-Mail gesendet", you: "Sie", says: "Assistent", team: "Team",
    unsent: "Noch nicht gesendet", failed: "Nicht zugestellt",
    offline: "Sie sind offline. Ihre Nachricht wird gesendet, sobald Sie wieder online sind.",
    away: "Der Chat ist gerade nicht erreichbar. Neuer Versuch …",
    slow: "Das war viel auf einmal. Ihre Nachricht wird gleich gesendet.",
    closed: "Dieser Chat ist hier nicht verfügbar.", long: "Bitte kürzen Sie Ihre Nachricht. Zeichen zu viel:",
  },
  es: {
    open: "Abrir chat", close: "Cerrar chat", unread: "mensajes nuevos", log: "Conversación", send: "Enviar",
    field: "Su mensaje", bot: "Asistente automático", waiting: "Hemos avisado a una persona",
    live: "Está hablando con nuestro equipo", ended: "El chat ha terminado", again: "Iniciar un chat nuevo",
    person: "Hablar con una persona", end: "Terminar chat", mail: "Recibir por correo", mailed: "Enviado por correo", you: "Usted", says: "Asistente", team: "Equipo",
    unsent: "Sin enviar", failed: "No entregado",
    offline: "No tiene conexión. Su mensaje se enviará cuando vuelva.",
    away: "No se puede conectar con el chat. Reintentando …",
    slow: "Demasiados mensajes seguidos. El suyo se enviará enseguida.",
    closed: "Este chat no está disponible aquí.", long: "Acorte su mensaje, por favor. Caracteres de más:",
  },
  fr: {
    open: "Ouvrir le chat", close: "Fermer le chat", unread: "nouveaux messages", log: "Conversation", send: "Envoyer",
    field: "Votre message", bot: "Assistant automatique", waiting: "Une personne a été prévenue",
    live: "Vous parlez à notre équipe", ended: "La discussion est terminée", again: "Nouvelle discussion",
    person: "Parler à une personne", end: "Terminer", mail: "Recevoir par e-mail", mailed: "Envoyé par e-mail", you: "Vous", says: "Assistant", team: "Équipe",
    unsent: "Pas encore envoyé", failed: "Non remis",
    offline: "Vous êtes hors ligne. Votre message sera envoyé à votre retour.",
    away: "Le chat est injoignable. Nouvel essai …",
    slow: "Trop de messages à la fois. Le vôtre sera envoyé dans un instant.",
    closed: "Ce chat n’est pas disponible ici.", long: "Veuillez raccourcir votre message. Caractères en trop :",
  },
  ar: {
    open: "فتح المحادثة", close: "إغلاق المحادثة", unread: "رسائل جديدة", log: "المحادثة", send: "إرسال",
    field: "رسالتك", bot: "مساعد آلي", waiting: "طلبنا من أحد الزملاء الانضمام", live: "أنت تتحدث مع فريقنا",
    ended: "انتهت المحادثة", again: "بدء محادثة جديدة", person: "التحدث إلى شخص", end: "إنهاء المحادثة", mail: "أرسلها إلى بريدي", mailed: "أُرسلت بالبريد", you: "أنت",
    says: "المساعد", team: "الفريق", unsent: "لم تُرسل بعد", failed: "لم تُسلَّم",
    offline: "أنت غير متصل. ستُرسل رسالتك عند عودة الاتصال.", away: "تعذر الوصول إلى المحادثة. تجري إعادة المحاولة …",
    slow: "رسائل كثيرة دفعة واحدة. ستُرسل رسالتك بعد لحظات.", closed: "هذه المحادثة غير متاحة هنا.",
    long: "يرجى اختصار رسالتك. عدد الأحرف الزائدة:",
  },
};
const language = (locale) => (locale || "").toLowerCase().split("-")[0];
const wordsIn = (locale) => WORDS[language(locale)] ?? WORDS.en;
const directionOf = (locale) => (["ar", "fa", "he", "ur"].includes(language(locale)) ? "rtl" : "ltr");
