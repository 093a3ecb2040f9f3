// The builder's forms save themselves: one at a time, a while after the last letter, or at once when a field is left.
const all = "#state,#flow,#panel";
let timer, saving = null, waiting = null, owed = false, moved = null, added = null;
const placed = ["up", "down", "drop"]; // the buttons of a row, by its place

function save(form, selectors, button) {
  clearTimeout(timer);
  form.pending = false;
  if (saving) waiting = { form, selectors: waiting?.selectors === all ? all : selectors, button: button ?? waiting?.button };
  else if (form.isConnected) {
    saving = button?.name ?? "fields";
    form.dataset.update = owed ? all : selectors;
    owed = false;
    form.requestSubmit(button);
  }
}

addEventListener("done", ({ detail }) => {
  if (!detail.matches("[data-autosave]")) return;
  saving = null;
  if (moved) { // the focus goes with the row, as far as it can go
    const [, list, place] = moved.value.match(/(.*)\/(\d+)$/), to = Number(place) + (moved.name === "up" ? -1 : 1);
    const there = [moved.name, "up", "down"].map((way) => document.getElementById(`${list}/${to}-${way}`));
    there.find((one) => one && !one.disabled)?.focus();
    moved = null;
  }
  const fresh = added && document.getElementsByName(added)[0];
  if (fresh) { fresh.focus(); added = null; }
  const panel = document.querySelector("#panel");
  if ("held" in panel.dataset) { // it was written in meanwhile, and has stayed: the next answer brings the rest
    delete panel.dataset.held;
    owed = true;
  }
  if (detail.unanswered) { // again, until there is a network, and when the page is left
    detail.pending = true;
    timer = setTimeout(() => save(detail, fieldsOf(detail)), 3000);
  }
  const next = waiting;
  waiting = null;
  if (next) save(...now(next));
});

// What was pressed meanwhile is pressed in the form that has come.
function now({ form, selectors, button }) {
  const fresh = !form.isConnected && button && [...document.forms].find((one) => addressOf(one) === addressOf(form));
  const same = fresh && [...fresh.elements].find(({ name, value }) => name === button.name && value === button.value);
  return same ? [fresh, selectors, same] : [form, selectors, button];
}

const fieldsOf = (form) => form.dataset.update.replace(/,?#panel/, "");
addEventListener("input", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-autosave]")) return;
  if (saving) document.querySelector("#panel").dataset.held = "";
  if (target.matches("select")) return;
  clearTimeout(timer);
  timer = setTimeout(() => save(form, fieldsOf(form)), 900);
  form.pending = true;
});
addEventListener("change", ({ target }) => {
  const form = target.form;
  if (!form?.matches("[data-autosave]")) return;
  const shapes = form.closest(".sheet") && target.matches("select, [name=named], [name=save_to_own]"); // other fields follow
  save(form, shapes ? all : fieldsOf(form));
});
addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-autosave] button[name]");
  if (!button) return;
  event.preventDefault();
  if (placed.includes(saving) && placed.includes(button.name)) return; // the rows have other places in a moment
  moved = button.name === "up" || button.name === "down" ? button : null;
  save(button.form, all, button);
}, true);
addEventListener("click", ({ target }) => {
  if (target.closest?.("a[data-update]")) delete document.querySelector("#panel")?.dataset.held;
}, true);
const tab = Math.random().toString(36).slice(2); // another tab may be another's: the server asks before it overwrites
addEventListener("formdata", ({ formData }) => formData.set("tab", tab));
addEventListener("pagehide", () => {
  const form = document.querySelector("form[data-autosave]");
  if (form?.pending) fetch(form.getAttribute("action"), { method: "POST", body: new URLSearchParams(new FormData(form)), keepalive: true });
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
