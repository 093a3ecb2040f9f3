// What the browser keeps for the chat: no cookies, and nothing that any other website can read.
const FRESH = 1_800_000; // ms for which a chat left open, and what was half-written, is still there on another page
const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");

// Storage that a page or a browser may forbid: then the conversation lives as long as the page.
const stored = (area, key) => {
  try { return JSON.parse(window[area].getItem(key)); } catch { return null; }
};
const store = (area, key, value) => {
  try { value ? window[area].setItem(key, JSON.stringify(value)) : window[area].removeItem(key); } catch { /* see above */ }
};
// The website's other tabs, of which one does a thing at a time: each for itself where that is forbidden, too.
const roomOf = (key) => { try { return new BroadcastChannel(key); } catch { return { postMessage() {}, close() {} }; } };
const alone = async (name, act) => {
  try { await navigator.locks.query(); } catch { return act(); }
  return navigator.locks.request(name, act);
};

// What is kept for all the tabs of a website: whether the chat is open, and the draft; `opened` and `greeted` for good.
const known = (chat) => {
  const kept = stored("localStorage", chat.shelf) ?? {};
  return Date.now() - kept.at < FRESH ? kept : { opened: kept.opened, greeted: kept.greeted };
};
const keep = (chat, change) => store("localStorage", chat.shelf, { ...known(chat), ...change, at: Date.now() });
