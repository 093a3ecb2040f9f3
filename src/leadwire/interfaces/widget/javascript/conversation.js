// The conversation: what is to be sent, what was said, and that both survive a bad network. Knows nothing of the screen.
const SILENT = 40_000; // ms until a stream without a sign of life counts as dead; the server sends one every 15 s

class Conversation {
  constructor(base, bot, changed, call) {
    Object.assign(this, { base, bot, changed, key: `leadwire:${bot}` }, call && { call }); // `call`: instead of the network
    this.kept = stored("localStorage", this.key) ?? {}; // id, token, status, seen: shared by the tabs of a website
    this.unsent = stored("sessionStorage", this.key) ?? []; // this tab's, in order
    this.said = new Map(); // by place
    this.past = []; // conversations before this one, of this page
    this.refused = [];
    this.wakers = new Set();
    this.room = roomOf(this.key);
    this.room.onmessage = ({ data }) => this.learn(data);
    if (this.kept.status === "handoff" || this.unsent.length) this.refresh();
  }

  // The bot's looks and first words. Asked for when somebody is about to open the chat, or they are others by now.
  async meet(again) {
    if (this.bot_ && !again || this.meeting) return;
    this.meeting = true;
    try { this.bot_ = await this.call(`bots/${this.bot}`); this.trouble = null; }
    catch (error) { this.trouble = error.status >= 400 && error.status < 500 && error.status !== 429 ? "closed" : this.why(error); }
    this.meeting = false;
    this.changed();
  }

  get status() { return this.kept.status ?? "active"; }
  get prompt() { return this.kept.id ? this.asked : this.bot_?.input; }
  get waiting() { return this.sending && this.unsent.some((one) => one.content) && this.status !== "handoff" && !this.trouble; }

  // Everything to be shown, in order. A line keeps its key from the moment it is written.
  get lines() {
    const { messages = [], greeting: read } = this.bot_ ?? {};
    const greeting = messages.map((one, place) => ({ key: `hello ${read} ${place + 1}`, role: "bot", ...one }));
    const said = [...this.said.values()].sort((a, b) => a.seq - b.seq).map((one) => (
      { ...one, key: one.client_message_id ?? (one.role === "bot" && one.seq <= greeting.length ? `hello ${read} ${one.seq}` : one.id) }));
    const unsent = this.unsent.filter((one) => one.content && !said.some((line) => line.key === one.client_message_id));
    return [...this.past, ...(this.kept.id ? said : greeting), ...this.refused,
      ...unsent.map((one) => ({ key: one.client_message_id, role: "user", content: one.content, unsent: true }))];
  }

  say(content, greeting = this.bot_?.greeting) { this.put({ content, client_message_id: newId(), greeting }); }
  askForPerson(words) {
    if (!this.kept.id && !this.unsent.length) this.say(words, null); // a conversation begins with a word, whatever the greeting
    this.put({ action: "handoff" });
  }
  end() { this.put({ action: "end" }); }
  mail() { this.put({ action: "transcript" }); }
  rate(rating, comment) {
    this.kept.rated = comment === undefined ? rating : "said";
    this.keep();
    this.put({ action: "rating", rating, comment: comment ?? "" });
  }
  keep() { store("localStorage", this.key, this.kept.id ? this.kept : null); }
  put(one) {
    this.hold([...this.unsent, { ...one, person: this.whose }]);
    this.changed();
    this.flush();
  }
  hold(unsent) { store("sessionStorage", this.key, (this.unsent = unsent).length ? unsent : null); }

  // Whose all this is, if the website has said so.
  get whose() { return this.person ?? this.kept.person; }
  // Of somebody else nothing stays: neither what was said nor what is to be sent.
  identify(identity, person) {
    const isOther = (one) => one && one !== person;
    if (isOther(this.kept.person) || isOther(this.person)) {
      if (this.kept.person !== person) this.renew();
      this.past = [];
    }
    this.hold(this.unsent.filter((one) => !isOther(one.person)));
    for (const one of this.unsent) one.person = person;
    Object.assign(this, { identity, person });
    this.kept.person = person;
    if (this.kept.id) this.keep();
  }
  // A conversation that is over stays to be read, but not by somebody else; what is said next is of another.
  leaveFor(kept) {
    const over = this.kept.id;
    if (over) this.past = [...this.lines.filter((one) => !one.unsent).map((one) => ({ ...one, key: `${over} ${one.key}` })), { key: over, rule: true }];
    if (this.whose && kept.person && kept.person !== this.whose) this.past = [];
    this.said.clear();
    this.stopStream?.abort();
    Object.assign(this, { kept, refused: [], mailable: null, mailed: null, theyType: false });
  }
  renew() {
    this.leaveFor({});
    store("localStorage", this.key, null);
    this.changed();
  }

