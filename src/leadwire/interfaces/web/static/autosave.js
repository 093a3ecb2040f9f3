// The builder's forms save themselves: one at a time, a while after the last letter, or at once when a field is left.
const all = "#state,#flow,#panel";
let saving = null, sent = 0, waiting = null, owed = false, moved = null, added = null;
const typed = new Set(), queued = new Set(); // forms with words that are not on their way: not saved yet, behind another
const placed = ["up", "down", "drop"]; // the buttons of a row, by its place

function save(form, selectors, button) {
  clearTimeout(form.timer);
  typed.delete(form);
  if (!saving) return send(form, selectors, button);
  queued.add(form);
  const same = waiting?.form === form ? waiting : null;
  if (!same) next();
  waiting = { form, selectors: same?.selectors === all ? all : selectors, button: button ?? same?.button };
}

function send(form, selectors, button) {
  if (!form.isConnected) return void post(form).catch(() => again(form)); // another panel has come: it is not swapped
  form.dataset.update = owed ? all : selectors;
  owed = false;
  form.requestSubmit(button);
}

function post(form, keepalive) {
  const body = new URLSearchParams([...new FormData(form), ["tab", tab]]);
  return fetch(addressOf(form), { method: "POST", body, keepalive });
}

function again(form) { // until there is a network, and when the page is left
  typed.add(form);
  form.timer = setTimeout(() => save(form, fieldsOf(form)), 3000);
}

addEventListener("done", ({ detail }) => {
  if (!detail.matches("[data-autosave]")) return;
  if (detail.unanswered) again(detail);
  if (--sent) return;
  saving = null;
  queued.clear();
  if (moved) { // the focus goes with the row, as far as it can go
    const [, list, place] = moved.value.match(/(.*)\/(\d+)$/), to = Number(place) + (moved.name === "up" ? -1 : 1);
    const there = [moved.name, "up", "down"].map((way) => document.getElementById(`${list}/${to}-${way}`));
    there.find((one) => one && !one.disabled)?.focus();
    moved = null;
  }
  const fresh = added && document.getElementsByName(added)[0];
  if (fresh) { fresh.focus(); added = null; }
  const held = document.querySelector("#panel[data-held]:has([data-autosave])");
  if (held) { // it was written in meanwhile, and has stayed: the next answer brings the rest
    delete held.dataset.held;
    owed = true;
  }
  next();
});

function next() {
  const { form, selectors, button } = waiting ?? {};
  waiting = null;
  if (form) send(...now(form, selectors, button));
}

// What was pressed meanwhile is pressed in the form that has come.
function now(form, selectors, button) {
  if (!button || (form.isConnected && button.form === form)) return [form, selectors, button];
  const fresh = form.isConnected ? form : [...document.forms].find((one) => addressOf(one) === addressOf(form)) ?? form;
  return [fresh, selectors, [...fresh.elements].find(({ name, value }) => name === button.name && value === button.value)];
}

// Before something else is asked for: what was typed is sent first, and what comes then may take the panel's place.
function flush() {
  for (const form of typed) save(form, fieldsOf(form));
  if (waiting) delete document.querySelector("#panel")?.dataset.held;
  next();
}

const fieldsOf = (form) => form.dataset.update.replace(/,?#panel/, "");
addEventListener("input", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-autosave]")) return;
  if (saving) document.querySelector("#panel").dataset.held = "";
  if (target.matches("select")) return;
  clearTimeout(form.timer);
  form.timer = setTimeout(() => save(form, fieldsOf(form)), 900);
  typed.add(form);
});
addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-autosave]")) return;
  const shapes = form.closest(".sheet") && target.matches("select, [name=named], [name=save_to_own]"); // other fields follow
  save(form, shapes ? all : fieldsOf(form));
});
addEventListener("click", (event) => {
  if (event.target.closest?.("a[data-update]")) {
    delete document.querySelector("#panel")?.dataset.held;
    return flush();
  }
  const button = event.target.closest?.("[data-autosave] button[name]");
  if (!button) return;
  event.preventDefault();
  if (placed.includes(saving) && placed.includes(button.name)) return; // the rows have other places in a moment
  moved = button.name === "up" || button.name === "down" ? button : null;
  save(button.form, all, button);
}, true);
addEventListener("submit", ({ target, submitter }) => {
  if (!target.matches("[data-autosave]")) return flush();
  saving ??= submitter?.name ?? "fields";
  sent++;
}, true);
const tab = Math.random().toString(36).slice(2); // another tab may be another's: the server asks before it overwrites
addEventListener("formdata", ({ target, formData }) => {
  formData.set("tab", tab);
  if (target.matches("[data-autosave]")) formData.set("turn", sent); // else what was typed and taken back is not sent
});
addEventListener("pagehide", () => {
  for (const form of new Set([...typed, ...queued])) post(form, true);
});

// ---- the panel: Enter saves, a variable goes where the caret is

addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || !event.target.matches?.("[data-autosave] input")) return;
  event.preventDefault();
  const add = event.target.name.match(/^(options)\/\d+\/label$/)?.[1]; // the next answer
  const rows = add ? [...event.target.closest(".list").querySelectorAll(":scope > .row")] : [];
  const next = rows[rows.indexOf(event.target.closest(".row")) + 1]?.querySelector("[name$='/label']");
  if (next) next.select();
  else if (add) {
    added = `${add}/${rows.length}/label`;
    save(event.target.form, all, event.target.form.querySelector(`button[name=add][value=${add}]`));
  } else event.target.dispatchEvent(new Event("change", { bubbles: true }));
});
addEventListener("click", ({ target }) => {
  const button = target.closest?.("[data-insert]");
  if (!button) return;
  const field = button.form.elements[button.dataset.into], at = field.selectionEnd ?? field.value.length;
  field.setRangeText(button.dataset.insert, field.selectionStart ?? at, at, "end");
  field.focus();
  field.dispatchEvent(new Event("change", { bubbles: true }));
});

// ---- too long: a field tells what it does not take; in the text view it is not sent, and stays

addEventListener("paste", ({ target, clipboardData }) => {
  const { maxLength, value, selectionStart, selectionEnd } = target;
  const length = value?.length - (selectionEnd - selectionStart) + clipboardData.getData("text").length;
  if (maxLength > 0 && length > maxLength) {
    toast(`At most ${maxLength.toLocaleString("en")} characters. The end of what you pasted is missing.`);
  }
});

addEventListener("input", ({ target }) => {
  if (!target.dataset?.most) return;
  const much = target.value.length, most = Number(target.dataset.most);
  target.setCustomValidity(much > most ? `At most ${most.toLocaleString("en")} characters. This has ${much.toLocaleString("en")}.` : "");
});
