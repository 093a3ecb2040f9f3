// "/" goes to the search, unless it is typed into something or means something else there.
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const field = document.querySelector("main [role=search] [name=q]") ?? document.querySelector(".find [name=q]");
  if (!field) return;
  event.preventDefault();
  if (!field.checkVisibility()) return location.assign("/search"); // the menu is closed
  field.focus();
  field.select();
});
