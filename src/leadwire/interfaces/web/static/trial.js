// The widget with the draft: what it would send to the visitor's API goes to the web area, which stores nothing.
const { bot, token, open } = document.body.dataset, base = `/bots/${bot}/trial`, trouble = document.querySelector("#trouble");
const chat = document.createElement("leadwire-chat"), alone = crypto.randomUUID(); // no other tab joins in
let said = [], person = false, ended = false, query = "", config;

const ask = async (path, options) => {
  const answer = await fetch(path, { headers: { Accept: "application/json" }, ...options }), told = await answer.json();
  trouble.hidden = answer.ok;
  trouble.textContent = told.detail ?? "";
  if (!answer.ok) throw Object.assign(new Error(told.detail), { status: answer.status, code: told.code });
  return told;
};
const turn = async (after) => {
  const body = new URLSearchParams([["form_token", token], ...said.map((one) => ["said", one.content])]);
  if (person) body.set("person", "1");
  const { turn, notes, at } = await ask(base, { method: "POST", body });
  const ids = said.map((one) => one.client_message_id);
  const messages = turn.messages.map((one) => (one.role === "user" ? { ...one, client_message_id: ids.shift() } : one));
  parent.postMessage({ notes, at }, location.origin);
  const over = ended ? { status: "ended", input: null } : {};
  return { ...turn, ...over, messages: messages.filter((one) => one.seq > after), transcript: false };
};
chat.call = async (path, given) => {
  const [, id, kind] = path.split("?")[0].split("/"), after = Number(path.split("after=")[1] ?? 0);
  if (!kind) {
    try { config = await ask(base + "/config" + query); } catch (error) { if (!config) throw error; }
    const { look } = config; // shown as it is, whatever the pages and the time
    return look ? { ...config, look: { ...look, opens: false, greeting_after: 0, greeting_pages: [], hide_pages: [] } } : config;
  }
  if (kind === "activity") return {};
  if (kind === "events") return new Promise(() => {}); // nobody will answer
  if (kind === "conversations") { said = [given]; person = ended = false; return { ...(await turn(0)), conversation_id: "trial", token: "trial" }; }
  if (kind === "messages" && given && !said.some((one) => one.client_message_id === given.client_message_id)) said.push(given);
  if (kind === "handoff") person = true;
  if (kind === "end") ended = true;
  return turn(after);
};

Object.assign(chat.dataset, { bot: `${bot}:${alone}`, base: location.origin });
document.body.append(chat);
if (open !== undefined) { chat.open(false); turn(0).catch(() => {}); } // where it begins
const forget = () => { for (const area of [localStorage, sessionStorage]) for (const key of Object.keys(area)) if (key.includes(alone)) area.removeItem(key); };
addEventListener("pagehide", forget);
addEventListener("message", (event) => { // the form beside the frame has changed
  if (event.origin !== location.origin || typeof event.data?.look !== "string") return;
  query = `?${event.data.look}`;
  forget();
  chat.wearAgain();
});
