// The inbox: alerts, shortcuts, menus by / and @, who types, what is new. Pages work without this file.
const inbox = () => document.querySelector("#inbox");
const log = () => document.querySelector("#log");
const answer = () => document.querySelector("#answer textarea");

// ---- choices of a person, in this browser

const place = `inbox ${inbox()?.dataset.me}`;
const chosen = { notify: false, words: false, sound: false, keys: true };
try { Object.assign(chosen, JSON.parse(localStorage.getItem(place))); } catch { /* as if nothing was chosen */ }
const boxes = () => document.querySelectorAll("#alerts input[type=checkbox]");

function showAlerts() {
  const dialog = document.querySelector("#alerts");
  if (!dialog || dialog.open) return;
  for (const box of boxes()) box.checked = chosen[box.name];
  dialog.showModal();
}

addEventListener("change", async (event) => {
  const box = event.target;
  if (!box.closest("#alerts")) return;
  if (box.name === "notify" && box.checked) {
    const allowed = "Notification" in globalThis && (await Notification.requestPermission()) === "granted";
    document.querySelector("#alerts-refused").hidden = allowed;
    box.checked = allowed;
  }
  chosen[box.name] = box.checked;
  if (box.name === "sound" && box.checked) beep();
  localStorage.setItem(place, JSON.stringify(chosen));
});

// ---- alerts: for a visitor who begins to wait, or answers in a conversation of mine

let sound;
function beep() {
  sound ??= new AudioContext();
  const tone = sound.createOscillator(), volume = sound.createGain();
  tone.frequency.value = 660;
  volume.gain.setValueAtTime(0.15, sound.currentTime);
  volume.gain.exponentialRampToValueAtTime(0.001, sound.currentTime + 0.4);
  tone.connect(volume).connect(sound.destination);
  tone.start();
  tone.stop(sound.currentTime + 0.4);
}

const calls = () => new Map([...document.querySelectorAll(".thread")].map((thread) => [thread.id, {
  thread, place: thread.dataset.place, unread: Number(thread.dataset.unread),
}]));
let known = calls(), shown = location.search;

function alertOf({ thread, place }) {
  if (chosen.sound) beep();
  if (!chosen.notify || globalThis.Notification?.permission !== "granted") return;
  const title = place === "waiting" ? "A visitor waits for a person" : "A visitor has answered";
  const words = `${thread.querySelector("b").textContent}: ${thread.querySelector("b ~ span").textContent.trim()}`;
  const note = new Notification(title, { tag: thread.id, body: chosen.words ? words : "" });
  note.onclick = () => { focus(); document.getElementById(thread.id)?.click(); note.close(); };
}

function tellNews() {
  const before = known, same = filters(shown) === filters(location.search);
  known = calls();
  shown = location.search;
  if (!same || document.hasFocus()) return; // other filters show other conversations; who looks needs no call
  for (const [id, call] of known) {
    const was = before.get(id), waits = call.place === "waiting" && was?.place !== "waiting";
    const answered = call.place === "mine" && call.unread > (was?.place === "mine" ? was.unread : 0);
    if (waits || answered) alertOf(call);
  }
}

function filters(search) {
  const query = new URLSearchParams(search);
  for (const name of ["c", "say", "panel"]) query.delete(name);
  return query.toString();
}

// ---- what was read, and what came meanwhile

const post = (url, fields) => fetch(url, {
  method: "POST",
  body: new URLSearchParams({ form_token: document.querySelector("[name=form_token]").value, ...fields }),
}).catch(() => {});
const conversation = () => new URLSearchParams(location.search).get("c");
let posted = "", bottom = "", count = 0;

function noteRead() {
  const lines = log();
  if (!lines?.dataset.seq || document.visibilityState !== "visible" || !document.hasFocus() || !atEnd(lines)) return;
  const { seq, read } = lines.dataset, now = `${conversation()} ${seq} ${read}`;
  if (Number(seq) <= Number(read) || now === posted) return;
  posted = now;
  post(`/inbox/${conversation()}/seen`, { seq });
}

function tellNewer() {
  const lines = log(), button = document.querySelector("#newer");
  if (!lines) return;
  const now = lines.querySelectorAll("li").length;
  if (lines.dataset.scroll !== bottom || atEnd(lines)) count = now;
  bottom = lines.dataset.scroll;
  if (button) button.hidden = now <= count;
}

document.addEventListener("scroll", (event) => { if (event.target === log()) { tellNewer(); noteRead(); } }, true);
for (const kind of ["focus", "visibilitychange"]) addEventListener(kind, noteRead);

// ---- who types

let typedAt = 0, typing = "", until = 0;
const tellTyping = () => {
  const line = document.querySelector("#typing");
  if (line) line.textContent = typing === conversation() && Date.now() < until ? "The visitor is typing…" : "";
};
addEventListener("typing", (event) => {
  [typing, until] = [event.detail, Date.now() + 6000];
  tellTyping();
  setTimeout(tellTyping, 6050);
});

// ---- menus: saved replies by / and colleagues by @

const menu = Object.assign(document.createElement("div"), { id: "choices", className: "card", role: "listbox", hidden: true });
let field, picks = [], at = 0;

