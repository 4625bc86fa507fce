// src/shared/dom.js
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) attribute(node, name, value);
  for (const child of children) if (child) node.append(child);
  return node;
}
function attribute(node, name, value) {
  if (value === null || value === void 0 || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
    return;
  }
  const text = value === true ? "" : String(value);
  if (node.getAttribute(name) !== text) node.setAttribute(name, text);
}
function say(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
function measure(node, name, value) {
  const text = String(Math.round(value * 1e3) / 1e3);
  if (node.style.getPropertyValue(name) !== text) node.style.setProperty(name, text);
}
function button(label, classes, act, signal) {
  const node = make("button", { type: "button", class: `dvergr-button ${classes}`.trim() }, label);
  node.addEventListener("click", act, { signal });
  return node;
}
var shape = () => make("i", { class: "dvergr-shape", "aria-hidden": "true" });
function keepKeys(root, signal) {
  for (
    const type of
    /** @type {const} */
    ["keydown", "keyup", "keypress"]
  ) {
    root.addEventListener(type, (event) => event.stopPropagation(), { signal });
  }
}
function leave(root) {
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  const around = root.parentElement?.closest("[tabindex]") ?? null;
  around?.focus({ preventScroll: true });
}
function complain(el, problem) {
  const text = problem instanceof Error ? `${problem.name}: ${problem.message}` : String(problem);
  console.error(problem);
  el.replaceChildren(
    make(
      "section",
      { class: "dvergr dvergr-broken", role: "alert" },
      make("p", {}, "This view could not be drawn. The Run itself is not touched by that."),
      make("p", { class: "dvergr-error" }, text)
    )
  );
}

// src/shared/time.js
var browserTime = {
  now: () => Date.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms);
    return () => clearTimeout(timer);
  }
};
var two = (value) => String(value).padStart(2, "0");
function long(seconds) {
  const whole2 = Math.floor(seconds);
  if (whole2 < 3600) return `${Math.floor(whole2 / 60)}m ${two(whole2 % 60)}s`;
  if (whole2 < 86400) return `${Math.floor(whole2 / 3600)}h ${two(Math.floor(whole2 % 3600 / 60))}m`;
  return `${Math.floor(whole2 / 86400)}d ${two(Math.floor(whole2 % 86400 / 3600))}h`;
}
function duration(seconds) {
  const past = Math.max(0, seconds);
  if (past < 0.9995) return `${Math.round(past * 1e3)}ms`;
  if (past < 59.95) return `${past.toFixed(1)}s`;
  return long(Math.max(60, past));
}
function running(seconds) {
  const past = Math.max(0, Math.floor(seconds));
  return past < 60 ? `${past}s` : long(past);
}
function left(seconds) {
  if (seconds < 50) return `about ${Math.max(1, seconds < 10 ? Math.round(seconds) : Math.round(seconds / 5) * 5)}s left`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `about ${minutes}m left`;
  const tens = Math.round(minutes / 10) * 10;
  return `about ${Math.floor(tens / 60)}h ${two(tens % 60)}m left`;
}
function offset(seconds) {
  const tenths = Math.round(Math.max(0, seconds) * 10);
  const rest = `${two(Math.floor(tenths / 10) % 60)}.${tenths % 10}`;
  const minutes = Math.floor(tenths / 600);
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${rest}`;
}
function clock(milliseconds) {
  const at = new Date(milliseconds);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
function mark(seconds) {
  if (seconds > 0 && seconds < 1) return `${Math.round(seconds * 1e3)}ms`;
  if (seconds < 60) return `${Math.round(seconds * 10) / 10}s`;
  const [hours, minutes, rest] = [Math.floor(seconds / 3600), Math.floor(seconds % 3600 / 60), Math.round(seconds % 60)];
  const parts2 = [hours && `${hours}h`, minutes && `${minutes}m`, rest && `${rest}s`].filter(Boolean);
  return parts2.join(" ");
}
var STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200];
function marks(span) {
  const step2 = STEPS.find((each) => span / each <= 6) ?? Math.ceil(span / 6 / 86400) * 86400;
  const count2 = Math.floor(span * 0.92 / step2);
  return Array.from({ length: count2 + 1 }, (_, index) => index * step2);
}
var percent = (fraction) => `${fraction >= 1 ? 100 : Math.min(99, Math.round(fraction * 100))}%`;
var grouped = new Intl.NumberFormat("en-US");
var count = (value) => grouped.format(value);
var some = (value, word2) => `${count(value)} ${word2}${value === 1 ? "" : "s"}`;
function size(bytes) {
  if (bytes < 1e3) return some(bytes, "byte");
  return bytes < 999500 ? `${count(Math.round(bytes / 1e3))} kB` : `${count(Math.round(bytes / 1e5) / 10)} MB`;
}

// src/shared/status.js
var LIVE = /* @__PURE__ */ new Set(["queued", "running", "cancelling"]);
var PAUSES = /* @__PURE__ */ new Set(["approval", "result-review", "once-effect"]);
var PLAIN = /* @__PURE__ */ new Set(["error", "cancel-requested"]);
var SHORT = /* @__PURE__ */ new Map([
  ["budget-exhausted", "budget"],
  ["attention-suspended", "attention"],
  ["result-review", "review"],
  ["reply-emission-failed", "reply"],
  ["participant-left", "left"],
  ["structured-cancellation", "structured"]
]);
var isLive = (row) => LIVE.has(row.status);
var isTurn = (row) => row.kind === "agent-turn";
function group(row) {
  if (row.status === "cancelling") return "running";
  if (row.status === "waiting") return PAUSES.has(row.reason ?? "") ? "waiting" : "stopped";
  return (
    /** @type {Group} */
    row.status
  );
}
function state(row, presence) {
  if (isLive(row) && presence !== "live") return presence;
  return row.status === "cancelling" ? "cancelling" : group(row);
}
var words = (reason) => reason.replaceAll("-", " ");
function word(row, presence) {
  if (isLive(row)) return presence === "live" ? row.status : `kernel ${presence}`;
  const name = group(row);
  if (!row.reason || PLAIN.has(row.reason) || isTurn(row) && name === "completed") return name;
  return name === "waiting" ? `waiting for ${words(row.reason)}` : `${name}, ${words(row.reason)}`;
}
var UNSAID = /* @__PURE__ */ new Map([
  ["", "ended without a reply"],
  ["silent", "stayed silent"],
  ["withheld", "the reply was withheld"]
]);
function unsaid({ reason = "" }) {
  return UNSAID.get(reason) ?? `no reply, ${words(reason)}`;
}
function listWord(row, presence) {
  if (isLive(row)) return word(row, presence);
  const name = group(row);
  if (!row.reason || row.reason === "cancel-requested") return name;
  return `${name}, ${SHORT.get(row.reason) ?? words(row.reason)}`;
}

// src/shared/link.js
var MISSING = 2;
var GRACE = 400;
var PATIENCE = 2e3;
var SAMPLES = 8;
var Link = class {
  /** @type {Map<string, RunRow>} */
  rows = /* @__PURE__ */ new Map();
  /** @type {Map<string, TimelineWire>} */
  timelines = /* @__PURE__ */ new Map();
  /** @type {Map<string, string>} why a Run could not be cancelled, by its id */
  refusals = /* @__PURE__ */ new Map();
  /** @type {Map<string, string>} why the details of a Run could not be read, until they can */
  excuses = /* @__PURE__ */ new Map();
  /** @type {Set<string>} Runs whose Cancel was sent and not answered by their row yet */
  cancelling = /* @__PURE__ */ new Set();
  /** @type {Presence} */
  presence = "live";
  /** Whether the store holds more Runs than the rows. */
  cut = false;
  rev = -1;
  /** The kernel's time of the last message, in ms since 1970. */
  at = 0;
  /** @type {Set<(change: Change) => void>} */
  #views = /* @__PURE__ */ new Set();
  /** @type {Map<string, { type: 'cancel' | 'details', runId: string }>} acts that Python has not answered */
  #acts = /* @__PURE__ */ new Map();
  /** @type {Map<string, (answer: Answer) => void>} what to do with the answer to an act */
  #answers = /* @__PURE__ */ new Map();
  /** @type {number[]} */
  #skews = [];
  #every = 1;
  #heard = 0;
  #last;
  #suspects = false;
  #askedAt = -Infinity;
  /** @type {(() => void) | null} */
  #stopTicking = null;
  /**
   * @param {Model} model
   * @param {import('./model.d.ts').Time} [time]
   * @param {Beside | null} [beside]
   */
  constructor(model, time = browserTime, beside = null) {
    this.model = model;
    this.time = time;
    this.beside = beside;
    this.#last = time.now();
    model.on("msg:custom", (message) => this.#hear(message));
    model.on("change:snapshot", () => this.#restore());
    model.on("comm_live_update", () => void this.#judge(true));
    this.#restore();
    void this.#judge(false);
  }
  /**
   * Registers a view; it is drawn from the rows as they are, so Python is asked for the newest.
   * @param {(change: Change) => void} view
   * @param {AbortSignal} signal
   */
  watch(view, signal) {
    this.#views.add(view);
    signal.addEventListener("abort", () => this.#views.delete(view));
    this.resync();
    this.#tickOn();
  }
  /** The kernel's time now, in ms, as far as it can be told. */
  now() {
    return this.time.now() + (this.#skews.length ? Math.max(...this.#skews) : 0);
  }
  /**
   * Seconds that a Run has taken; up to when it was last heard of, where the kernel is gone. Null before it began.
   * @param {RunRow} row
   */
  took(row) {
    if (row.status === "queued") return null;
    const end = row.ended ?? (this.presence === "gone" ? this.at : this.now());
    return Math.max(0, end - row.started) / 1e3;
  }
  /** @param {string} runId */
  cancel(runId) {
    this.refusals.delete(runId);
    this.cancelling.add(runId);
    this.#act("cancel", runId);
    this.#tell({ rows: [runId] });
  }
  /** @param {string} runId */
  details(runId) {
    this.#act("details", runId);
  }
  /**
   * Sends an act of another kind; `answered` hears what became of it. With the id of an act that was sent it is the same act.
   * @param {Question} question
   * @param {(answer: Answer) => void} answered
   * @param {string} [id]
   */
  ask(question, answered, id = newId()) {
    this.#answers.set(id, answered);
    this.#send({ ...question, id });
    return id;
  }
  resync() {
    this.#askedAt = this.time.now();
    this.#send({ type: "resync", have: this.rev });
  }
  /**
   * @param {'cancel' | 'details'} type
   * @param {string} runId
   */
  #act(type, runId) {
    const id = newId();
    this.#acts.set(id, { type, runId });
    this.#send({ type, id, run_id: runId });
  }
  /** @param {import('./wire.d.ts').FromRoomView} message */
  #send(message) {
    try {
      this.model.send(message);
    } catch {
      this.#become("gone");
    }
  }
  /** @param {Change} change */
  #tell(change) {
    for (const view of [...this.#views]) view(change);
  }
  /** @param {Presence} presence */
  #become(presence) {
    if (this.presence === presence) return;
    this.presence = presence;
    this.#tell({ presence: true, rows: null });
  }
  /** The coarse state that is saved with the notebook; messages, where they come, are newer. */
  #restore() {
    const saved = parsed(this.model.get("snapshot"));
    if (saved && saved.rev > this.rev) this.#load(saved);
  }
  /** @param {Snapshot} message */
  #load(message) {
    this.beside?.load(message);
    this.rows = new Map(message.rows.map((row) => [row.id, row]));
    this.rev = message.rev;
    this.at = message.at;
    this.cut = message.cut;
    this.#settle(message.rows);
    this.#tell({ rows: null });
    this.#tickOn();
  }
  /** @param {FromPython} message */
  #hear(message) {
    this.#heard += 1;
    this.#last = this.time.now();
    this.#skews = [...this.#skews, message.at - this.#last].slice(-SAMPLES);
    this.at = Math.max(this.at, message.at);
    this.#take(message);
    this.#become("live");
  }
  /** @param {FromPython} message */
  #take(message) {
    switch (message.type) {
      case "snapshot":
        this.#askedAt = -Infinity;
        return this.#load(message);
      case "patch":
        return this.#patch(message);
      case "beat":
        this.#every = message.every_s;
        return this.#compare(message.rev);
      case "rest":
        return this.#compare(message.rev);
      case "details":
        this.#acts.delete(message.id);
        this.excuses.delete(message.run_id);
        this.timelines.set(message.run_id, message.timeline);
        return this.#tell({ details: message.run_id });
      case "whole":
      case "use":
      case "reply":
      case "ack":
        return this.#answer(message);
    }
  }
  /** @param {Patch} message */
  #patch(message) {
    if (message.rev <= this.rev) return;
    const gap = message.rev !== this.rev + 1;
    this.beside?.patch(message);
    for (const row of message.rows) this.rows.set(row.id, row);
    for (const id of message.gone) this.rows.delete(id);
    this.rev = message.rev;
    this.cut = message.cut;
    this.#settle(message.rows);
    this.#tell({ rows: message.rows.map((row) => row.id), gone: message.gone });
    this.#tickOn();
    if (gap) this.#askAgain();
  }
  /** @param {number} rev */
  #compare(rev) {
    if (rev > this.rev) this.#askAgain();
  }
  #askAgain() {
    if (this.time.now() - this.#askedAt > PATIENCE) this.resync();
  }
  /** @param {Answer} message */
  #answer(message) {
    const answered = this.#answers.get(message.id);
    this.#answers.delete(message.id);
    if (answered || message.type !== "ack") return answered?.(message);
    const act = this.#acts.get(message.id);
    if (act === void 0) return;
    this.#acts.delete(message.id);
    const { type, runId } = act;
    if (type === "details") {
      this.excuses.set(runId, message.error ?? "This Run is not shown here any more.");
      return this.#tell({ details: runId });
    }
    if (message.outcome === "requested") return;
    this.cancelling.delete(runId);
    if (message.outcome === "failed") this.refusals.set(runId, message.error ?? "it could not be done");
    this.#tell({ rows: [runId] });
  }
  /** @param {RunRow[]} rows */
  #settle(rows) {
    for (const row of rows) if (row.asked !== void 0 || !isLive(row)) this.cancelling.delete(row.id);
  }
  get #lives() {
    for (const row of this.rows.values()) if (isLive(row)) return true;
    return false;
  }
  #tickOn() {
    if (this.#stopTicking || !this.#views.size || !this.#lives) return;
    this.#stopTicking = this.time.after(1e3, () => {
      this.#stopTicking = null;
      this.#tick();
      this.#tickOn();
    });
  }
  /** Judged by what lives here: Python may have said that nothing does just before something began. */
  #tick() {
    const silent = this.time.now() - this.#last;
    if (this.presence === "live" && this.#lives && silent > (MISSING + 1) * this.#every * 1e3) this.#suspect();
    if (this.presence !== "gone") this.#tell({ tick: true });
  }
  /** A late timer proves nothing: what is queued here gets its turn and Python is asked, then silence counts. */
  #suspect() {
    if (this.#suspects) return;
    this.#suspects = true;
    const heard = this.#heard;
    this.#send({ type: "ping" });
    this.time.after(GRACE, () => {
      this.time.after(0, () => {
        this.#suspects = false;
        if (this.#heard === heard && this.presence === "live") this.#become("busy");
      });
    });
  }
  /**
   * Asks the host whether the line to the kernel is open.
   * @param {boolean} told whether the host has just said that this changed
   */
  async #judge(told) {
    const heard = this.#heard;
    const open = await isOpen(this.model);
    if (this.#heard === heard && (open === false || told && open === void 0)) this.#become("gone");
  }
};
async function isOpen(model) {
  const id = model.get("own_id");
  if (typeof id !== "string" || !id) return void 0;
  try {
    return (await model.widget_manager?.get_model?.(id))?.comm_live;
  } catch {
    return void 0;
  }
}
function parsed(text) {
  return typeof text === "string" && text ? JSON.parse(text) : null;
}
function newId() {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// src/shared/widget.js
function widget(draw, open = (model) => new Link(model)) {
  return () => {
    let link = null;
    const linked = (model) => link ??= open(model);
    return {
      /** @param {{ model: Model }} host */
      initialize({ model }) {
        try {
          linked(model);
        } catch (problem) {
          console.error(problem);
        }
      },
      /** @param {Rendering} rendering */
      render({ model, el }) {
        const ending = new AbortController();
        try {
          show(linked(model), model, el, draw, ending.signal);
        } catch (problem) {
          complain(el, problem);
        }
        return () => ending.abort();
      }
    };
  };
}
function show(link, model, el, draw, signal) {
  const view = draw(link, model, signal);
  keepKeys(view.el, signal);
  view.el.addEventListener("keydown", (event) => event.key === "Escape" && leave(view.el), { signal });
  el.replaceChildren(view.el);
  link.watch((change) => {
    try {
      view.take(change);
    } catch (problem) {
      complain(el, problem);
    }
  }, signal);
}

// src/shared/money.js
var MICRO = 1e6;
var LOW = 0.75;
function dollars(amount) {
  const digits = amount >= MICRO || amount % 1e4 === 0 ? 2 : amount >= 1e3 ? 4 : 6;
  return `$${(amount / MICRO).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
function inColumn({ cost = 0, unpriced }) {
  if (!cost) return unpriced ? "unknown" : "";
  const more = unpriced ? "+" : "";
  if (cost < 500) return `<$0.001${more}`;
  return `$${(cost / MICRO).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 })}${more}`;
}
var hasSpent = (row) => Boolean(row.cost || row.unpriced);
function gone({ budget, balance, cost = 0, ...row }) {
  if (!budget) return null;
  return (isLive(
    /** @type {RunRow} */
    row
  ) && balance !== void 0 ? budget - balance : cost) / budget;
}
function spent(row) {
  const { cost = 0, unpriced = 0, budget } = row;
  if (!cost && !unpriced) return { amount: "", rest: "", share: null, isLow: false };
  const share = gone(row);
  const isLow = share !== null && share >= LOW;
  const of = cost && budget ? ` of ${dollars(budget)}` : "";
  const others = cost && unpriced ? ` + ${some(unpriced, "call")} of unknown price` : "";
  const left2 = isLow ? share >= 1 ? ", all spent" : `, ${percent(share)} spent` : "";
  return { amount: cost ? dollars(cost) : "price unknown", rest: of + others + left2, share, isLow };
}
var Money = class {
  #amount = make("span", { class: "dvergr-amount" });
  #rest = make("span");
  #fill = make("i");
  #meter = make("span", { class: "dvergr-progress dvergr-meter", "aria-hidden": "true" }, this.#fill);
  el = make("span", { class: "dvergr-money" }, make("span", {}, this.#amount, this.#rest), this.#meter);
  /** @param {RunRow} row */
  draw(row) {
    const { amount, rest, share, isLow } = spent(row);
    this.el.hidden = !amount;
    attribute(this.el, "data-low", isLow);
    say(this.#amount, amount);
    say(this.#rest, rest);
    this.#meter.hidden = share === null;
    measure(this.#fill, "--done", Math.min(100, (share ?? 0) * 100));
  }
};

// src/shared/reply.js
var LINES = 3;
var Reply = class {
  #link;
  #text = make("p", { class: "dvergr-reply" });
  #note = make("p", { class: "dvergr-soft" });
  /** @type {HTMLButtonElement} */
  #more;
  #isOpen = false;
  /** @type {RunRow | null} */
  #row = null;
  /** @type {{ text: string, note: string } | null} all of it, once it was asked for */
  #whole = null;
  el;
  /**
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(link, signal) {
    this.#link = link;
    this.#more = button("", "dvergr-quiet dvergr-more", () => this.#turn(), signal);
    this.el = make("div", {}, this.#text, this.#note, this.#more);
  }
  /** @param {RunRow | null} row whose result it is; null: there is none */
  draw(row) {
    this.el.hidden = !row;
    if (row?.id !== this.#row?.id || row?.result !== this.#row?.result) {
      this.#whole = null;
      this.#isOpen = false;
    }
    this.#row = row;
    if (!row) return say(this.#text, "");
    attribute(this.#text, "class", row.kind.startsWith("agent") ? "dvergr-reply" : "dvergr-reply dvergr-mono");
    this.#drawText(row);
  }
  /** @param {RunRow} row */
  #drawText({ result = "", length, actor }) {
    say(this.#text, this.#isOpen && this.#whole?.text || result);
    attribute(this.#text, "data-open", this.#isOpen);
    attribute(this.#text, "tabindex", this.#isOpen ? 0 : null);
    attribute(this.#text, "role", this.#isOpen ? "group" : null);
    attribute(this.#text, "aria-label", this.#isOpen ? `All of what ${actor} said` : null);
    const note = this.#isOpen ? this.#whole?.note ?? (length ? "Reading all of it." : "") : "";
    say(this.#note, note);
    this.#note.hidden = !note;
    this.#more.hidden = !this.#isOpen && !length && !this.#isCut(result);
    attribute(this.#more, "aria-expanded", String(this.#isOpen));
    const word2 = this.#isOpen ? "Show less" : length ? `Show all, ${some(length, "character")}` : "Show all";
    say(this.#more, this.#more.hidden ? "" : word2);
  }
  /** @param {string} text whether lines of it are not seen */
  #isCut(text) {
    const { scrollHeight, clientHeight } = this.#text;
    return clientHeight ? scrollHeight > clientHeight + 1 : text.split("\n").length > LINES;
  }
  #turn() {
    this.#isOpen = !this.#isOpen;
    const row = this.#row;
    if (!row) return;
    if (this.#isOpen && row.length && !this.#whole) this.#ask(row);
    this.#drawText(row);
  }
  /** @param {RunRow} asked */
  #ask(asked) {
    this.#link.ask({ type: "reply", run_id: asked.id }, (answer) => {
      const row = this.#row;
      if (row?.id !== asked.id) return;
      if (answer.type === "reply") this.#whole = { text: answer.text, note: answer.cut ? `The first ${some(answer.text.length, "character")}; the rest is in the store.` : "" };
      else if (answer.type === "ack") this.#whole = { text: "", note: `The rest could not be read: ${answer.error ?? "the kernel does not know it"}.` };
      this.#drawText(row);
    });
  }
};

// src/shared/stream.js
var KEPT = 4;
var Stream = class {
  #text = make("p");
  #isTall = false;
  el = make("div", { class: "dvergr-stream", role: "group", "aria-live": "off", "aria-label": "Reply so far" }, this.#text);
  /**
   * @param {string | undefined} text so far, empty where nothing has come; undefined: nothing comes any more
   * @param {boolean} goesOn whether more may come
   */
  draw(text, goesOn) {
    this.#isTall &&= text !== void 0;
    say(this.#text, text ?? "");
    attribute(this.el, "data-open", goesOn);
    this.el.hidden = !text && !this.#isTall;
    this.fit();
  }
  /** Becomes tall where the text is longer than a line, and says whether lines have left at the top. */
  fit() {
    if (this.el.hidden) return attribute(this.el, "data-tall", false);
    const lines = this.#lines();
    this.#isTall ||= lines > 1;
    attribute(this.el, "data-tall", this.#isTall);
    attribute(this.el, "data-cut", lines > KEPT);
  }
  /** How many lines the text takes; where it is not on the page yet, only its breaks can tell. */
  #lines() {
    const high = this.#text.offsetHeight;
    if (high) return Math.round(high / parseFloat(getComputedStyle(this.#text).lineHeight));
    return (this.#text.textContent ?? "").split("\n").length;
  }
};

// src/shared/timeline.js
var SHAPES = {
  phase: { classes: "dvergr-round", swatch: "dvergr-swatch-round", legend: "phase of progress", bar: true },
  round: { classes: "dvergr-round", swatch: "dvergr-swatch-round", legend: "round", bar: true },
  cut: { classes: "dvergr-round dvergr-was-cut", swatch: "dvergr-swatch-cut", legend: "cut short", bar: true },
  tool: { classes: "", swatch: "", legend: "tool call", bar: true },
  failed: { classes: "dvergr-was-bad", swatch: "dvergr-swatch-bad", legend: "failed call", bar: true },
  said: { classes: "dvergr-said", swatch: "dvergr-swatch-said", legend: "message from a person", bar: false },
  tick: { classes: "dvergr-fact", swatch: "dvergr-swatch-fact", legend: "activity", bar: false },
  bad: { classes: "dvergr-fact dvergr-was-bad", swatch: "dvergr-swatch-fact dvergr-swatch-bad", legend: "error", bar: false }
};
var SHORTEST = 0.05;
var Timeline = class {
  #signal;
  /** @type {Set<string>} keys of the entries a person has opened */
  #opened = /* @__PURE__ */ new Set();
  /** @type {TimelineWire | null} */
  #drawn = null;
  /** @type {HTMLElement | null} */
  #chart = null;
  /** @type {HTMLElement | null} */
  #list = null;
  /** @type {{ node: HTMLElement, at: number }[]} bars that go on */
  #growing = [];
  /** @type {HTMLElement[]} what stands at now */
  #nows = [];
  #uses;
  el = make("div", { class: "dvergr-details" });
  /**
   * @param {AbortSignal} signal
   * @param {import('./use.js').Uses} uses
   */
  constructor(signal, uses) {
    this.#signal = signal;
    this.#uses = uses;
  }
  /**
   * Says why there is nothing to see yet.
   * @param {string} text
   */
  excuse(text) {
    this.#drawn = null;
    this.#list = null;
    this.el.replaceChildren(make("p", { class: "dvergr-soft" }, text));
  }
  /** @param {TimelineWire} timeline */
  draw(timeline) {
    const focused = this.el.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
    this.#drawn = timeline;
    this.#growing = [];
    this.#nows = [];
    this.#chart = this.#drawChart(timeline);
    const list = this.#drawList(timeline);
    const top = this.#list ? topOf(this.#list, timeline.lives) : 0;
    this.el.replaceChildren(this.#chart, legend(timeline), list);
    list.scrollTop = top;
    this.#list = list;
    this.grow(timeline.lives ? timeline.took : null);
    if (focused) [...list.querySelectorAll("[data-key]")].find((node) => node.dataset["key"] === focused)?.focus();
  }
  /**
   * Lets a Run that lives go on: the end of the chart and its open bars move to now. Null: it has ended.
   * @param {number | null} took
   */
  grow(took) {
    if (!this.#drawn || !this.#chart) return;
    const span = Math.max(took ?? this.#drawn.took, this.#drawn.took, SHORTEST);
    measure(this.#chart, "--span", span);
    for (const node of this.#nows) measure(node, "--at", span);
    for (const { node, at } of this.#growing) measure(node, "--for", Math.max(0, span - at));
    const last = this.#nows.at(-1);
    if (last) say(last, this.#drawn.lives ? running(span) : duration(this.#drawn.took));
  }
  /** @param {TimelineWire} timeline */
  #drawChart(timeline) {
    const places = marks(Math.max(timeline.took, SHORTEST));
    const label = `Progress, rounds, calls and messages over ${duration(timeline.took)}; the list below says the same in words`;
    const line = timeline.lives ? make("i", { class: "dvergr-now" }) : null;
    const now = make("span", { class: "dvergr-now" });
    this.#nows = line ? [line, now] : [now];
    return make(
      "figure",
      { class: "dvergr-timeline", role: "img", "aria-label": label },
      make("div", { class: "dvergr-scale" }, ...places.map((at) => placed("i", at)), line),
      ...timeline.lanes.map((lane) => this.#drawLane(lane)),
      make("div", { class: "dvergr-axis" }, ...places.map((at) => placed("span", at, mark(at))), now)
    );
  }
  /** @param {LaneWire} lane */
  #drawLane(lane) {
    const end = lane.took === void 0 ? count(lane.count) : duration(lane.took);
    return make(
      "div",
      { class: "dvergr-lane" },
      make("span", { class: "dvergr-cut" }, lane.name),
      make("div", { class: "dvergr-track" }, ...lane.marks.map((each) => this.#drawMark(each))),
      make("span", {}, end)
    );
  }
  /** @param {MarkWire} each */
  #drawMark(each) {
    const { classes, bar } = SHAPES[each.shape];
    const when = bar && each.took !== void 0 ? duration(each.took) : `at ${offset(each.at)}`;
    const node = make("i", { class: classes || null, title: each.title ? `${each.title}, ${when}` : when }, each.text ?? null);
    measure(node, "--at", each.at);
    if (bar && each.took === void 0) this.#growing.push({ node, at: each.at });
    else if (bar) measure(node, "--for", each.took ?? 0);
    return node;
  }
  /** @param {TimelineWire} timeline */
  #drawList(timeline) {
    const isPaid = timeline.entries.some((entry) => entry.cost !== void 0 || entry.unpriced);
    return make("ol", { class: isPaid ? "dvergr-log dvergr-paid" : "dvergr-log" }, ...timeline.entries.map((entry) => this.#drawEntry(entry)));
  }
  /** @param {EntryWire} entry */
  #drawEntry(entry) {
    const took = entry.took === void 0 || entry.goes_on ? "" : duration(entry.took);
    const text = make("span", { class: "dvergr-cut" }, make("span", { class: entry.tone === "bad" ? "dvergr-bad" : null }, entry.text));
    const item = make(
      "li",
      { class: entry.tone === "person" ? "dvergr-from-person" : null },
      entry.more || entry.use ? this.#opener(entry) : make("span", { class: "dvergr-cut" }, entry.who),
      make("span", { class: "dvergr-num dvergr-soft" }, offset(entry.at)),
      text,
      make("span", { class: "dvergr-num dvergr-soft" }, entry.goes_on ? "goes on" : took),
      make("span", { class: "dvergr-num dvergr-soft dvergr-cost" }, paidText(entry))
    );
    const below = this.#below(entry);
    if (below) item.append(below);
    return item;
  }
  /**
   * What stands below an entry that is open; null where it is not.
   * @param {EntryWire} entry
   */
  #below(entry) {
    if (entry.use) return this.#uses.below(entry.key);
    return this.#opened.has(entry.key) ? whole(entry) : null;
  }
  /** @param {EntryWire} entry */
  #open(entry) {
    if (entry.use) return this.#uses.open(entry.key, entry.who);
    this.#opened.add(entry.key);
    return whole(entry);
  }
  /** @param {EntryWire} entry */
  #close(entry) {
    this.#uses.close(entry.key);
    this.#opened.delete(entry.key);
  }
  /** @param {EntryWire} entry */
  #opener(entry) {
    const isOpen2 = this.#below(entry) !== null;
    const node = button(
      "",
      "dvergr-quiet",
      () => {
        const wasOpen = this.#below(entry) !== null;
        attribute(node, "aria-expanded", String(!wasOpen));
        if (!wasOpen) return node.parentElement?.append(this.#open(entry));
        this.#close(entry);
        node.parentElement?.querySelector(".dvergr-open")?.remove();
      },
      this.#signal
    );
    node.append(make("span", { class: "dvergr-cut" }, entry.who));
    attribute(node, "aria-expanded", String(isOpen2));
    attribute(node, "data-key", entry.key);
    if (entry.use) attribute(node, "aria-label", `${entry.who}: arguments and result`);
    if (entry.use) attribute(node, "title", `${entry.who}: arguments and result`);
    return node;
  }
};
function paidText({ cost, unpriced }) {
  if (cost === void 0) return unpriced ? "unknown" : "";
  return dollars(cost) + (unpriced ? "+" : "");
}
function topOf(list, lives) {
  const isAtEnd = list.scrollTop > 0 && list.scrollTop + list.clientHeight >= list.scrollHeight - 2;
  return lives && isAtEnd ? Number.MAX_SAFE_INTEGER : list.scrollTop;
}
var whole = (entry) => make("pre", { class: "dvergr-open" }, entry.more ?? "");
function placed(tag, at, text = null) {
  const node = make(tag, {}, text);
  measure(node, "--at", at);
  return node;
}
function legend(timeline) {
  const used = new Set(timeline.lanes.flatMap((lane) => lane.marks.map((each) => each.shape)));
  const shapes = Object.entries(SHAPES).filter(([name]) => used.has(
    /** @type {MarkWire['shape']} */
    name
  ));
  return make(
    "p",
    { class: "dvergr-legend" },
    ...shapes.map(([, { swatch, legend: text }]) => make("span", {}, make("i", { class: `dvergr-swatch ${swatch}`.trim() }), text))
  );
}

// src/shared/use.js
var PICTURE = /^data:image\/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$/;
var Uses = class {
  #ask;
  /** @type {Map<string, HTMLElement>} */
  #open = /* @__PURE__ */ new Map();
  /** @param {Ask} ask which may say at once why there will be no answer */
  constructor(ask) {
    this.#ask = ask;
  }
  /**
   * What stands below the entry, where it is open.
   * @param {string} key
   */
  below(key) {
    return this.#open.get(key) ?? null;
  }
  /**
   * @param {string} key
   * @param {string} name of the tool
   */
  open(key, name) {
    const label = `Arguments and result of ${name}`;
    const el = make("div", { class: "dvergr-use", role: "group", "aria-label": label }, soft("Reading arguments and result."));
    this.#open.set(key, el);
    const excuse = this.#ask(key, (answer) => {
      if (answer.type === "use") el.replaceChildren(...parts(answer, name));
      else el.replaceChildren(soft(`Not there: ${answer.type === "ack" && answer.error || "this view does not show that Run any more"}.`));
    });
    if (excuse) el.replaceChildren(soft(excuse));
    return el;
  }
  /** @param {string} key */
  close(key) {
    this.#open.get(key)?.remove();
    this.#open.delete(key);
  }
};
var soft = (text) => make("p", { class: "dvergr-soft" }, text);
function parts(told, name) {
  const texts = (
    /** @type {const} */
    ["arguments", "result"].flatMap((each) => part(each, told, name))
  );
  return [...texts, ...(told.blobs ?? []).map((blob, index) => shownBlob(blob, `${name}, ${index + 1}`))];
}
function part(what, told, name) {
  const text = told[what];
  const head = what === "arguments" ? "Arguments" : "Result";
  if (!text) return [soft(`${head}: none`)];
  const note = told.cut?.includes(what) ? `, the first ${count(text.length)} characters` : "";
  return [soft(head + note), make("pre", { class: "dvergr-given", tabindex: 0, role: "group", "aria-label": `${head} of ${name}` }, text)];
}
function shownBlob({ media_type: type, size: bytes, picture }, name) {
  const figure = make("figure", { class: "dvergr-blob" }, make("figcaption", { class: "dvergr-soft" }, `${type}, ${size(bytes)}`));
  if (picture && PICTURE.test(picture)) {
    const node = make("img", { alt: `Picture that ${name} gave`, decoding: "async" });
    node.addEventListener("error", () => node.replaceWith(soft("This picture cannot be drawn.")), { once: true });
    attribute(node, "src", picture);
    figure.append(node);
  }
  return figure;
}

// src/shared/card.js
var REFRESH = 2e3;
var EXPLAIN_AFTER = 1;
var DOT = " · ";
var Card = class {
  #link;
  #id;
  #open = false;
  #askedAt = -Infinity;
  #hasLived = false;
  /** @type {string | null} */
  #shownEnd = null;
  #pace = new Pace();
  #shape = shape();
  #who = make("h3", { class: "dvergr-who" });
  #word = make("span", { class: "dvergr-word", "aria-live": "polite" });
  #took = make("span", { class: "dvergr-took" });
  #label = make("p", { class: "dvergr-soft dvergr-cut" });
  #doing = make("span", { class: "dvergr-doing dvergr-cut" });
  #money = new Money();
  #slot;
  #facts = make("p", { class: "dvergr-facts" });
  #timeline;
  /** @type {HTMLButtonElement} */
  #cancel;
  /** @type {HTMLButtonElement} */
  #toggle;
  el;
  /**
   * @param {Link} link
   * @param {string} id of the Run
   * @param {AbortSignal} signal
   * @param {boolean} [open] whether the details are open from the start
   */
  constructor(link, id, signal, open = false) {
    this.#link = link;
    this.#id = id;
    this.#slot = new Slot(new Reply(link, signal));
    this.#timeline = new Timeline(signal, new Uses((use, answered) => this.#askUse(use, answered)));
    this.#cancel = button("Cancel", "", () => link.cancel(this.#id), signal);
    this.#toggle = button("Details", "dvergr-quiet", () => this.#turn(!this.#open), signal);
    const acts = make("span", { class: "dvergr-acts" }, this.#cancel, this.#toggle);
    const push = make("span", { class: "dvergr-push" });
    const head = make("header", { class: "dvergr-head" }, this.#shape, this.#who, this.#word, this.#took, this.#doing, push, this.#money.el, acts);
    this.el = make("section", { class: "dvergr dvergr-run-card" }, head, this.#label, this.#slot.el, this.#facts, this.#timeline.el);
    this.#turn(open);
  }
  get #row() {
    return this.#link.rows.get(this.#id);
  }
  /** @param {string} id of another Run, whose card this is from now on */
  follow(id) {
    this.#id = id;
    this.#hasLived = false;
    this.#shownEnd = null;
    this.#slot.draw({}, false, null);
    this.update();
    this.#turn(this.#open);
  }
  /** @param {Change} change */
  take(change) {
    if (change.details === this.#id) this.#drawDetails();
    if (change.tick) return this.#count();
    if (change.presence || !change.rows || change.rows.includes(this.#id)) this.update();
  }
  update() {
    const row = this.#row;
    if (!row) return;
    const { presence } = this.#link;
    const named = isTurn(row) ? `Run of ${row.actor}` : `Run: ${row.name}`;
    attribute(this.el, "data-state", state(row, presence));
    attribute(this.el, "aria-label", named);
    say(this.#who, row.name);
    say(this.#label, isTurn(row) ? row.label : "");
    this.#label.hidden = !this.#label.textContent;
    say(this.#word, word(row, presence));
    this.#pace.note(row, this.#link.now());
    const doing = isLive(row) && presence !== "gone" && row.doing ? `uses ${row.doing}` : "";
    say(this.#doing, doing);
    this.#doing.hidden = !doing;
    this.#money.draw(row);
    this.#hasLived ||= isLive(row);
    this.#drawCancel(row);
    this.#drawFacts(row);
    this.#count();
    this.#keepDetails(row);
  }
  /** What changes by itself: digits. */
  #count() {
    const row = this.#row;
    if (!row) return;
    const { presence } = this.#link;
    say(this.#took, tookText(row, this.#link));
    this.#slot.draw(news(row, this.#link, this.#pace), this.#hasLived, row);
    if (this.#open && presence !== "gone") this.#timeline.grow(isLive(row) ? this.#link.took(row) : null);
  }
  /** @param {RunRow} row */
  #drawCancel(row) {
    const hadFocus = document.activeElement === this.#cancel;
    this.#cancel.hidden = !isLive(row) && row.status !== "waiting";
    this.#cancel.disabled = this.#link.presence === "gone" || row.status === "cancelling" || this.#link.cancelling.has(row.id);
    if (hadFocus && (this.#cancel.hidden || this.#cancel.disabled)) this.#toggle.focus({ preventScroll: true });
  }
  /** @param {RunRow} row */
  #drawFacts(row) {
    const id = this.#facts.lastElementChild ?? make("span", { class: "dvergr-mono" });
    say(id, row.short);
    const text = [...facts(row), ""].join(DOT);
    if (this.#facts.firstChild?.textContent !== text) this.#facts.replaceChildren(text, id);
  }
  /** @param {boolean} open */
  #turn(open) {
    this.#open = open;
    attribute(this.#toggle, "aria-expanded", String(open));
    this.#timeline.el.hidden = !open;
    if (!open) return;
    this.#ask();
    this.#drawDetails();
  }
  /**
   * @param {string} useId
   * @param {import('./use.js').Answered} answered
   */
  #askUse(useId, answered) {
    this.#link.ask({ type: "use", run_id: this.#id, use_id: useId }, answered);
    return this.#link.presence === "gone" ? EXCUSES.gone : "";
  }
  #ask() {
    this.#askedAt = this.#link.time.now();
    this.#link.details(this.#id);
  }
  /**
   * Asks again while it lives, not often, and once when it has ended.
   * @param {RunRow} row
   */
  #keepDetails(row) {
    const end = isLive(row) ? null : `${row.status} ${row.ended ?? ""}`;
    const ended2 = end !== null && end !== this.#shownEnd;
    this.#shownEnd = end;
    if (!this.#open) return;
    if (ended2 || end === null && this.#link.time.now() - this.#askedAt > REFRESH) this.#ask();
    if (!this.#link.timelines.has(this.#id)) this.#drawDetails();
  }
  #drawDetails() {
    if (!this.#open) return;
    const timeline = this.#link.timelines.get(this.#id);
    if (timeline) this.#timeline.draw(timeline);
    else this.#timeline.excuse(this.#link.excuses.get(this.#id) ?? EXCUSES[this.#link.presence]);
    this.#count();
  }
};
var EXCUSES = {
  live: "Reading what happened.",
  busy: "The kernel is busy; the details come when its cell ends.",
  gone: "The kernel is gone; the details are in the store, and %card in the next kernel shows them."
};
var Slot = class {
  #label = make("span", { class: "dvergr-cut" });
  #fill = make("i");
  #bar = make("span", { class: "dvergr-progress", role: "progressbar", "aria-valuemin": 0 }, this.#fill);
  #note = make("span", { class: "dvergr-soft" });
  #said = make("span", { class: "dvergr-said dvergr-mono dvergr-cut" });
  #step = make("div", { class: "dvergr-step" }, this.#label, this.#bar, this.#note, this.#said);
  #sentence = make("p");
  #error = make("p", { class: "dvergr-error dvergr-cut" });
  #reply;
  #stream = new Stream();
  el;
  /** @param {Reply} reply */
  constructor(reply) {
    this.#reply = reply;
    this.el = make("div", { class: "dvergr-slot" }, this.#step, this.#sentence, this.#error, reply.el, this.#stream.el);
  }
  /**
   * @param {News} news
   * @param {boolean} kept whether the line stays where there is nothing to say
   * @param {RunRow | null} row
   */
  draw(news2, kept, row) {
    this.#line(this.#sentence, news2.sentence);
    attribute(this.#sentence, "class", news2.soft ? "dvergr-soft" : null);
    this.#line(this.#error, news2.error);
    this.#reply.draw(news2.reply ? row : null);
    this.#stream.draw(news2.stream, news2.open ?? false);
    this.#step.hidden = !news2.step && !news2.said;
    this.#line(this.#said, news2.said);
    this.#line(this.#label, news2.step?.label);
    this.#line(this.#note, news2.step?.note);
    this.#drawBar(news2.step);
    this.el.hidden = !kept && !Object.keys(news2).length;
  }
  /**
   * @param {HTMLElement} node
   * @param {string | undefined} text
   */
  #line(node, text) {
    node.hidden = !text;
    say(node, text ?? "");
  }
  /** @param {News['step']} step */
  #drawBar(step2) {
    const fraction = step2?.fraction ?? null;
    this.#bar.hidden = fraction === null;
    if (!step2 || fraction === null) return;
    measure(this.#fill, "--done", fraction * 100);
    attribute(this.#bar, "aria-label", step2.label || "progress");
    attribute(this.#bar, "aria-valuemax", step2.total);
    attribute(this.#bar, "aria-valuenow", step2.done);
  }
};
var Pace = class {
  #fraction = -1;
  #at = 0;
  /**
   * @param {RunRow} row
   * @param {number} now
   */
  note(row, now) {
    const fraction = row.progress?.fraction ?? -1;
    if (fraction === this.#fraction) return;
    this.#fraction = fraction;
    this.#at = now;
  }
  /**
   * Seconds left at the pace so far, null where it cannot be told yet.
   * @param {RunRow} row
   * @param {number} now
   */
  left(row, now) {
    const spent2 = (this.#at - row.started) / 1e3;
    if (this.#fraction < 0.02 || this.#fraction >= 1 || spent2 < 2) return null;
    const rest = spent2 * (1 - this.#fraction) / this.#fraction - (now - this.#at) / 1e3;
    return rest > 0 ? rest : null;
  }
};
function tookText(row, link) {
  if (isLive(row) && link.presence === "gone") return `last seen ${clock(link.at)}`;
  const seconds = link.took(row);
  if (seconds === null) return "";
  return isLive(row) ? running(seconds) : duration(seconds);
}
function news(row, link, pace) {
  const refused = link.refusals.get(row.id);
  if (refused) return { error: refused };
  if (!isLive(row)) return ended(row, link.timelines.get(row.id));
  const sentence = expected(row, link);
  const found = {};
  if (isTurn(row)) Object.assign(found, { stream: row.said ?? "", open: link.presence === "live" });
  if (sentence) return { ...found, sentence };
  if (row.progress) found.step = step(row, link, pace);
  if (row.said && !isTurn(row)) found.said = row.said;
  return found;
}
function ended(row, timeline) {
  if (row.error && row.status === "failed") return { error: row.error };
  if (row.reason === "attention-suspended") return { sentence: SUSPENDED };
  if (row.result) return { reply: true };
  if (isTurn(row)) {
    if (row.status !== "completed") return {};
    const isMute = row.reason || row.mute || timeline && !timeline.lives && !timeline.result;
    if (isMute) return { sentence: unsaid(row), soft: true };
    return row.said ? { stream: row.said } : {};
  }
  return row.said ? { said: row.said } : {};
}
var SUSPENDED = "It stopped for a message that it attended to. A new message in this thread starts a new Run.";
function expected(row, link) {
  if (link.presence === "gone") {
    if (row.status === "queued") return "Was queued. It had not begun, so nothing of it was stored.";
    return `Was ${row.status}, ${running(link.took(row) ?? 0)}. The next kernel that opens this store marks it failed, orphaned.`;
  }
  if (row.status === "queued" && isTurn(row) && link.now() - row.created > EXPLAIN_AFTER * 1e3) {
    return `${row.actor} works on something else; this begins when that has ended.`;
  }
  if (link.cancelling.has(row.id) && link.presence === "busy") return "Cancel was sent; the kernel takes it when its cell ends.";
  if (row.asked === void 0) return null;
  const ago = (link.now() - row.asked) / 1e3;
  if (ago < EXPLAIN_AFTER) return null;
  const since = `Cancel requested ${running(ago)} ago`;
  if (row.checks === false) return `${since}; the function does not check. It ends when the function returns.`;
  return `${since}. It ends at its next check.`;
}
function step(row, link, pace) {
  const { label = "", done, total, fraction = null } = row.progress ?? {};
  const figures = done === void 0 ? "" : total === void 0 ? count(done) : `${count(done)} of ${count(total)}`;
  const rest = fraction === null ? null : pace.left(row, link.now());
  const note = [fraction === null ? "" : percent(fraction), rest === null ? "" : left(rest)];
  const found = { label: label || figures, fraction, note: note.filter(Boolean).join(", ") };
  if (fraction === null && label && figures) found.note = figures;
  if (done !== void 0) found.done = done;
  if (total !== void 0) found.total = total;
  return found;
}
function facts(row) {
  const kind = row.kind === "workflow" ? "job" : row.kind.replaceAll("-", " ");
  const what = isTurn(row) ? row.steps ? some(row.steps, "round") : "" : `${kind} of ${row.actor}`;
  const place = row.place === "thread" && isLive(row) ? "worker thread" : "";
  const reason = row.status === "failed" && row.reason === "error" ? "error" : "";
  const messages = !row.activities ? "" : some(row.activities, "correlated activity message");
  return [row.profile ?? "", row.program ?? "", what, place, reason, messages, ...row.tags ?? []].filter(Boolean);
}

// src/run_board/row.js
var COLUMNS = [
  ["state", ""],
  ["actor", "dvergr-half"],
  ["label", ""],
  ["done", "dvergr-half"],
  ["steps", "dvergr-num dvergr-wide"],
  ["cost", "dvergr-num dvergr-half dvergr-cost"],
  ["took", "dvergr-num"],
  ["began", "dvergr-num dvergr-wide"],
  ["", "dvergr-half"]
];
function heads() {
  const cells = COLUMNS.map(([name, classes]) => make("span", { class: classes || null, role: "columnheader" }, name));
  return make("div", { class: "dvergr-row dvergr-heads", role: "row", "aria-rowindex": 1 }, ...cells);
}
var cell = (classes) => make("span", { class: classes, role: "gridcell" });
var Row = class {
  #word = make("span", { class: "dvergr-word dvergr-cut" });
  #actor = cell("dvergr-cut dvergr-half");
  #label = cell("dvergr-cut");
  #fill = make("i");
  #bar = make("span", { class: "dvergr-progress dvergr-meter dvergr-wide", "aria-hidden": "true" }, this.#fill);
  #percent = make("span", { class: "dvergr-num" });
  #steps = cell("dvergr-num dvergr-wide");
  #cost = cell("dvergr-num dvergr-half dvergr-cost");
  #took = cell("dvergr-num");
  #began = cell("dvergr-num dvergr-soft dvergr-wide");
  /** @type {HTMLButtonElement} */
  #cancel;
  el;
  /**
   * @param {string} id
   * @param {AbortSignal} signal
   * @param {{ open: () => void, cancel: () => void }} acts
   */
  constructor(id, signal, acts) {
    this.#cancel = button("Cancel", "dvergr-quiet", acts.cancel, signal);
    const named = make("span", { class: "dvergr-state", role: "gridcell" }, shape(), this.#word);
    const share = make("span", { class: "dvergr-share dvergr-half", role: "gridcell" }, this.#bar, this.#percent);
    const last = make("span", { class: "dvergr-num dvergr-half", role: "gridcell" }, this.#cancel);
    const cells = [named, this.#actor, this.#label, share, this.#steps, this.#cost, this.#took, this.#began, last];
    this.el = make("div", { class: "dvergr-row", role: "row", "data-id": id }, ...cells);
    const click = (event) => {
      if (!this.#cancel.contains(
        /** @type {Node} */
        event.target
      )) acts.open();
    };
    this.el.addEventListener("click", click, { signal });
  }
  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {number} place counted from 0
   * @param {boolean} isCurrent whether Tab reaches it
   */
  update(row, link, place, isCurrent) {
    attribute(this.el, "data-state", state(row, link.presence));
    attribute(this.el, "aria-rowindex", place + 2);
    attribute(this.el, "tabindex", isCurrent ? 0 : -1);
    measure(this.el, "--place", place);
    say(this.#word, listWord(row, link.presence));
    say(this.#actor, row.actor);
    say(this.#label, row.label);
    this.#drawShare(row.progress?.fraction);
    say(this.#steps, row.steps ? count(row.steps) : "");
    say(this.#cost, inColumn(row));
    say(this.#began, row.status === "queued" ? "" : clock(row.started));
    this.#drawCancel(row, link, isCurrent);
    this.count(row, link);
  }
  /**
   * @param {RunRow} row
   * @param {Link} link
   */
  count(row, link) {
    const seconds = link.took(row);
    say(this.#took, seconds === null ? "" : isLive(row) ? running(seconds) : duration(seconds));
  }
  /** @param {boolean} isOpen whether its details are open */
  mark(isOpen2) {
    attribute(this.el, "aria-selected", isOpen2 ? "true" : null);
  }
  focusCancel() {
    if (!this.#cancel.hidden && !this.#cancel.disabled) this.#cancel.focus();
  }
  /** @param {number | undefined} fraction */
  #drawShare(fraction) {
    this.#bar.hidden = fraction === void 0;
    say(this.#percent, fraction === void 0 ? "" : percent(fraction));
    measure(this.#fill, "--done", (fraction ?? 0) * 100);
  }
  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {boolean} isCurrent
   */
  #drawCancel(row, link, isCurrent) {
    const hadFocus = document.activeElement === this.#cancel;
    this.#cancel.hidden = !isLive(row) && row.status !== "waiting";
    this.#cancel.disabled = link.presence === "gone" || row.status === "cancelling" || link.cancelling.has(row.id);
    attribute(this.#cancel, "tabindex", isCurrent ? 0 : -1);
    attribute(this.#cancel, "aria-label", `Cancel ${row.name}`);
    if (hadFocus && (this.#cancel.hidden || this.#cancel.disabled)) this.el.focus({ preventScroll: true });
  }
};

// src/run_board/list.js
var VIEW = 14;
var SPARE = 3;
var List = class {
  #link;
  #signal;
  #acts;
  /** @type {string[]} */
  #ids = [];
  /** @type {Map<string, number>} */
  #places = /* @__PURE__ */ new Map();
  /** @type {Map<string, Row>} rows that exist */
  #rows = /* @__PURE__ */ new Map();
  /** @type {string | null} the row that Tab reaches */
  #current = null;
  /** @type {string | null} */
  #opened = null;
  /** Where the list was scrolled to, in px, when the rows in view were last made. */
  #top = 0;
  #body = make("div", { class: "dvergr-body", role: "rowgroup" });
  #scroller = make("div", { class: "dvergr-scroller", tabindex: -1 }, this.#body);
  #thumb = make("i", { class: "dvergr-thumb", "aria-hidden": "true" });
  #window = make("div", { class: "dvergr-window" }, this.#scroller, this.#thumb);
  el = make("div", { class: "dvergr-rows", role: "grid", "aria-label": "Runs" }, heads(), this.#window);
  /**
   * @param {Link} link
   * @param {AbortSignal} signal
   * @param {{ open: (id: string) => void, moved: () => void }} acts
   */
  constructor(link, signal, acts) {
    this.#link = link;
    this.#signal = signal;
    this.#acts = acts;
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    this.#body.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#body.addEventListener("focusin", (event) => this.#focused(event), { signal });
    this.#body.addEventListener("focusout", () => link.time.after(0, () => acts.moved()), { signal });
    this.#thumb.addEventListener("pointerdown", (event) => this.#drag(event), { signal });
  }
  /** Whether the order must not change: a row has focus, or the list is scrolled. */
  get isHeld() {
    return this.#scroller.scrollTop > 1 || this.#body.contains(document.activeElement);
  }
  /** First and last row in view, counted from 1: never a row that is not drawn yet, which the foot would name. */
  get range() {
    const first = Math.min(this.#ids.length, Math.floor(this.#top / this.#height + 0.5) + 1);
    return { first, last: Math.min(this.#ids.length, first + VIEW - 1) };
  }
  get opened() {
    return this.#opened;
  }
  /** The row whose details are open. */
  set opened(id) {
    const before = this.#opened;
    this.#opened = id;
    for (const each of [before, id]) if (each) this.#rows.get(each)?.mark(each === id);
  }
  /** A row's height in px, of the sizes in use. */
  get #height() {
    const size2 = Number.parseFloat(getComputedStyle(this.el).getPropertyValue("font-size")) || 13;
    return size2 * 24 / 13;
  }
  /** @param {string[]} ids */
  draw(ids) {
    if (ids !== this.#ids) {
      this.#ids = ids;
      this.#places = new Map(ids.map((id, index) => [id, index]));
      if (!this.#current || !this.#places.has(this.#current)) this.#current = ids[0] ?? null;
      attribute(this.el, "aria-rowcount", ids.length + 1);
      measure(this.el, "--rows", ids.length);
      measure(this.el, "--view", Math.min(VIEW, Math.max(1, ids.length)));
    }
    for (const [id, row] of this.#rows) this.#fill(id, row);
    this.#mount();
    this.#drawThumb();
  }
  /** What changes by itself: digits. */
  count() {
    for (const [id, row] of this.#rows) {
      const data = this.#link.rows.get(id);
      if (data && isLive(data)) row.count(data, this.#link);
    }
  }
  toTop() {
    this.#scroller.scrollTop = 0;
  }
  focusFirst() {
    const [first] = this.#ids;
    if (first) this.focus(first);
  }
  /** @param {string} id */
  focus(id) {
    if (!this.#places.has(id)) return;
    this.#setCurrent(id);
    this.#reveal(id);
    this.#scrolled();
    this.#rows.get(id)?.el.focus({ preventScroll: true });
  }
  #scrolled() {
    this.#mount();
    this.#drawThumb();
    this.#acts.moved();
  }
  /** Makes the rows in view and those near it, keeps the one that has focus, and lets the others go. */
  #mount() {
    this.#top = this.#scroller.scrollTop;
    const top = Math.floor(this.#top / this.#height);
    const wanted = new Set(this.#ids.slice(Math.max(0, top - SPARE), top + VIEW + 1 + SPARE));
    if (this.#current) wanted.add(this.#current);
    for (const [id, row] of this.#rows) {
      if (wanted.has(id)) continue;
      row.el.remove();
      this.#rows.delete(id);
    }
    for (const id of wanted) if (!this.#rows.has(id)) this.#add(id);
  }
  /** @param {string} id */
  #add(id) {
    const row = new Row(id, this.#signal, { open: () => this.#acts.open(id), cancel: () => this.#link.cancel(id) });
    this.#rows.set(id, row);
    row.mark(id === this.#opened);
    this.#fill(id, row);
    const place = this.#places.get(id) ?? 0;
    const next = [...this.#body.children].find((node) => Number(node.getAttribute("aria-rowindex")) > place + 2);
    this.#body.insertBefore(row.el, next ?? null);
  }
  /**
   * @param {string} id
   * @param {Row} row
   */
  #fill(id, row) {
    const data = this.#link.rows.get(id);
    if (data) row.update(data, this.#link, this.#places.get(id) ?? 0, id === this.#current);
  }
  #drawThumb() {
    const share = VIEW / Math.max(1, this.#ids.length);
    this.#thumb.hidden = share >= 1;
    const whole2 = this.#height * this.#ids.length;
    const view = this.#height * VIEW;
    const most = Math.max(1, whole2 - view);
    const done = Math.min(1, this.#scroller.scrollTop / most);
    const length = Math.max(24, view * share);
    measure(this.#thumb, "--top", done * (view - length));
    measure(this.#thumb, "--length", length);
    attribute(this.#window, "data-long", share < 1);
    attribute(this.#window, "data-more", share < 1 && done < 0.9999);
  }
  /** @param {PointerEvent} event */
  #drag(event) {
    event.preventDefault();
    const from = { y: event.clientY, top: this.#scroller.scrollTop };
    const view = this.#height * VIEW;
    const length = Math.max(24, view * VIEW / this.#ids.length);
    const ratio = (this.#height * this.#ids.length - view) / Math.max(1, view - length);
    const ending = new AbortController();
    const stop = () => ending.abort();
    const move = (moved) => {
      this.#scroller.scrollTop = from.top + (moved.clientY - from.y) * ratio;
    };
    window.addEventListener("pointermove", move, { signal: AbortSignal.any([ending.signal, this.#signal]) });
    window.addEventListener("pointerup", stop, { signal: ending.signal });
    window.addEventListener("pointercancel", stop, { signal: ending.signal });
  }
  /** @param {FocusEvent} event */
  #focused(event) {
    const id = (
      /** @type {HTMLElement} */
      event.target.closest("[data-id]")?.getAttribute("data-id")
    );
    if (id) this.#setCurrent(id);
  }
  /** @param {string} id */
  #setCurrent(id) {
    const before = this.#current;
    this.#current = id;
    for (const each of [before, id]) {
      const row = each && this.#rows.get(each);
      if (each && row) this.#fill(each, row);
    }
  }
  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !this.#current) return;
    const row = this.#rows.get(this.#current);
    const at = this.#places.get(this.#current) ?? 0;
    const to = target(event.key, at, this.#ids.length);
    if (to !== null) {
      const id = this.#ids[to];
      if (id) this.focus(id);
    } else if (event.key === "Enter" && event.target === row?.el) this.#acts.open(this.#current);
    else if (event.key === "ArrowRight") row?.focusCancel();
    else if (event.key === "ArrowLeft") row?.el.focus();
    else return;
    event.preventDefault();
  }
  /** @param {string} id */
  #reveal(id) {
    const height = this.#height;
    const at = (this.#places.get(id) ?? 0) * height;
    const top = this.#scroller.scrollTop;
    if (at < top) this.#scroller.scrollTop = at;
    else if (at + height > top + VIEW * height) this.#scroller.scrollTop = at + height - VIEW * height;
  }
};
function target(key, at, length) {
  const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + VIEW, PageUp: at - VIEW, Home: 0, End: length - 1 };
  const to = moves[key];
  return to === void 0 ? null : Math.min(length - 1, Math.max(0, to));
}

// src/run_board/order.js
var Order = class {
  /** @type {string[]} ids in the order shown */
  shown = [];
  /** @type {string[]} ids that would stand above */
  waiting = [];
  /** @type {Group | 'all'} */
  only = "all";
  /** Whether something was held back from a person who reads. */
  isBehind = false;
  #text = "";
  #isStale = true;
  #known = /* @__PURE__ */ new Set();
  /** Whether nothing is filtered. */
  get isWhole() {
    return this.only === "all" && !this.#text;
  }
  /**
   * @param {Group | 'all'} only
   * @param {string} text that actor, label, room or a tag must hold
   */
  filter(only, text) {
    this.only = only;
    this.#text = text.trim().toLowerCase();
    this.shown = [];
    this.#isStale = true;
  }
  /**
   * All rows may be others.
   * @param {Map<string, RunRow>} rows
   */
  keep(rows) {
    this.shown = this.shown.filter((id) => rows.has(id));
    this.#isStale = true;
  }
  /**
   * Some rows changed or left. Only a row that comes, leaves, or changes its group can change the list.
   * @param {string[]} changed
   * @param {string[]} gone
   * @param {Map<string, RunRow>} rows
   */
  take(changed, gone2, rows) {
    if (gone2.length) this.keep(rows);
    this.#isStale ||= !this.isWhole || changed.some((id) => !this.#known.has(id));
  }
  /**
   * Brings the list up to date; where it is held, what is new waits above, and what no longer fits stays.
   * @param {Map<string, RunRow>} rows
   * @param {boolean} isHeld
   */
  settle(rows, isHeld) {
    if (!this.#isStale && (isHeld || !this.isBehind)) return;
    this.#isStale = false;
    this.#known = new Set(rows.keys());
    const fitting = [...rows.values()].filter((row) => this.#fits(row)).sort(newestFirst).map((row) => row.id);
    this.isBehind = isHeld && this.shown.length > 0;
    if (!this.isBehind) {
      this.shown = fitting;
      this.waiting = [];
      return;
    }
    const here = new Set(this.shown);
    const lowest = fitting.findLastIndex((id) => here.has(id));
    this.waiting = fitting.filter((id, index) => !here.has(id) && index < lowest);
    this.shown = [...this.shown, ...fitting.filter((id, index) => !here.has(id) && index > lowest)];
  }
  /** @param {RunRow} row */
  #fits(row) {
    if (this.only !== "all" && group(row) !== this.only) return false;
    if (!this.#text) return true;
    const fields = [row.actor, row.label, row.room, row.short, ...row.tags ?? []];
    return fields.some((field) => field.toLowerCase().includes(this.#text));
  }
};
function newestFirst(one, other) {
  return other.created - one.created || (one.id < other.id ? 1 : -1);
}

// src/run_board/view.js
var CHIPS = [
  { label: "Open", groups: ["queued", "running", "waiting", "stopped"] },
  { label: "Ended", groups: ["failed", "cancelled", "completed"] }
];
var Board = class {
  #link;
  #signal;
  #order = new Order();
  #list;
  /** @type {Map<Group | 'all', { node: HTMLButtonElement, count: HTMLElement }>} */
  #chips = /* @__PURE__ */ new Map();
  /** @type {AbortController | null} ends the card of the opened row */
  #opening = null;
  /** @type {Card | null} */
  #card = null;
  #isDrawing = false;
  /** Whether anything was spent: from then on there is a column for it. */
  #hasSpent = false;
  #field = make("input", { class: "dvergr-field", type: "search", placeholder: "Actor, label or tag", "aria-label": "Filter" });
  #range = make("span");
  #above;
  #asOf = make("span");
  #details = make("div", { class: "dvergr-below" });
  el;
  /**
   * @param {Link} link
   * @param {string} room whose Runs it shows, empty for all
   * @param {AbortSignal} signal
   */
  constructor(link, room, signal) {
    this.#link = link;
    this.#signal = signal;
    this.#above = button("", "dvergr-quiet", (event) => this.#showNew(event.detail === 0), signal);
    this.#list = new List(link, signal, { open: (id) => this.#toggle(id), moved: () => this.#moved() });
    const foot = make("footer", { class: "dvergr-foot" }, this.#range, this.#above, this.#asOf);
    this.el = make(
      "section",
      { class: "dvergr dvergr-run-board", "aria-label": room ? `Runs of room ${room}` : "Runs" },
      make("header", { class: "dvergr-bar" }, ...CHIPS.map((each, index) => this.#makeChips(each, index)), this.#field),
      this.#list.el,
      foot,
      this.#details
    );
    this.el.addEventListener("keydown", (event) => this.#leaveDetails(event), { signal });
    this.#field.addEventListener("input", () => this.#filter(), { signal });
    this.#field.addEventListener("keydown", (event) => this.#leaveField(event), { signal });
  }
  /** @param {Change} change */
  take(change) {
    this.#card?.take(change);
    if (change.tick) {
      this.#list.count();
      return this.#drawFoot();
    }
    if (change.details) return;
    if (change.rows === null) this.#order.keep(this.#link.rows);
    else this.#order.take(change.rows ?? [], change.gone ?? [], this.#link.rows);
    this.#drawSoon();
  }
  update() {
    this.#order.keep(this.#link.rows);
    this.#draw();
  }
  /** Many messages may come between two pictures; one of them is drawn. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    this.#link.time.after(16, () => {
      this.#isDrawing = false;
      if (!this.#signal.aborted) this.#draw();
    });
  }
  #draw() {
    this.#order.settle(this.#link.rows, this.#list.isHeld);
    this.#hasSpent ||= [...this.#link.rows.values()].some(hasSpent);
    attribute(this.el, "data-money", this.#hasSpent);
    this.#list.draw(this.#order.shown);
    this.#drawChips();
    this.#drawFoot();
  }
  #moved() {
    if (this.#order.isBehind && !this.#list.isHeld) this.#draw();
    else this.#drawFoot();
  }
  /** @param {boolean} byKey whether the keyboard pressed it, which then goes on at the first row */
  #showNew(byKey) {
    this.#order.settle(this.#link.rows, false);
    this.#list.toTop();
    this.#list.draw(this.#order.shown);
    if (byKey) this.#list.focusFirst();
    this.#drawFoot();
  }
  #filter() {
    this.#order.filter(this.#order.only, this.#field.value);
    this.#list.toTop();
    this.#draw();
  }
  /** @param {KeyboardEvent} event */
  #leaveField(event) {
    if (event.key !== "Escape" || !this.#field.value) return;
    event.stopPropagation();
    event.preventDefault();
    this.#field.value = "";
    this.#filter();
  }
  /**
   * @param {{ label: string, groups: Group[] }} chips
   * @param {number} index
   */
  #makeChips({ label, groups }, index) {
    const box = make("span", { class: "dvergr-chips", role: "group", "aria-label": label });
    if (index === 0) box.append(this.#makeChip("all"));
    for (const name of groups) box.append(this.#makeChip(name));
    return box;
  }
  /** @param {Group | 'all'} name */
  #makeChip(name) {
    const node = button("", "", () => this.#press(name), this.#signal);
    const counted = make("span", { class: "dvergr-count" });
    if (name !== "all") attribute(node, "data-state", name);
    node.append(...name === "all" ? [] : [shape()], make("span", {}, name), counted);
    this.#chips.set(name, { node, count: counted });
    return node;
  }
  /** @param {Group | 'all'} name */
  #press(name) {
    this.#order.filter(name === this.#order.only ? "all" : name, this.#field.value);
    this.#list.toTop();
    this.#draw();
  }
  #drawChips() {
    const counts = /* @__PURE__ */ new Map([["all", this.#link.rows.size]]);
    for (const row of this.#link.rows.values()) counts.set(group(row), (counts.get(group(row)) ?? 0) + 1);
    for (const [name, chip] of this.#chips) {
      const pressed = name === this.#order.only;
      say(chip.count, count(counts.get(name) ?? 0));
      attribute(chip.node, "aria-pressed", String(pressed));
      chip.node.hidden = name !== "all" && !counts.get(name) && !pressed;
    }
    for (const { node } of this.#chips.values()) {
      const box = (
        /** @type {HTMLElement} */
        node.parentElement
      );
      box.hidden = [...box.children].every((chip) => (
        /** @type {HTMLElement} */
        chip.hidden
      ));
    }
  }
  #drawFoot() {
    const { first, last } = this.#list.range;
    const total = this.#order.shown.length;
    const isNewest = this.#link.cut && this.#order.isWhole;
    const of = `${isNewest ? "the newest " : ""}${count(total)}`;
    say(this.#range, total ? `rows ${count(first)} to ${count(last)} of ${of}, newest first` : this.#empty());
    const above = this.#order.waiting.length;
    this.#above.hidden = !above;
    say(this.#above, above ? `${count(above)} new above` : "");
    say(this.#asOf, this.#asOfText());
  }
  #empty() {
    return this.#link.rows.size ? "No Run is like that." : "No Runs yet; one that starts appears here.";
  }
  #asOfText() {
    const { presence, at } = this.#link;
    if (!at) return "";
    if (presence === "gone") return `kernel gone, last seen ${clock(at)}`;
    return presence === "busy" ? `kernel busy, as of ${clock(at)}` : `as of ${clock(at)}`;
  }
  /** @param {string} id */
  #toggle(id) {
    const wasOpen = this.#list.opened === id;
    this.#close();
    if (wasOpen) return;
    this.#opening = new AbortController();
    this.#card = new Card(this.#link, id, this.#opening.signal, true);
    this.#card.update();
    this.#details.append(this.#card.el);
    this.#card.el.scrollIntoView?.({ block: "nearest" });
    this.#list.opened = id;
  }
  #close() {
    this.#opening?.abort();
    this.#card?.el.remove();
    this.#card = null;
    this.#list.opened = null;
  }
  /**
   * Escape leaves the details first, then the board.
   * @param {KeyboardEvent} event
   */
  #leaveDetails(event) {
    const id = this.#list.opened;
    if (event.key !== "Escape" || !id) return;
    event.stopImmediatePropagation();
    this.#close();
    this.#list.focus(id);
  }
};

// src/run_board/widget.js
var widget_default = widget((link, model, signal) => {
  const board = new Board(link, String(model.get("room") ?? ""), signal);
  board.update();
  return { el: board.el, take: (change) => board.take(change) };
});
export {
  widget_default as default
};
