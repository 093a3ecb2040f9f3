// What all scripts use, and what stays while a part of the page is swapped: focus, scrolling, selection, what is half-written.

// The address whose page is shown, or is being fetched.
const place = () => location.pathname + location.search;
let shown = place();
function goTo(url) {
  if (url !== location.href) history.pushState({}, "", url);
  shown = place();
}

// What a form has made is not made again by a reload or a step back: they ask for the page with the form.
if (document.querySelector("[data-posted]") && document.referrer) history.replaceState({}, "", document.referrer);

// A form has its fields as properties: one that is called `action`, `id` or `remove` would hide the form's own.
const addressOf = (form) => form?.getAttribute("action") || location.pathname;

function toast(text, seconds = 2.6) {
  const box = document.querySelector("#toast");
  if (!box) return;
  box.textContent = text;
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => (box.textContent = ""), seconds * 1000);
}

function heldFocus() {
  const focus = document.activeElement, caret = focus?.selectionStart;
  const key = focus?.name && focus.form ? [addressOf(focus.form), focus.name] : null, link = focus?.getAttribute("href");
  return () => {
    if (document.activeElement === focus) return;
    if (document.contains(focus)) return focus.focus({ preventScroll: true });
    if (link) return document.querySelector(`a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
    if (!key) return;
    const again = [...document.getElementsByName(key[1])].find((element) => addressOf(element.form) === key[0]);
    again?.focus({ preventScroll: true });
    try { again?.setSelectionRange(caret, caret); } catch { /* not a text field */ }
  };
}

// ---- scrolling: `data-scroll` names what is scrolled through; a log that is read at its end goes on being read there

const toEnd = (element) => { if (element) element.scrollTop = element.scrollHeight; };
const atEnd = (element) => element.scrollHeight - element.scrollTop - element.clientHeight < 40;

function heldPlaces() {
  const held = new Map();
  for (const element of document.querySelectorAll("[data-scroll]")) {
    if (!element.matches(".conversation") || !atEnd(element)) held.set(element.dataset.scroll, element.scrollTop);
  }
  return () => {
    for (const element of document.querySelectorAll(".conversation, [data-scroll]")) {
      const top = held.get(element.dataset.scroll);
      if (top !== undefined) element.scrollTop = top;
      else if (element.matches(".conversation")) toEnd(element);
    }
  };
}

// ---- merging: what comes by itself touches only what is different

// A form is the same while it goes to the same place: one conversation's answer never becomes another's.
const keyOf = (node) => [node.getAttribute?.("id"), node.nodeName === "FORM" && node.getAttribute("action")?.split("?")[0]]
  .filter(Boolean).join(" ");
// What was sent and refused is a form's default now, and is not saved.
const typedIn = (form) => "refused" in form.dataset ||
  [...form.elements].some((one) => one.type === "hidden" ? false : one.matches("[type=checkbox], [type=radio]")
    ? one.checked !== one.defaultChecked : "defaultValue" in one && one.value !== one.defaultValue);

function merge(old, fresh) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName === "TIME" && old.dateTime === fresh.dateTime) return; // already told in relative words
  if (old.nodeName !== fresh.nodeName || keyOf(old) !== keyOf(fresh)) return old.replaceWith(fresh);
  if (old.nodeName === "FORM" && typedIn(old)) return; // with its version, so that the server sees a conflict
  const mine = (name) => name === "open" && old.nodeName === "DETAILS";
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name) && !mine(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && !mine(name)) old.setAttribute(name, value);
  }
  const keyed = new Map([...old.childNodes].filter(keyOf).map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = keyOf(wanted), alike = at && !keyOf(at) && at.nodeName === wanted.nodeName ? at : null;
    const found = key ? keyed.get(key) : alike;
    if (!found) old.insertBefore(wanted, at);
    else {
      if (found === at) at = at.nextSibling;
      else old.insertBefore(found, at);
      merge(found, wanted);
    }
  }
  while (at) {
    const next = at.nextSibling;
    old.removeChild(at);
    at = next;
  }
}

// ---- drafts: an answer that is half-written stays with its conversation, in this tab, until it is sent

const draftKey = (field) => `draft ${addressOf(field.form).split("?")[0]}`;
const drafts = () => [...document.querySelectorAll("[data-draft]")];

function keepDraft(field) {
  if (field.value) sessionStorage.setItem(draftKey(field), field.value);
  else sessionStorage.removeItem(draftKey(field));
}

// What is sent again, as its answer was lost, has the same name as before: the visitor reads it once.
const names = new Map(); // by draft: the text, and its name until it is answered
function onceOf(key, text) {
  if (names.get(key)?.[0] !== text) names.set(key, [text, `${Date.now()} ${Math.random()}`]);
  return names.get(key)[1];
}

function sentDraft(key, text) {
  names.delete(key);
  if (sessionStorage.getItem(key) === text) sessionStorage.removeItem(key);
  for (const field of drafts()) if (draftKey(field) === key && field.value === text) field.value = "";
}

function restoreDrafts() {
  if (document.body.matches(".public")) sessionStorage.clear(); // another person may sign in
  for (const field of drafts()) field.value ||= sessionStorage.getItem(draftKey(field)) ?? "";
}

addEventListener("input", (event) => { if (event.target.matches("[data-draft]")) keepDraft(event.target); });