function choicesFor(box) {
  const before = box.value.slice(0, box.selectionStart), replies = box === answer();
  const word = (replies ? /(?:^|\n)\/([^\n]{0,60})$/ : /(?:^|\s)@([\w.+-]{0,60})$/).exec(before)?.[1];
  if (word === undefined) return [];
  const all = [...document.querySelectorAll(replies ? ".picks a.button" : "#colleagues option")].map((one) => (replies
    ? { text: one.textContent, about: one.title, pick: () => { replace(box, word.length + 1, ""); one.click(); } } // the server fills in the name
    : { text: one.value, about: "", pick: () => replace(box, word.length, `${one.value} `) }));
  return all.filter(({ text }) => text.toLowerCase().includes(word.toLowerCase()));
}

function replace(box, length, text) {
  const end = box.selectionStart;
  box.setRangeText(text, end - length, end, "end");
  box.dispatchEvent(new Event("input", { bubbles: true }));
  box.focus();
}

function showMenu(box) {
  field = box;
  picks = choicesFor(box).slice(0, 8);
  at = 0;
  menu.hidden = !picks.length;
  if (menu.hidden) return box.removeAttribute("aria-activedescendant");
  menu.replaceChildren(...picks.map(({ text, about, pick }, number) => {
    const one = Object.assign(document.createElement("div"), { id: `choice-${number}`, role: "option", textContent: text });
    if (about) one.append(Object.assign(document.createElement("small"), { textContent: about }));
    one.addEventListener("pointerdown", (event) => { event.preventDefault(); menu.hidden = true; pick(); });
    return one;
  }));
  if (!menu.isConnected) document.querySelector("main").append(menu);
  menu.ariaLabel = box === answer() ? "Saved replies" : "Colleagues";
  const rect = box.getBoundingClientRect();
  menu.style.left = `${rect.left}px`;
  menu.style.width = `${Math.min(rect.width, 420)}px`;
  menu.style.bottom = `${innerHeight - rect.top + 4}px`;
  mark(0);
}

function mark(step) {
  at = (at + step + picks.length) % picks.length;
  [...menu.children].forEach((one, number) => (one.ariaSelected = String(number === at)));
  field.setAttribute("aria-activedescendant", `choice-${at}`);
}

addEventListener("input", (event) => {
  const box = event.target;
  if (!box.matches?.("#answer textarea, #notes textarea")) return;
  showMenu(box);
  if (box === answer() && box.value && Date.now() - typedAt > 3000) {
    typedAt = Date.now();
    post(`/inbox/${conversation()}/typing`, {});
  }
});
addEventListener("focusout", () => { menu.hidden = true; });

// ---- shortcuts

function go(step) {
  const threads = [...document.querySelectorAll(".thread")];
  const now = threads.findIndex((one) => one.hasAttribute("aria-current"));
  threads[Math.max(0, Math.min(threads.length - 1, now + step))]?.click();
}

const press = (selector) => { const one = document.querySelector(selector); one?.click(); return one; };
const shortcuts = {
  j: () => go(1),
  k: () => go(-1),
  r: () => answer()?.focus(),
  "/": () => { const box = answer(); if (box) { box.focus(); if (!box.value) replace(box, 0, "/"); } },
  a: () => press("[data-key=claim]") ?? document.querySelector("[data-key=assign]")?.focus(),
  s: () => { if (press("[data-key=snooze]")) document.querySelector("#snooze form button")?.focus(); },
  e: () => press("[data-key=end]"),
  n: () => document.querySelector("#notes textarea")?.focus(),
  "?": showAlerts,
};

addEventListener("keydown", (event) => {
  if (!menu.hidden && event.target === field) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) mark(step);
    else if (event.key === "Enter" || event.key === "Tab") { menu.hidden = true; picks[at].pick(); }
    else if (event.key === "Escape") menu.hidden = true;
    else return;
    event.preventDefault();
    return event.stopImmediatePropagation();
  }
  const typed = event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  if (event.key === "Escape" && event.target.matches?.("#answer textarea, #notes textarea")) event.target.blur();
  if (!chosen.keys && event.key !== "?") return;
  if (typed || event.ctrlKey || event.metaKey || event.altKey || event.repeat || !inbox()) return;
  const shortcut = Object.hasOwn(shortcuts, event.key) && shortcuts[event.key];
  if (!shortcut || (event.key === "/" && !answer())) return; // elsewhere it goes to the search
  event.preventDefault();
  shortcut();
}, true);

addEventListener("click", (event) => {
  if (event.target.closest("[data-alerts]")) showAlerts();
  if (event.target.closest("#newer")) { toEnd(log()); tellNewer(); noteRead(); }
});
addEventListener("submit", (event) => {
  const zone = event.target.querySelector("[data-zone]");
  if (zone) zone.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
}, true);

// ---- above the keyboard of a phone

const view = globalThis.visualViewport;
const fit = () => document.documentElement.style.setProperty("--view", `${Math.round(view.height)}px`);
if (view) { view.addEventListener("resize", fit); fit(); }

function swapped() {
  tellNews();
  tellNewer();
  tellTyping();
  noteRead();
}
addEventListener("swapped", swapped); // also when the page has been loaded
