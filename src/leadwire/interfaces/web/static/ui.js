// Pages work without this file. It swaps parts in place, keeps times fresh, copies text and follows live pages.
const policy = globalThis.trustedTypes?.createPolicy("ui", { createHTML: (text) => text });
const parse = (text) => new DOMParser().parseFromString(policy ? policy.createHTML(text) : text, "text/html");

// ---- swapping: ask for the whole page, take over the named parts

let latest = 0, loading = 0; // what a person asked for last; how much is under way
let changed = Promise.resolve(); // changes are sent one after the other, in the order in which they were made

async function load(url, options, selectors, push) {
  if (!options.alone) latest++;
  loading++;
  document.documentElement.toggleAttribute("data-loading", !options.alone);
  const turn = latest, ask = () => take(turn, url, options, selectors, push);
  const answer = options.method ? changed.then(ask) : ask();
  if (options.method) changed = answer.catch(() => {});
  try { return await answer; }
  finally {
    loading--;
    if (!loading) document.documentElement.removeAttribute("data-loading");
    refresh();
  }
}

async function take(turn, url, options, selectors, push) {
  let response, next;
  try {
    response = await fetch(url, { ...options, headers: { Accept: "text/html" } });
    next = parse(await response.text());
    if (response.status >= 500 && !next.querySelector(".side")) throw response; // of a proxy, while the server is away
  } catch {
    if (options.alone || options.chosen) later(() => { due.add(selectors); refresh(); });
    return toast(options.alone ? "No connection." : "No connection. Nothing is lost: try again.");
  }
  const at = new URL(response.url), here = location.pathname;
  const refused = !response.ok && next.querySelector("#refusal")?.textContent.trim();
  const overtaken = turn !== latest; // something else was asked for meanwhile: this may be of another conversation
  if (overtaken || (options.alone && pressed)) {
    if (options.alone || options.method || (options.chosen && url === location.href)) due.add(selectors);
    if (refused) toast(refused, 10); // something was not done: long enough to be read
    return response.ok;
  }
  if (!response.ok) [...next.forms].find((form) => addressOf(form) === url)?.setAttribute("data-refused", "");
  const parts = selectors.split(",").map((selector) => [document.querySelector(selector), next.querySelector(selector)])
    .filter(([old], number, all) => !all.some(([other], before) => other !== old ? other?.contains(old) : before < number)); // each once
  const elsewhere = at.pathname !== here && response.redirected;
  if (elsewhere || !parts.some(([old, fresh]) => old && fresh)) {
    const [old, fresh] = ["main", "main"].map((selector, place) => (place ? next : document).querySelector(selector));
    if (!fresh || !next.querySelector(".side")) return location.assign(response.url);
    if (response.redirected || !options.method) history.pushState({}, "", response.url); // none asks for a POST's
    await swap([[old, fresh]], next, options);
    document.querySelector("main [autofocus]")?.focus();
    return response.ok;
  }
  if (push) goTo(response.url);
  else if (response.redirected) history.replaceState({}, "", response.url); // a reload asks for what is seen
  await swap(parts, next, options);
  if (refused) toast(refused, 10);
  return response.ok;
}

async function swap(parts, next, options) {
  const change = () => {
    const focused = heldFocus(), scrolled = heldPlaces();
    if (!options.alone) for (const old of document.querySelectorAll("#word, #refusal")) if (!next.getElementById(old.id)) old.remove();
    for (const [old, fresh] of parts) {
      if (!old || !fresh || "held" in old.dataset) continue;
      options.alone || options.chosen ? merge(old, fresh) : old.replaceWith(document.adoptNode(fresh));
    }
    focused();
    if (!options.live) document.title = next.title || document.title;
    ready();
    scrolled();
  };
  if (!document.startViewTransition || options.quiet || options.chosen) return change();
  const moving = document.startViewTransition(change);
  moving.ready.catch(() => {}); // another began meanwhile
  await moving.updateCallbackDone;
}

