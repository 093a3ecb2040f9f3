// One box ticks every lead of the page; the menu says how many are ticked. Both work again when the list is swapped.
const boxes = () => [...document.querySelectorAll(".tick [name=lead]")];

function tell() {
  const head = document.querySelector("th.tick"), ticked = boxes().filter((box) => box.checked).length;
  if (!head) return;
  if (!head.querySelector("input")) {
    const all = Object.assign(document.createElement("input"), { type: "checkbox", ariaLabel: "Tick all of this page" });
    all.dataset.all = "";
    head.append(all);
  }
  head.querySelector("[data-all]").checked = ticked > 0 && ticked === boxes().length;
  for (const said of document.querySelectorAll("[data-ticked]")) if (said.textContent !== `: ${ticked}`) said.textContent = `: ${ticked}`;
}

addEventListener("change", (event) => {
  if (event.target.matches?.("[data-all]")) for (const box of boxes()) box.checked = event.target.checked;
  if (event.target.closest?.(".tick")) tell();
});
new MutationObserver(tell).observe(document.querySelector("main").parentElement, { childList: true, subtree: true });
tell();
