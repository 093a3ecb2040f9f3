// The page around a trial chat: what the draft would do, a new start, and the look as the form has it.
const frame = () => document.querySelector("iframe.trial")?.contentWindow;

addEventListener("message", ({ origin, source, data }) => {
  const list = document.querySelector("[data-notes]");
  if (origin !== location.origin || source !== frame() || !list || !Array.isArray(data?.notes)) return;
  data.notes.slice(list.children.length).forEach((note) => list.append(Object.assign(document.createElement("li"), { textContent: note })));
  if (data.notes.length < list.children.length) list.replaceChildren(...[...list.children].slice(0, data.notes.length));
  document.querySelector("[data-no-notes]").hidden = data.notes.length > 0;
});
addEventListener("click", (event) => {
  if (!event.target.closest("[data-restart]")) return;
  document.querySelector("[data-notes]")?.replaceChildren();
  document.querySelector("[data-no-notes]").hidden = false;
  frame().location.reload();
});
let timer;
addEventListener("input", (event) => {
  const form = event.target.closest("form[data-look]");
  if (!form) return;
  clearTimeout(timer);
  const fields = new URLSearchParams(new FormData(form));
  fields.delete("form_token");
  timer = setTimeout(() => frame()?.postMessage({ look: String(fields) }, location.origin), 250);
});