// What was pressed looks so at once, until the answer is here; what leads to a page of its own or a file, for a while.
// So long a form is not sent again as it is: Enter pressed twice is one answer to a visitor, one key, one invitation.
const sending = new WeakMap();
function busy(pressed, form = pressed, sent = "") {
  pressed.setAttribute("aria-busy", "true");
  sending.set(form, sent);
  return () => { pressed.removeAttribute("aria-busy"); if (sending.get(form) === sent) sending.delete(form); };
}
const leave = (...pressed) => { setTimeout(busy(...pressed), 4000); };

addEventListener("submit", async (event) => {
  const form = event.target, selectors = form.dataset.update, button = event.submitter;
  if (event.defaultPrevented || form.getAttribute("method") === "dialog") return;
  const body = new URLSearchParams(new FormData(form, button)), sent = `${button?.getAttribute("formaction")} ${body}`;
  if (sending.get(form) === sent) return event.preventDefault();
  if (!selectors || button?.hasAttribute("formaction")) return leave(button ?? form, form, sent);
  event.preventDefault();
  const answered = busy(button ?? form, form, sent);
  const draft = form.querySelector("[data-draft]"), said = draft && [draftKey(draft), draft.value];
  if (said) body.set("once", onceOf(...said));
  if (said) toEnd(document.querySelector(".conversation"));
  if (form.getAttribute("method") !== "post") await load(`${addressOf(form).split("?")[0]}?${body}`, {}, selectors, true);
  else {
    const ok = await load(addressOf(form), { method: "POST", body, quiet: "quiet" in form.dataset }, selectors, false);
    form.unanswered = ok === undefined;
    if (ok && said) sentDraft(...said);
  }
  answered();
  dispatchEvent(new CustomEvent("done", { detail: form }));
});

addEventListener("click", async (event) => {
  for (const open of document.querySelectorAll("details.sure[open]")) if (!open.contains(event.target)) open.open = false;
  const link = event.target.closest("a[href]");
  if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  if (!link.dataset.update) return event.defaultPrevented || link.hasAttribute("target") || link.hash || leave(link);
  event.preventDefault();
  const href = link.href.baseVal ?? link.href; // of a link in a picture
  const chosen = "shown" in link.dataset; // what it leads to is on the page already, as far as it is known
  const answered = chosen ? () => {} : busy(link);
  if (!("stay" in link.dataset)) return load(href, { quiet: href !== link.href, chosen }, link.dataset.update, true).finally(answered);
  const field = () => document.querySelector(`${link.dataset.update} textarea`), key = draftKey(field());
  const draft = field().value.trim();
  await load(link.href, {}, link.dataset.update, false).finally(answered); // the address of a moment, not to be reloaded
  if (!field() || draftKey(field()) !== key) return; // another conversation was chosen meanwhile
  if (draft) field().value = `${draft}\n${field().value}`; // what is half-written stays
  keepDraft(field());
  field().focus();
});

addEventListener("keydown", (event) => {
  const field = event.target;
  const talk = field.matches?.("[data-enter]"), sends = talk ? !event.shiftKey : event.ctrlKey || event.metaKey;
  if (event.key === "Enter" && !event.isComposing && sends && field.matches?.("form textarea")) {
    event.preventDefault();
    if (!talk || field.value.trim()) field.form.requestSubmit();
  }
  const open = event.key === "Escape" && event.target.closest?.("details.sure[open]");
  if (open) { open.open = false; open.querySelector("summary").focus(); }
});

addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.matches("[data-live]")) return;
  clearTimeout(form.timer);
  form.timer = setTimeout(() => {
    if (!form.dataset.live) return form.checkValidity() && form.requestSubmit();
    const query = new URLSearchParams(new FormData(form));
    load(`${addressOf(form).split("?")[0]}?${query}`, { quiet: true, live: true }, form.dataset.live, false);
  }, 250);
});
addEventListener("change", (event) => { if (event.target.matches("select[data-go]")) event.target.form.requestSubmit(); });
addEventListener("popstate", () => { if (place() !== shown) location.reload(); }); // not for a jump within the page

// ---- live pages: the server says "changed", the page asks for itself again

