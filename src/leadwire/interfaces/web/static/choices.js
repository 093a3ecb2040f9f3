// Menus while something is written: saved replies by / and colleagues by @.
const answer = () => document.querySelector("#answer textarea");
const menu = Object.assign(document.createElement("div"), { id: "choices", className: "card", role: "listbox", hidden: true });
let field, picks = [], at = 0;

function choicesFor(box) {
  const before = box.value.slice(0, box.selectionStart), replies = box === answer();
  const word = (replies ? /(?:^|\n)\/([^\n]{0,60})$/ : /(?:^|\s)@([\w.+-]{0,60})$/).exec(before)?.[1];
  if (word === undefined) return [];
  const all = [...document.querySelectorAll(replies ? ".picks a.button" : "#colleagues option")].map((one) => (replies
    ? { text: one.textContent, about: one.title, pick: () => { replace(box, word.length + 1, ""); one.click(); } } // the server fills in the name
    : { text: one.value, about: one.label === one.value ? "" : one.label, pick: () => replace(box, word.length, `${one.value} `) }));
  return all.filter(({ text, about }) => (replies ? text : `${text} ${about}`).toLowerCase().includes(word.toLowerCase()));
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

addEventListener("input", ({ target }) => { if (target.matches?.("#answer textarea, #notes textarea")) showMenu(target); });
addEventListener("focusout", () => { menu.hidden = true; });
addEventListener("keydown", (event) => {
  if (menu.hidden || event.target !== field || event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) mark(step);
  else if (event.key === "Enter" || event.key === "Tab") { menu.hidden = true; picks[at].pick(); }
  else if (event.key === "Escape") menu.hidden = true;
  else return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, true);
