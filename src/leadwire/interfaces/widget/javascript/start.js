// The last of the parts that `static.py` joins; the element is in panel.js.
// <script async src="https://…/widget/v1.js" data-bot="bot_…" data-color="#0f766e" data-theme="light"></script>
const script = document.currentScript ?? document.querySelector('script[data-bot][src*="/widget/v1.js"]');
const begin = () => {
  const { bot, color, theme } = script.dataset;
  if (!bot || document.querySelector(`leadwire-chat[data-bot="${window.CSS.escape(bot)}"]`)) return; // the snippet, twice
  const chat = el("leadwire-chat", { "data-bot": bot, "data-base": new URL(script.src).origin });
  if (color) chat.dataset.color = color;
  if (theme) chat.dataset.theme = theme;
  document.body.append(chat);
  const early = window.leadwire?.calls ?? [];
  window.leadwire = obey;
  for (const call of early) obey(...call);
};
if (!customElements.get("leadwire-chat")) customElements.define("leadwire-chat", LeadwireChat);
document.body ? begin() : addEventListener("DOMContentLoaded", begin);
