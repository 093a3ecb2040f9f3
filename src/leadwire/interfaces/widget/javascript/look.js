// How the chat looks and when it shows itself, as its owner has chosen; and what tabs and pages share of that.
const PLAIN = { side: "right", x: 20, y: 20, theme: "auto", icon: "chat", avatar: "", launcher: "", greeting_after: 5, open_after: 10, rating: true };
const isPhone = () => matchMedia("(max-width: 480px)").matches;

// Whether a path is what a pattern says, in which * stands for anything.
const matches = (pattern, path) => {
  const [first, ...rest] = pattern.split("*"), last = rest.pop();
  if (last === undefined) return path === first;
  let at = path.startsWith(first) ? first.length : -1;
  for (const part of rest) if (at >= 0 && (at = path.indexOf(part, at)) >= 0) at += part.length;
  return at >= 0 && path.length - last.length >= at && path.endsWith(last);
};
const isOn = (patterns = []) => patterns.some((one) => matches(one, location.pathname));

const adopt = (chat) => {
  const { open, draft = "" } = known(chat);
  if (!isPhone() && Boolean(open) !== chat.isOpen) { // a phone's panel is its whole screen
    chat.panel.hidden = !open;
    if (open && chat.conversation.kept.id) chat.conversation.refresh();
  }
  const isTyped = document.hasFocus() && chat.shadowRoot.activeElement === chat.field;
  if (chat.field.value !== draft && !isTyped) chat.write(draft);
  chat.render();
};

const arrive = async (chat) => {
  await chat.conversation.meet();
  wear(chat);
  const { open, draft } = known(chat), again = performance.getEntriesByType("navigation")[0]?.type === "reload";
  if (draft && !chat.field.value) chat.write(draft);
  visit(chat);
  if (open && !chat.hidden && !chat.isOpen && (!isPhone() || again)) chat.open(false);
};

const wear = (chat) => {
  const { bot_ } = chat.conversation, look = (chat.look = { ...PLAIN, ...bot_?.look });
  chat.paint(chat.dataset.color ?? bot_?.color);
  for (const side of ["x", "y"]) chat.style.setProperty(`--${side}`, `${look[side]}px`);
  chat.toggleAttribute("left", look.side === "left");
  chat.setAttribute("theme", chat.dataset.theme ?? look.theme);
  if (chat.isOpen) face(chat);
  chat.launcher.replaceChildren(icon(look.icon), icon("down"), chat.badge);
  if (look.launcher) chat.badge.before(el("span", { class: "call", dir: "auto" }, look.launcher));
  chat.render();
};

const face = (chat) => { // an image is asked for when somebody has opened the chat
  const { avatar } = chat.look, image = avatar.startsWith("https://");
  chat.face.replaceChildren(avatar && !image ? el("b", {}, avatar) : icon("chat"));
  if (image) el("img", { alt: "", referrerpolicy: "no-referrer", onload: (event) => chat.face.replaceChildren(event.target), src: avatar });
};

// A page: the one that was loaded, or one that a script has made of it.
const visit = (chat) => {
  const { look } = chat, { opened, greeted } = known(chat);
  if (!look) return;
  for (const timer of chat.timers ?? []) clearTimeout(timer);
  chat.hello.replaceChildren();
  chat.hidden = isOn(look.hide_pages);
  if (chat.hidden) return;
  count(chat, "shown");
  const on = (pages) => !pages?.length || isOn(pages);
  const later = (seconds, act) => setTimeout(() => chat.isOpen || act(), seconds * 1000);
  chat.timers = [
    look.greeting && !greeted && on(look.greeting_pages) && later(look.greeting_after, () => greet(chat)),
    look.opens && !opened && on(look.open_pages) && (look.open_on_phones || !isPhone()) && later(look.open_after, () => {
      keep(chat, { opened: true });
      if (known(chat).opened) chat.open(false); // else nothing can be kept, and it would open again and again
    }),
  ];
};
const greet = (chat) => {
  const close = () => { keep(chat, { greeted: true }); chat.hello.replaceChildren(); chat.launcher.focus(); };
  chat.hello.replaceChildren(
    el("button", { type: "button", dir: "auto", onclick: () => chat.open() }, chat.look.greeting),
    el("button", { type: "button", "aria-label": chat.words.dismiss, onclick: close }, icon("close")));
};

// How often the chat was shown and opened is counted once a tab, without a cookie and without anything of the visitor.
const count = (chat, kind) => {
  const key = `${chat.shelf}:counted`, counted = stored("sessionStorage", key) ?? [];
  if (chat.call || counted.includes(kind)) return;
  store("sessionStorage", key, [...counted, kind]);
  const { base, bot } = chat.dataset;
  fetch(`${base}/widget/v1/bots/${bot}/counts`, { method: "POST", body: kind, mode: "no-cors", credentials: "omit", keepalive: true }).catch(() => {});
};

// How it was, once it is over: 1 to 5, then a comment.
const ratingOf = (chat) => {
  const { conversation } = chat, press = (mark) => () => { conversation.rate(mark); chat.opinion.focus(); };
  chat.marks = [1, 2, 3, 4, 5].map((mark) => el("button", { type: "button", onclick: press(mark) }, String(mark)));
  chat.opinion = el("textarea", { rows: "1", dir: "auto", maxlength: "1000" });
  chat.tellMore = el("form", { onsubmit: (event) => {
    event.preventDefault();
    conversation.rate(conversation.kept.rated, chat.opinion.value.trim());
    chat.opinion.value = "";
    chat.again.focus();
  } }, chat.opinion, el("button", { class: "send" }, icon("send")));
  chat.ends = el("p", { class: "ends", "aria-hidden": "true" }, el("span"), el("span"));
  chat.asked = el("p", { id: "rate", role: "status" });
  return el("div", { class: "rate", role: "group", "aria-labelledby": "rate" }, chat.asked, el("div", { class: "marks" }, ...chat.marks), chat.ends, chat.tellMore);
};
const askRating = (chat) => {
  const { words, conversation, opinion } = chat, { id, rated } = conversation.kept;
  chat.rating.hidden = !id || !chat.look?.rating;
  put(chat.asked, rated === "said" ? words.thanks : words.rate);
  chat.marks.forEach((one, place) => {
    one.setAttribute("aria-pressed", String(rated === place + 1));
    one.setAttribute("aria-label", [place + 1, { 0: words.poor, 4: words.great }[place]].filter(Boolean).join(", "));
    one.parentNode.hidden = rated === "said";
  });
  [words.poor, words.great].forEach((word, end) => put(chat.ends.children[end], word));
  chat.ends.hidden = Boolean(rated);
  chat.tellMore.hidden = !(rated > 0);
  opinion.placeholder = words.comment;
  opinion.setAttribute("aria-label", words.comment);
  opinion.nextSibling.setAttribute("aria-label", words.send);
};