  refresh() { this.stale = true; return this.flush(); }
  // Another tab has said or begun something.
  adopt() {
    const kept = stored("localStorage", this.key) ?? {}, other = kept.id !== this.kept.id, news = other || kept.status !== this.kept.status;
    other ? this.leaveFor(kept) : (this.kept = kept);
    kept.id && news ? this.refresh() : this.changed();
  }

  // One thing at a time, in order: so no answer is ever older than what is known; none is taken of a conversation that
  // another tab has left meanwhile. A message is sent until it is answered, always under the same client_message_id, by
  // which the server knows it again.
  async flush() {
    if (this.sending) return;
    this.sending = true;
    for (let tries = 0; this.unsent.length || (this.stale && this.kept.id);) {
      const [one] = this.unsent, { id } = this.kept;
      try {
        this.changed();
        if (one) { await (id ? this.deliver(one) : alone(`${this.key} begin`, () => this.deliver(one))); this.drop(one); this.room.postMessage({ id: this.kept.id }); }
        else { this.stale = false; this.take(await this.call(`conversations/${id}/messages?after=${this.place}`), id); }
        tries = 0;
        this.trouble = null;
      } catch (error) {
        this.stale ||= !one;
        if (id === this.kept.id && (!one || this.unsent.includes(one)) && !this.settle(error, one)) await this.pause(error.after * 1000 || Math.min(500 * 2 ** tries++, 20_000));
      }
    }
    this.sending = this.stale = false;
    this.changed();
    this.follow();
  }

  async deliver(one) {
    const { id } = this.kept, { action, person, greeting, ...message } = one;
    if (!id && stored("localStorage", this.key)?.id) { this.adopt(); throw new Error("Another tab has begun."); }
    if (!action) message.attributes = this.attributes;
    const signed = Boolean(!action && this.identity && !this.kept.signed && (this.kept.person ?? this.person) === this.person);
    if (signed) message.identity = this.identity;
    if (!id) message.greeting = greeting; // what this is an answer to
    const answer = await this.post(action, message);
    if (this.unsent.includes(one)) this.take({ ...answer, signed }, id); // else somebody else is there by now
  }
  post(action, message) {
    if (this.kept.id) return this.call(`conversations/${this.kept.id}/${action ?? "messages"}`, message.content || message.rating ? message : null);
    if (action) return { status: "active", messages: [], input: this.prompt };
    return this.call(`bots/${this.bot}/conversations`, {
      ...message, page_url: location.href.slice(0, 2048), referrer: document.referrer.slice(0, 2048),
      locale: navigator.language, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    });
  }

  drop(one, refused) {
    if (!this.unsent.includes(one)) return;
    if (one.action === "transcript") this.mailed = refused ? "failed" : "mailed";
    if (refused && one.content) this.refused.push({ key: one.client_message_id, role: "user", content: one.content, failed: true });
    this.hold(this.unsent.filter((other) => other !== one));
  }

  // What an error means. False: only that it has to be tried again.
  settle(error, one) {
    const { status, code } = error;
    if (this.identity && one?.content && (code === "identity_refused" || status === 422)) { // the message goes without
      this.identity = null;
      reportError(new Error(`identify: ${error.message}`));
      return true;
    }
    if (this.kept.id && (status === 401 || status === 404 || code === "conversation_ended" && one?.content)) {
      const { token } = this.kept; // over, or forgotten there; or another tab has a newer one
      this.adopt();
      if (this.kept.token === token) this.renew();
      return true;
    }
    if (status >= 400 && status < 500 && status !== 408 && status !== 429) {
      if (code === "greeting_changed") this.meet(true);
      if (one) this.drop(one, true); else this.stale = false;
      this.trouble = code === "workspace_suspended" || !this.kept.id && (status === 403 || status === 404) ? "closed" : null;
      return true;
    }
    this.trouble = this.why(error);
    this.changed();
    return false;
  }
  why(error) { return error.status === 429 ? "slow" : navigator.onLine ? "away" : "offline"; }

  take(answer, id) {
    if (answer.conversation_id) this.kept = { id: answer.conversation_id, token: answer.token, seen: 0, person: this.person };
    else if (id !== this.kept.id) return;
    for (const line of answer.messages) this.said.set(line.seq, line);
    Object.assign(this, { asked: answer.input, mailable: answer.transcript });
    this.kept.status = answer.status;
    const news = answer.captured && !this.kept.captured && !stored("localStorage", this.key)?.captured; // once for all tabs
    this.kept.captured ||= answer.captured;
    this.kept.signed ||= answer.signed; // the server knows whose it is
    if (this.kept.id) this.keep();
    if (news) this.changed("captured");
  }

