// The inbox: alerts, shortcuts, who types, what is new. Pages work without this file.
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
  const lines = log(), { seq, read } = lines?.dataset ?? {}, now = `${conversation()} ${seq} ${read}`;
  const isNew = Number(seq) > Number(read);
  if (!isNew) posted = ""; // what is new again is told again
  if (!isNew || now === posted || document.visibilityState !== "visible" || !document.hasFocus() || !atEnd(lines)) return;
  posted = now;
  post(`/inbox/${conversation()}/seen`, { seq }).then((answer) => { if (!answer?.ok) posted = ""; }); // told again
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

addEventListener("input", (event) => {
  const box = event.target;
  if (box === answer() && box.value && Date.now() - typedAt > 3000) {
    typedAt = Date.now();
    post(`/inbox/${conversation()}/typing`, {});
  }
});
// ---- shortcuts

function go(step) {
  const threads = [...document.querySelectorAll(".thread")], now = threads.findIndex((one) => one.ariaCurrent === "true");
  threads[now < 0 ? 0 : now + step]?.click();
}

// A shortcut changes nothing by itself: it puts the focus on a button, which Enter presses, and the next letter withdraws.
let offered = null, letterAt = -Infinity; // when the last letter was typed that was no shortcut
function offer(button) {
  offered = button;
  button?.focus();
  return button;
}
function withdraw() {
  offered?.blur();
  offered?.closest("details.sure")?.removeAttribute("open");
  offered = null;
}

const shortcuts = {
  j: () => go(1),
  k: () => go(-1),
  r: () => answer()?.focus(),
  "/": () => {
    const box = answer();
    box.focus();
    if (!box.value) { box.value = "/"; box.dispatchEvent(new Event("input", { bubbles: true })); }
  },
  a: () => offer(document.querySelector("[data-key=claim]")) ?? document.querySelector("[data-key=assign]")?.focus(),
  s: () => { document.querySelector("#snooze")?.setAttribute("open", ""); offer(document.querySelector("#snooze form button")); },
  e: () => offer(document.querySelector("[data-key=end]")),
  n: () => document.querySelector("#notes textarea")?.focus(),
  "?": showAlerts,
};

addEventListener("keydown", (event) => {
  const typed = event.target.closest?.("input, textarea, select, [contenteditable], dialog[open]");
  if (event.key === "Escape" && event.target.matches?.("#answer textarea, #notes textarea")) {
    event.target.blur();
    letterAt = -Infinity; // whoever leaves a field so has done typing
  }
  const letter = event.key.length === 1, talking = event.timeStamp - letterAt < 1000;
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !inbox()) return;
  const shortcut = !typed && (chosen.keys || event.key === "?") && Object.hasOwn(shortcuts, event.key) && shortcuts[event.key];
  if (letter && (talking || !shortcut)) {
    letterAt = event.timeStamp;
    if (offered && !typed) { withdraw(); event.preventDefault(); }
    return;
  }
  if (!shortcut || (event.key === "/" && !answer())) return; // elsewhere it goes to the search
  event.preventDefault();
  withdraw();
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
