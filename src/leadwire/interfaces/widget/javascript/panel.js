// What the visitor sees and touches. Whatever a visitor, a bot or an operator typed is text here, and only ever text.
const SHAPES = {
  email: { inputmode: "email", autocomplete: "email" }, phone: { inputmode: "tel", autocomplete: "tel" },
  number: { inputmode: "decimal" }, url: { inputmode: "url", autocomplete: "url" },
  name: { autocomplete: "name", autocapitalize: "words" }, company: { autocomplete: "organization" },
  date: {},
};
const MOST = 4000; // characters of a message
const sheet = new CSSStyleSheet(); // not a <style>: the page's Content-Security-Policy may forbid those
sheet.replaceSync(LOOK);

class LeadwireChat extends HTMLElement {
  connectedCallback() {
    this.conversation = new Conversation(this.dataset.base, this.dataset.bot, (news) => { this.render(); if (news) tell(this, news); }, this.call);
    this.hidden = true; // until it is known how it looks, and whether it shows itself on this page
    this.shown = new Map();
    this.build();
    this.listen();
    this.render();
    arrive(this);
  }
  disconnectedCallback() { this.off.abort(); this.conversation.leave(); }

  build() {
    const root = this.shadowRoot ?? this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [sheet];
    const press = (handler) => ({ type: "button", onclick: handler });
    this.badge = el("span", { class: "badge", "aria-hidden": "true", hidden: "" });
    this.launcher = el("button", { class: "launcher", "aria-expanded": "false", "aria-controls": "panel", ...press(() => this.toggle()) });
    this.heading = el("h2", { id: "title", dir: "auto" });
    this.who = el("p", { class: "who" });
    this.shut = el("button", press(() => this.close()), icon("close"));
    this.lines = el("div", { class: "lines" });
    this.dots = el("div", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
    this.log = el("div", { class: "log", role: "log", "aria-live": "polite", tabindex: "0" }, this.lines, this.dots);
    this.low = true; // read at its end, where it stays: what is below takes more or less of its room
    this.log.onscroll = () => { this.low = this.log.scrollHeight - this.log.scrollTop - this.log.clientHeight < 80; };
    new ResizeObserver(() => this.low && this.sink()).observe(this.log);
    this.picks = el("div", { class: "picks", role: "group" });
    this.note = el("p", { class: "note", role: "status" });
    const typing = { dir: "auto", oninput: () => { this.measure(); this.conversation.types(); }, onkeydown: (event) => this.typed(event) };
    this.line = el("input", { ...typing, hidden: "", spellcheck: "false" });
    this.area = el("textarea", { ...typing, rows: "1", enterkeyhint: "send", autocomplete: "off" });
    this.send = el("button", { class: "send" }, icon("send"));
    this.form = el("form", { novalidate: "", onsubmit: (event) => { event.preventDefault(); this.submit(); } }, this.line, this.area, this.send);
    this.again = el("button", { class: "again", ...press(() => { this.conversation.renew(); this.focusField(); }) });
    this.rating = ratingOf(this);
    this.over = el("div", { class: "over" }, this.rating, this.again);
    this.hello = el("div", { class: "hello", role: "status" });
    this.face = el("span", { class: "face" });
    this.person = el("button", press(() => this.conversation.askForPerson(this.words.person)));
    this.finish = el("button", press(() => this.conversation.end()));
    this.mail = el("button", press(() => this.conversation.mailed || this.conversation.mail()));
    this.more = el("div", { class: "more" }, this.person, this.mail, this.finish);
    this.panel = el("div", { class: "panel", id: "panel", role: "dialog", "aria-labelledby": "title", hidden: "" },
      el("div", { class: "top" }, this.face, el("div", {}, this.heading, this.who), this.shut),
      this.log, this.picks, this.note, this.form, this.over, this.more);
    this.panel.onkeydown = (event) => this.pressed(event);
    this.panel.onkeypress = this.panel.onkeyup = (event) => event.stopPropagation();
    root.replaceChildren(this.panel, this.hello, this.launcher);
  }

  listen() {
    this.off = new AbortController();
    const on = (target, kind, handler) => target.addEventListener(kind, handler, { signal: this.off.signal });
    on(window, "online", () => this.conversation.wake());
    on(window, "offline", () => { if (this.conversation.unsent.length) this.conversation.trouble = "offline"; this.render(); });
    on(window, "pageshow", (event) => event.persisted && this.conversation.wake());
    on(window, "pagehide", () => this.conversation.stopStream?.abort());
    on(window, "storage", (event) => {
      if (event.key === this.conversation.key) this.conversation.adopt();
      if (event.key === this.shelf) adopt(this);
    });
    on(window, "popstate", () => visit(this));
    if (window.navigation) on(navigation, "navigatesuccess", () => visit(this)); // a page that a script has changed
    on(document, "visibilitychange", () => document.hidden || !this.isOpen && this.conversation.status !== "handoff" || this.conversation.wake());
    on(document, "click", (event) => { // a link to #leadwire opens the chat, wherever it is on the page
      if (event.target.closest?.('a[href$="#leadwire"]')) { event.preventDefault(); this.open(); }
    });
    if (window.visualViewport) { // what a phone's keyboard leaves
      on(visualViewport, "resize", () => this.style.setProperty("--room", `${visualViewport.height}px`));
    }
  }

  paint(color) {
    if (!/^#[0-9a-f]{6}$/i.test(color ?? "")) return;
    for (const [name, value] of Object.entries(looks(color))) this.style.setProperty(`--${name}`, value);
  }

  get isOpen() { return !this.panel.hidden; }
  toggle() { this.isOpen ? this.close() : this.open(); }
  async open(focus = true) {
    this.panel.hidden = this.hidden = false;
    keep(this, { open: true, opened: true, greeted: true });
    count(this, "opened");
    this.hello.replaceChildren();
    if (this.look) face(this);
    this.render();
    if (focus) this.focusField();
    if (this.conversation.kept.id) this.conversation.refresh();
    if (!this.conversation.bot_) await arrive(this);
  }
  close() {
    this.panel.hidden = true;
    keep(this, { open: false });
    this.render();
    this.launcher.focus();
  }
  wearAgain() { this.conversation.bot_ = null; return arrive(this); }
  get shelf() { return `${this.conversation.key}:ui`; }
  get field() { return this.line.hidden ? this.area : this.line; }
  // The log instead, on a touch screen, where a keyboard would cover what there is to read, and while there are answers
  // to pick: they are the next thing after it.
  focusField() {
    const still = matchMedia("(pointer: coarse)").matches || this.form.hidden || this.offered;
    (still ? this.log : this.field).focus({ preventScroll: true });
  }
  pressed(event) {
    event.stopPropagation(); // the page, which does not see the field, would take it for a shortcut
    if (event.key === "Escape" && !event.isComposing) this.close();
    // Whoever types wherever the focus is types an answer.
    const types = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (types && !this.form.hidden) this.field.focus();
  }

  typed(event) { // no value is returned: false would keep the key from the field
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.submit(); }
  }
  get tooMany() { return Math.max(0, [...this.field.value.trim()].length - MOST); }
  measure() {
    this.area.style.height = "40px";
    this.area.style.height = `${Math.min(this.area.scrollHeight, 132)}px`;
    if (this.field.value !== (known(this).draft ?? "")) keep(this, { draft: this.field.value });
    this.tell();
  }
  write(text) { this.field.value = text; this.measure(); }
  submit() {
    const content = this.field.value.trim();
    if (!content || this.tooMany) return this.tell();
    this.write("");
    this.conversation.say(content);
    this.field.focus();
  }
  pick(option) { this.conversation.say(option); this.focusField(); }

  render() {
    if (!this.panel) return;
    const { conversation } = this;
    if (this.isOpen === !this.wasOpen) tell(this, (this.wasOpen = this.isOpen) ? "opened" : "closed");
    const locale = conversation.bot_?.language ?? conversation.bot_?.locale ?? "en";
    this.words = { ...WORDS, ...conversation.bot_?.words };
    this.panel.lang = locale;
    this.panel.dir = directionOf(locale);
    this.label();
    if (!this.isOpen) return;
    this.draw();
    this.ask();
    this.tell();
  }

  label() {
    const { conversation, words } = this, unread = conversation.unread(this.isOpen && !document.hidden);
    this.badge.hidden = !unread;
    put(this.badge, unread > 9 ? "9+" : String(unread));
    this.launcher.setAttribute("aria-expanded", String(this.isOpen));
    this.launcher.setAttribute("aria-label", this.isOpen ? words.close : (this.look?.launcher || words.open) + (unread ? `, ${unread} ${words.unread}` : ""));
    this.shut.setAttribute("aria-label", words.close);
    this.log.setAttribute("aria-label", words.log);
    this.picks.setAttribute("aria-label", words.field);
    this.send.setAttribute("aria-label", words.send);
    for (const field of [this.line, this.area]) field.setAttribute("aria-label", words.field);
    put(this.heading, conversation.bot_?.title ?? "");
    const live = conversation.lines.some((one) => one.role === "agent");
    put(this.who, conversation.theyType ? `${this.agent} ${words.types}` : { handoff: live ? words.live : words.waiting, ended: words.ended }[conversation.status] ?? words.bot);
    this.who.toggleAttribute("data-live", conversation.status !== "ended");
    put(this.again, words.again); put(this.person, words.person); put(this.finish, words.end);
    put(this.mail, words[conversation.mailed ?? "mail"]);
    this.mail.hidden = !conversation.mailable;
  }

  // Lines come and change; what is on the screen already stays the same node, so that it is not read out again.
  draw() {
    const { lines } = this.conversation, keys = new Set(lines.map((one) => one.key));
    for (const [key, node] of this.shown) if (!keys.has(key)) { node.remove(); this.shown.delete(key); }
    const seen = lines.findLast((one) => one.role === "user" && one.seq <= this.conversation.kept.shown)?.key;
    let before = null;
    for (const one of lines) {
      let node = this.shown.get(one.key);
      if (!node) this.shown.set(one.key, (node = one.rule ? el("p", { class: "rule" }, this.words.ended) : this.lineOf(one)));
      if (!one.rule) this.mark(node, one, one.key === seen);
      const next = before ? before.nextSibling : this.lines.firstChild;
      if (node !== next) this.lines.insertBefore(node, next);
      before = node;
    }
    this.dots.hidden = !this.conversation.waiting && !this.conversation.theyType;
    if (this.low || lines.at(-1)?.key !== this.last && lines.at(-1)?.role === "user") this.sink();
    this.last = lines.at(-1)?.key;
  }
  sink() { this.log.scrollTop = this.log.scrollHeight; }
  get agent() { return [...this.conversation.said.values()].findLast((one) => one.author)?.author ?? this.words.team; }
  lineOf(one) {
    const by = { user: this.words.you, bot: this.words.says, agent: one.author ?? this.words.team }[one.role];
    const name = el("p", { class: one.role === "agent" ? "name" : "unseen" }, by);
    return el("div", { class: "line", "data-role": one.role }, name, el("p", { class: "text", dir: "auto" }), el("p", { class: "state", hidden: "" }), ...extrasOf(one.parts));
  }
  mark(node, one, seen) {
    const [, text, state] = node.children;
    const said = one.parts?.text ?? one.content;
    if (text.textContent !== said) text.replaceChildren(...linked(said)); // a choice may come back in the bot's words
    if (one.created_at) text.title = new Date(one.created_at).toLocaleString();
    node.classList.toggle("failed", Boolean(one.failed));
    state.hidden = !(one.failed || seen || (one.unsent && this.conversation.trouble));
    put(state, one.failed ? this.words.failed : seen ? this.words.seen : this.words.unsent);
  }

  ask() {
    const { conversation } = this, ended = conversation.status === "ended";
    const options = (!ended && !conversation.unsent.some((one) => one.content) && conversation.prompt?.options) || [];
    this.form.hidden = ended;
    this.over.hidden = !ended;
    if (ended) askRating(this);
    this.person.hidden = conversation.status !== "active";
    this.finish.hidden = ended || !conversation.kept.id;
    if (options.join("\n") !== this.offered) {
      this.offered = options.join("\n");
      this.picks.replaceChildren(...options.map((one) => pickOf(one, conversation.prompt.links?.[one], () => this.pick(one))));
      const { activeElement } = this.shadowRoot; // none: the focus is somewhere on the page, and stays there
      if (activeElement === this.log || activeElement === this.field && !this.field.value) this.focusField();
    }
    const shape = SHAPES[conversation.prompt?.kind] ?? SHAPES[conversation.prompt?.field];
    shapeDate(this.line, !ended && conversation.prompt);
    const was = this.field, focused = this.shadowRoot.activeElement === was;
    this.line.hidden = !shape || conversation.status !== "active";
    this.area.hidden = !this.line.hidden;
    if (was !== this.field) {
      this.write(was.value);
      was.value = "";
      if (focused) this.field.focus();
    }
    for (const name of ["inputmode", "autocomplete", "autocapitalize"]) this.line.setAttribute(name, shape?.[name] ?? "off");
    if (!ended && !options.length) fill(this, conversation.prompt?.field);
    this.field.placeholder = (!ended && conversation.status === "active" && conversation.prompt?.placeholder) || this.words.field;
  }

  tell() {
    const { tooMany, words } = this;
    const text = tooMany ? `${words.long} ${tooMany}` : (words[this.conversation.trouble] ?? "");
    put(this.note, text);
    this.note.hidden = !text;
    this.send.setAttribute("aria-disabled", String(!this.field.value.trim() || tooMany > 0));
  }
}