  // The last place before the first gap: what is asked for again begins there.
  get place() {
    let place = 0;
    while (this.said.has(place + 1)) place++;
    return place;
  }
  // What nobody has looked at yet: how many lines of others.
  unread(looking) {
    const theirs = [...this.said.values()].filter((one) => one.role !== "user" && one.seq > (this.kept.seen ?? 0));
    if (!looking || !theirs.length) return theirs.length;
    this.kept.seen = Math.max(...theirs.map((one) => one.seq));
    this.keep();
    this.signal({ seen: this.kept.seen });
    return 0;
  }

  // While a person is there, what they say comes by itself, to the tab that holds the lock: it tells the others.
  async follow() {
    if (this.following || this.gone || this.status !== "handoff") return;
    this.following = true;
    const listen = async () => {
      for (let wait = 1000; this.status === "handoff" && !this.gone; wait = Math.min(wait * 2, 30_000)) {
        try { await this.stream(() => (wait = 500)); }
        catch (error) { if (error.status >= 400 && error.status < 500 && error.status !== 429) await this.refresh(); }
        if (this.status === "handoff" && !this.gone) await this.pause(wait);
      }
    };
    await alone(this.key, listen);
    this.following = false;
  }
  async stream(opened) {
    const { id } = this.kept, stop = (this.stopStream = new AbortController());
    let bell;
    const alive = () => { clearTimeout(bell); bell = setTimeout(() => stop.abort(), SILENT); };
    alive();
    try {
      const answer = await this.call(`conversations/${id}/events`, undefined, stop.signal);
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      opened();
      for (let rest = "";;) {
        const { done, value } = await reader.read();
        if (done) return;
        alive();
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const block of blocks) await this.happened(id, block);
      }
    } finally { clearTimeout(bell); stop.abort(); }
  }
  async happened(id, block) {
    const data = /^data: ?(.*)$/m.exec(block)?.[1];
    if (!data) return;
    const news = { id, kind: /^event: ?(\w+)$/m.exec(block)?.[1] ?? "line", data: JSON.parse(data) };
    this.room.postMessage(news);
    await this.learn(news);
  }
  learn({ id, kind, data }) { // from the stream, or from another tab
    if (id !== this.kept.id) return;
    if (kind === "line") { this.said.set(data.seq, data); this.theyType = false; }
    else if (kind === "seen") { this.kept.shown = data.seq; this.keep(); }
    else if (kind === "typing") {
      clearTimeout(this.bell);
      this.theyType = true;
      this.bell = setTimeout(() => { this.theyType = false; this.changed(); }, 6000);
    } else if (kind || !document.hidden) return this.refresh(); // a tab that nobody sees asks when somebody does
    this.changed();
  }
  types() { if (!(Date.now() - this.typedAt < 3000)) { this.typedAt = Date.now(); this.signal({ typing: true }); } }
  // Tells who answers that the visitor types, or how far they have read.
  signal(body) { if (this.status === "handoff") this.call(`conversations/${this.kept.id}/activity`, body).catch(() => {}); }

  // Wait, but not for longer than until there is reason to look again.
  async pause(ms) {
    let waker;
    await new Promise((done) => { setTimeout(done, ms * (0.7 + 0.6 * Math.random())); this.wakers.add((waker = done)); });
    this.wakers.delete(waker);
  }
  wake() {
    this.stopStream?.abort();
    for (const waker of this.wakers) waker();
    if (this.kept.id || this.unsent.length) this.refresh();
  }
  leave() { this.gone = true; this.stopStream?.abort(); this.room.close(); }

  // `body`: undefined for GET, null for a POST that says it all by its address.
  async call(path, body, signal = AbortSignal.timeout(20_000)) {
    const headers = {};
    if (body) headers["Content-Type"] = "application/json";
    if (path.startsWith("conversations/")) headers.Authorization = `Bearer ${this.kept.token}`;
    if (path.endsWith("/events")) headers["Last-Event-ID"] = String(this.place);
    const answer = await fetch(`${this.base}/widget/v1/${path}`, {
      method: body === undefined ? "GET" : "POST", body: body && JSON.stringify(body), headers, signal, credentials: "omit",
    });
    if (answer.ok) return path.endsWith("/events") ? answer : answer.json();
    const { code, detail } = await answer.json().catch(() => ({}));
    throw Object.assign(new Error(detail), { status: answer.status, code, after: Number(answer.headers.get("Retry-After")) });
  }
}
