// What a message of the bot has besides text: an image, and links as buttons. Answers that open a page; dates.
const page = (href) => ({ href, target: "_blank", rel: "noopener noreferrer", dir: "auto" });
const isPage = (address) => /^https:\/\//.test(address); // no other scheme: it could run a script
// The space is there before the image is, so that nothing moves; what it shows is written there until it has come.
const imageOf = ({ url, alt }) => {
  const words = el("span", { "aria-hidden": "true" }, alt);
  const shown = el("img", {
    alt, loading: "lazy", decoding: "async", referrerpolicy: "no-referrer",
    onload: () => words.remove(), onerror: () => { words.removeAttribute("aria-hidden"); shown.remove(); },
  });
  shown.src = url;
  return el("a", { class: "image", ...page(url) }, words, shown);
};
const extrasOf = ({ image, links = [] } = {}) => [
  ...(image && isPage(image.url) ? [imageOf(image)] : []),
  ...(links.length ? [el("p", { class: "links" }, ...links.filter(({ url }) => isPage(url)).map(({ label, url }) => el("a", page(url), label)))] : []),
];
const pickOf = (label, address, onclick) => (
  isPage(address) ? el("a", { ...page(address), onclick }, label) : el("button", { type: "button", dir: "auto", onclick }, label));
// The browser's own field for a date; to any other question the value is a text.
const shapeDate = (field, prompt) => {
  const type = prompt?.kind === "date" ? "date" : "text";
  if (field.type !== type) field.value = "";
  field.type = type;
  for (const name of ["min", "max"]) prompt?.[name] ? field.setAttribute(name, prompt[name]) : field.removeAttribute(name);
};