const followed = new Map(), due = new Set(), later = (act) => setTimeout(act, 3000 + 4000 * Math.random());
let pressed = false;

// One at a time. A person's click is never overtaken by it, and what they press is not swapped away under their finger.
function refresh() {
  if (loading || pressed || !due.size) return;
  const selectors = [...due].join();
  due.clear();
  const at = document.querySelector("[data-at]")?.dataset.at ?? location.href; // a list as it was when it was opened
  load(at, { quiet: true, alone: true }, selectors, false);
}
addEventListener("pointerdown", () => (pressed = true));
for (const kind of ["pointerup", "pointercancel"]) {
  addEventListener(kind, () => setTimeout(() => { pressed = false; refresh(); })); // after the click
}

function follow() {
  const live = [...document.querySelectorAll("[data-follow]")];
  const wanted = new Map(live.map((element) => [element.dataset.follow, element.dataset.update]));
  for (const [url, source] of followed) if (!wanted.has(url)) { source.close(); followed.delete(url); }
  for (const [url, selectors] of wanted) {
    if (followed.has(url)) continue;
    const source = new EventSource(url), changed = () => { due.add(selectors); refresh(); };
    source.addEventListener("changed", changed);
    source.addEventListener("typing", (event) => dispatchEvent(new CustomEvent("typing", { detail: event.data })));
    source.addEventListener("done", () => source.close());
    source.onopen = changed; // something may have happened between the page and its stream, and is told by neither
    source.onerror = () => { // refused, and given up: the page asks why, and follows again
      if (source.readyState === EventSource.CLOSED) { followed.delete(url); later(changed); }
    };
    followed.set(url, source);
  }
}

// ---- relative times

const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" });
const local = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function tell(time) {
  const at = new Date(time.dateTime), seconds = (at - Date.now()) / 1000;
  if ("waits" in time.dataset) return tellWait(time, Math.max(0, Math.floor(-seconds)));
  const [unit, size] = units.find(([, size]) => Math.abs(seconds) >= size) ?? units.at(-1);
  const old = Math.abs(seconds) > 30 * 86400;
  const round = seconds < 0 ? Math.ceil : Math.round;
  time.textContent = old ? time.dateTime.slice(0, 10) : relative.format(round(seconds / size), unit);
}

// As `lasting` in `rendering.py`.
function tellWait(time, seconds) {
  const steps = [[172800, 86400, "days"], [3600, 3600, "h"], [60, 60, "min"], [0, 1, "s"]];
  const [, size, unit] = steps.find(([least]) => seconds >= least);
  time.textContent = `${Math.floor(seconds / size)} ${unit}`;
  time.dataset.waits = seconds >= 900 ? "long" : seconds >= 300 ? "late" : "";
}

// The words of a page that has just come are right, and stay, so that nothing moves.
function localize(time) {
  time.dataset.utc = time.title;
  time.title += `\n${local.format(new Date(time.dateTime))} (your time)`;
}

// ---- elements of ours

customElements.define("copy-text", class extends HTMLElement {
  connectedCallback() {
    this.addEventListener("click", async (event) => {
      if (!event.target.closest("button")) return;
      const from = this.dataset.from ? document.querySelector(this.dataset.from) : this.querySelector("code");
      const text = from.dataset.raw ?? from.content?.textContent ?? from.textContent;
      try { await navigator.clipboard.writeText(text.trim()); toast("Copied"); }
      catch { toast("Copying was not allowed. Select the text instead."); }
    });
  }
});

document.querySelector(".menu")?.addEventListener("click", ({ currentTarget: menu }) => {
  menu.ariaExpanded = String(menu.ariaExpanded !== "true");
});

const times = (rest = "") => document.querySelectorAll(`time[datetime]${rest}`);

function ready() {
  shown = place();
  times(":not([data-utc])").forEach(localize);
  restoreDrafts();
  follow();
  dispatchEvent(new Event("swapped"));
}

ready();
document.querySelectorAll(".conversation").forEach(toEnd);
setInterval(() => times().forEach(tell), 10000);
