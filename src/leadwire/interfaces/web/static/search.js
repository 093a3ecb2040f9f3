// The command menu, by Ctrl K or "/": it goes to a screen at once, and finds people and words as the page Search does.
const menu = document.querySelector("#commands"), field = menu?.querySelector("[name=q]");
const choices = () => [...menu.querySelectorAll(".go a, .found a")].filter((link) => link.checkVisibility());

function open() {
  if (!menu) return document.querySelector("main [name=q]").select(); // the page Search
  if (menu.open) return field.select();
  field.value = "";
  narrow();
  menu.showModal();
}

function narrow() {
  const words = field.value.toLowerCase().trim().split(/\s+/);
  for (const one of menu.querySelectorAll(".go li")) {
    const own = one.textContent.toLowerCase().split(/\s+/);
    one.hidden = !words.every((word) => own.some((name) => name.startsWith(word)));
  }
}

addEventListener("keydown", (event) => {
  const typing = event.target.closest?.("input, textarea, select, [contenteditable]"), command = event.ctrlKey || event.metaKey;
  const asked = command ? event.key.toLowerCase() === "k" && !event.shiftKey : event.key === "/" && !typing && !event.altKey;
  if (!asked || event.defaultPrevented) return;
  event.preventDefault();
  open();
});
document.querySelector("a.find")?.addEventListener("click", (event) => {
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.button || !menu) return;
  event.preventDefault();
  open();
});
menu?.addEventListener("input", narrow);
menu?.addEventListener("click", (event) => { if (event.target === menu) menu.close(); });
menu?.addEventListener("keydown", (event) => {
  const screen = menu.querySelector(".go li:not([hidden]) a");
  if (event.key === "Enter" && !event.isComposing && event.target === field && field.value.trim() && screen) {
    event.preventDefault();
    screen.click();
  }
  if (event.key === "Escape") { event.preventDefault(); menu.close(); } // at once, not first what was typed
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const all = [field, ...choices()];
  all.at((all.indexOf(event.target) + step) % all.length).focus();
});
