// The builder works without this file. Its picture zooms and pans, lines are drawn, steps are reached by keyboard.
const all = "#state,#flow,#panel";
const picture = () => document.querySelector("#picture");
const flow = () => document.querySelector("svg.flow");
const steps = () => [...document.querySelectorAll("svg.flow a[data-step]")];
const linkOf = (id) => document.getElementById(`step-${id}`);

// ---- zoom: the size of the picture; it stays when another picture comes

let zoom = 1, chosen = null, wantsField = false;

function resize() {
  const svg = flow();
  if (!svg) return;
  const { width, height } = svg.viewBox.baseVal;
  for (const [name, size] of [["width", width], ["height", height]]) {
    const wanted = String(Math.round(size * zoom));
    if (svg.getAttribute(name) !== wanted) svg.setAttribute(name, wanted);
  }
}

function zoomTo(wanted) {
  const box = picture(), before = zoom;
  zoom = Math.min(2, Math.max(0.1, wanted));
  const x = (box.scrollLeft + box.clientWidth / 2) / before, y = (box.scrollTop + box.clientHeight / 2) / before;
  resize();
  box.scrollTo(x * zoom - box.clientWidth / 2, y * zoom - box.clientHeight / 2);
}

function fit() {
  const { width, height } = flow().viewBox.baseVal, box = picture();
  zoomTo(Math.min(1, box.clientWidth / width, box.clientHeight / height));
}

addEventListener("click", ({ target }) => {
  const by = target.closest?.("[data-zoom]")?.dataset.zoom;
  if (by === "0") fit();
  else if (by) zoomTo(zoom * 1.25 ** by);
});

addEventListener("wheel", (event) => {
  if (!event.ctrlKey || !event.target.closest?.("#picture") || !flow()) return;
  event.preventDefault();
  zoomTo(zoom * 1.002 ** -event.deltaY);
}, { passive: false });

// ---- what came: the chosen step is seen, and its first field has the focus if it was opened by hand

function reveal(link) { // without the page
  const at = link.getBoundingClientRect(), frame = picture().getBoundingClientRect();
  picture().scrollBy(
    Math.max(0, at.right + 60 - frame.right) + Math.min(0, at.left - 16 - frame.left),
    Math.max(0, at.bottom + 16 - frame.bottom) + Math.min(0, at.top - 16 - frame.top),
  );
}

function show() {
  resize();
  document.querySelectorAll(".zoom[hidden]").forEach((one) => (one.hidden = !flow()));
  const link = document.querySelector("a[data-step][aria-current]"), id = link?.dataset.step ?? null;
  if (id !== chosen && link) reveal(link);
  if (id !== chosen && wantsField && id) document.querySelector("#panel :is(textarea, input:not([type=hidden]), select)")?.focus();
  if (id !== chosen) wantsField = false;
  if (id !== chosen) touched.clear();
  tellFaults();
  if (!id && chosen && document.activeElement === document.body) linkOf(chosen)?.focus({ preventScroll: true });
  chosen = id;
  light();
}

// ---- the trial chat beside the picture: the step that waits for the visitor is lit

let waits = null;
function light() {
  const link = document.querySelector("iframe.trial") && linkOf(waits);
  document.querySelectorAll("g.lit").forEach((one) => one.classList.remove("lit"));
  link?.closest("g").classList.add("lit");
  return link;
}
addEventListener("message", ({ origin, data }) => {
  if (origin !== location.origin || data?.at === undefined || data.at === waits) return;
  waits = data.at;
  const link = light();
  if (link) reveal(link);
});

// ---- faults: each at its field, once that was left, or publishing was tried

const touched = new Set();
let tried = false;

