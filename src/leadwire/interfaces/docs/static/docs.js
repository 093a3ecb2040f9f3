// Search, copying, light and dark, trying an operation. Whatever comes from elsewhere becomes text, and only ever text.
const $ = (selector, within = document) => within.querySelector(selector);
const make = (tag, properties, ...children) => { const made = Object.assign(document.createElement(tag), properties); made.append(...children); return made; };

// ---- light and dark: the choice is that of the web area, whose theme.js has taken it up before the first paint

const root = document.documentElement, theme = $(".theme");
theme.onclick = () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  localStorage.theme = root.dataset.theme = dark ? "light" : "dark";
};

// ---- copying

for (const block of document.querySelectorAll("main pre:not(.answer)")) {
  const button = make("button", { type: "button", className: "copy", textContent: "Copy" });
  button.onclick = async () => {
    try { await navigator.clipboard.writeText($("code", block).textContent.trimEnd()); button.textContent = "Copied"; }
    catch { button.textContent = "Not allowed"; }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  };
  const around = make("div", { className: "copied" });
  block.replaceWith(around);
  around.append(block, button);
}

// ---- search

const box = $("search"), field = $("input", box), found = $("#found");
let index; // [page, anchor, title, heading, text]
const learn = () => (index ??= fetch("/docs/search.json").then((answer) => answer.json()));
const rank = (words, [, , title, heading, text]) => words.reduce((sum, word) => {
  const at = [heading, title, text].findIndex((part) => part.toLowerCase().includes(word));
  return at < 0 ? -1e3 : sum + [9, 3, 1][at];
}, 0);
function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word)), from = Math.max(0, at - 40);
  return (from ? "…" : "") + text.slice(from, from + 130);
}
async function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const entries = words.length ? await learn() : [];
  if (words.join() !== field.value.toLowerCase().split(/\s+/).filter(Boolean).join()) return; // typed on meanwhile
  const ranked = entries.map((one) => [rank(words, one), one]).filter(([points]) => points > 0);
  const best = ranked.sort(([one], [other]) => other - one).slice(0, 12);
  found.replaceChildren(...best.map(([, [page, anchor, title, heading, text]]) => make("li", {},
    make("a", { href: `/docs/${page}#${anchor}` }, make("b", {}, heading), ` ${title === heading ? "" : title}`, make("small", {}, excerpt(text, words[0]))))));
  if (words.length && !best.length) found.append(make("li", { className: "none" }, "Nothing found. Try fewer words."));
  found.hidden = !words.length;
}
field.onfocus = learn;
field.oninput = search;
field.onkeydown = (event) => {
  if (event.key === "Enter" && !event.isComposing) { event.preventDefault(); $("a", found)?.click(); }
  if (event.key === "Escape") { field.value = ""; search(); }
};
found.onclick = () => (found.hidden = true);
addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName)) return;
  event.preventDefault();
  field.focus();
});

// ---- trying an operation

const key = $("#key");
for (const form of document.querySelectorAll(".try form")) {
  const answer = $(".answer", form.parentNode);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const { method } = form.dataset, query = new URLSearchParams(), headers = { Authorization: `Bearer ${key.value.trim()}` };
    let path = form.dataset.path;
    for (const input of form.querySelectorAll("input")) {
      if (input.dataset.in === "path") path = path.replace(`{${input.name}}`, () => encodeURIComponent(input.value.trim()));
      else if (input.value) query.append(input.name, input.value);
    }
    const body = $("textarea", form);
    if (body) headers["Content-Type"] = body.dataset.type;
    answer.hidden = false;
    answer.textContent = "…";
    if (!key.value.trim()) { answer.textContent = "Enter an API key at the top of this page first."; return; }
    try {
      const said = await fetch(path + (query.size ? `?${query}` : ""), { method, headers, body: body?.value });
      const text = await said.text();
      let shown = text;
      try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* as it came */ }
      answer.textContent = `${said.status} ${said.statusText}\n\n${shown.slice(0, 50000)}`;
    } catch { answer.textContent = "The service cannot be reached."; }
  };
}
