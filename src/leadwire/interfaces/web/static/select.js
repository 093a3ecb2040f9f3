// A conversation that is chosen is shown at once: its row, its name, its composer with the draft. What was said comes later.
const chosen = () => new URLSearchParams(location.search).get("c");

function choose(thread, byHand) {
  const id = thread.id.replace("thread-", ""), query = new URL(thread.href).searchParams;
  const shell = document.querySelector("#chosen").content.cloneNode(true), composer = shell.querySelector("form");
  query.delete("c");
  composer.setAttribute("action", `/inbox/${id}/reply${query.size ? `?${query}` : ""}`);
  composer.elements.conversation.value = id;
  shell.querySelector("h2").textContent = thread.querySelector("b").textContent;
  shell.querySelector(".avatar").replaceWith(thread.querySelector(".avatar").cloneNode(true));
  document.querySelector(".thread[aria-current]")?.removeAttribute("aria-current");
  thread.setAttribute("aria-current", "true");
  thread.dataset.shown = "";
  document.querySelector("#conversation").replaceChildren(shell);
  document.querySelector("#about")?.replaceChildren();
  document.querySelector("#inbox").classList.add("open");
  goTo(thread.href);
  restoreDrafts();
  if (byHand && matchMedia("(hover: hover)").matches) composer.querySelector("textarea").focus();
}

addEventListener("click", (event) => {
  const thread = event.target.closest?.("a.thread");
  if (!thread || event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
  if (thread.id !== `thread-${chosen()}`) choose(thread, event.detail > 0); // a key's click keeps its focus in the list
}, true);

// Nothing is sent for a conversation that is not the one shown.
addEventListener("submit", (event) => {
  const id = /^\/inbox\/([^/]+)\//.exec(addressOf(event.target))?.[1];
  if (!id || !chosen() || id === chosen()) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  toast("Another conversation is open now. Nothing was done.");
}, true);
