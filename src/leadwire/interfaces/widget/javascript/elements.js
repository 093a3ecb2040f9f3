// Making what is on the screen: elements, icons, and texts with links.
const ICONS = {
  chat: "M21 11.6a8.2 8.2 0 0 1-8.6 8.1 9.6 9.6 0 0 1-3.5-.7L4 20.3l1.3-4A7.6 7.6 0 0 1 3.4 11.4a8.5 8.2 0 0 1 8.8-7.9 8.5 8.2 0 0 1 8.8 8.1z",
  question: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM9.4 9.6a2.7 2.7 0 1 1 3.9 2.4c-.8.4-1.3 1-1.3 1.9M12 16.9v.1",
  calendar: "M4.5 6h15v14h-15zM4.5 10.5h15M8.5 3.5V8M15.5 3.5V8", close: "M6 6l12 12M18 6L6 18", send: "M4.5 12h14M13 6l6 6-6 6", down: "M6 9.5l6 6 6-6",
};
const el = (tag, attributes = {}, ...kids) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    typeof value === "function" ? (made[name] = value) : made.setAttribute(name, value);
  }
  made.append(...kids);
  return made;
};
const icon = (name) => {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const path = document.createElementNS(svg.namespaceURI, "path");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
};
const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
// Text with its web addresses as links. Nothing but http and https: a link made of any other scheme could run a script.
const linked = (text) => text.split(/(\bhttps?:\/\/[^\s<>"]+)/i).flatMap((part, place) => {
  if (place % 2 === 0) return part;
  const address = part.replace(part.includes("(") ? /[.,;:!?'\]}»]+$/ : /[.,;:!?'\]}»)]+$/, "");
  const link = el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, address);
  return [URL.canParse(address) ? link : address, part.slice(address.length)];
});