function tellFaults() {
  const panel = document.querySelector("#panel");
  tried = panel.querySelector("[data-tried]") || tried && document.querySelector("#state .sure");
  panel.querySelectorAll(".told").forEach((one) => one.remove());
  panel.querySelectorAll("[aria-invalid]").forEach((one) => one.removeAttribute("aria-invalid"));
  for (const one of panel.querySelectorAll("#faults li")) {
    let path = one.dataset.field, field = null;
    const seen = tried || touched.has(path) || !("lacks" in one.dataset);
    for (; path && !field; path = path.replace(/(^|\/)[^/]*$/, "")) {
      field = panel.querySelector(`:is([name="${CSS.escape(path)}"]:not([type=hidden]), [data-path="${CSS.escape(path)}"])`);
    }
    one.classList.toggle("here", Boolean(seen && !field));
    if (!seen || !field) continue;
    const told = Object.assign(document.createElement("span"), { className: "told error", textContent: one.lastChild.textContent });
    field.matches("fieldset") ? field.append(told) : field.after(told);
    if (!field.matches("fieldset")) field.setAttribute("aria-invalid", "true");
    for (let around = field.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
  }
}
addEventListener("focusout", ({ target }) => {
  if (!target.name || !target.closest?.("#panel")) return;
  touched.add(target.name);
  tellFaults();
});

// ---- the keyboard: arrows between steps, Enter opens (a link does), Delete deletes, Escape closes

function nearest(from, key) {
  const side = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (!side) return null;
  const middle = (link) => { const box = link.getBBox(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const [x, y] = middle(from);
  const far = (link) => {
    const [a, b] = middle(link), along = (a - x) * side[0] + (b - y) * side[1];
    const across = Math.abs((a - x) * side[1]) + Math.abs((b - y) * side[0]);
    return along > 5 ? along + 2 * across : Infinity;
  };
  const found = steps().map((link) => [far(link), link]).filter(([way]) => way < Infinity).sort((a, b) => a[0] - b[0]);
  return found[0]?.[1];
}

function post(action, fields) {
  const form = document.createElement("form"), token = document.querySelector("[name=form_token]");
  Object.assign(form, { method: "post", hidden: true });
  form.setAttribute("action", action);
  Object.assign(form.dataset, { update: all, quiet: "" });
  for (const [name, value] of Object.entries({ form_token: token.value, ...fields })) {
    form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
  }
  document.body.append(form);
  form.requestSubmit();
  form.remove();
}

const base = () => location.pathname.split("/").slice(0, 3).join("/");

addEventListener("keydown", (event) => {
  const { key, target } = event, command = event.ctrlKey || event.metaKey;
  const typing = target.closest?.("input, textarea, select, [contenteditable]");
  if (!document.querySelector(".builder")) return;
  if (command && !typing && (key === "z" || key === "Z" || key === "y")) {
    event.preventDefault(); // not a click: before the answer to a change has come, its button is disabled
    if (document.querySelector("#state [name=redo]")) post(`${base()}/undo`, { redo: key === "z" ? "" : "1", step: chosen ?? "" });
    return;
  }
  if (key === "Escape" && target.closest?.("#panel.sheet")) {
    wantsField = false;
    target.dispatchEvent(new Event("change", { bubbles: true }));
    linkOf(chosen)?.focus();
    return;
  }
  if (!command && target.closest?.("#picture") && flow() && "+-0".includes(key)) {
    return key === "0" ? fit() : zoomTo(zoom * (key === "+" ? 1.25 : 0.8));
  }
  const step = target.closest?.("a[data-step]");
  if (target === picture() && key.startsWith("Arrow")) return;
  if (!step || command) return;
  if (key === "Enter") { wantsField = true; return; }
  const next = nearest(step, key);
  if (key.startsWith("Arrow")) {
    event.preventDefault();
    next?.focus({ preventScroll: true });
    if (next) reveal(next);
  }
  if ((key === "Delete" || key === "Backspace") && flow().dataset.wire) {
    event.preventDefault();
    post(`${base()}/steps/${encodeURIComponent(step.dataset.step)}`, { do: "delete" });
    picture().focus();
  }
});

// ---- the pointer: drag from a port to a step, or the picture itself

let wire = null, pan = null;

function place(event) {
  const svg = flow(), point = new DOMPoint(event.clientX, event.clientY);
  return point.matrixTransform(svg.getScreenCTM().inverse());
}

const under = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("svg.flow g.step");

addEventListener("pointerdown", (event) => {
  const port = event.target.closest?.("svg.flow[data-wire] .port");
  if (port) {
    event.preventDefault();
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("class", "way drawn");
    flow().append(line);
    wire = { port, line };
  } else if (event.pointerType === "mouse" && !event.button && event.target.closest?.("#picture") && !event.target.closest("a")) {
    pan = [event.clientX, event.clientY];
    picture().classList.add("panning");
  }
});
addEventListener("pointermove", (event) => {
  if (pan) {
    picture().scrollBy(pan[0] - event.clientX, pan[1] - event.clientY);
    pan = [event.clientX, event.clientY];
  }
  if (!wire) return;
  const { x, y } = place(event), from = [wire.port.cx.baseVal.value, wire.port.cy.baseVal.value];
  wire.line.setAttribute("d", `M${from}L${x} ${y}`);
  document.querySelectorAll("g.over").forEach((one) => one.classList.remove("over"));
  under(event)?.classList.add("over");
});
for (const kind of ["pointerup", "pointercancel"]) {
  addEventListener(kind, (event) => {
    picture()?.classList.remove("panning");
    pan = null;
    if (!wire) return;
    const { port, line } = wire, target = kind === "pointerup" && under(event)?.querySelector("a").dataset.step;
    wire = null;
    line.remove();
    document.querySelectorAll("g.over").forEach((one) => one.classList.remove("over"));
    if (target) post(flow().dataset.wire, { step: port.dataset.from, way: port.dataset.way, to: target });
  });
}

addEventListener("swapped", show);
show();
if (flow() && !chosen && matchMedia("(max-width: 760px)").matches) zoomTo(0.8);
