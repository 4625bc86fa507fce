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
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 86400) return `${Math.floor(whole / 3600)}h ${two(Math.floor(whole % 3600 / 60))}m`;
  return `${Math.floor(whole / 86400)}d ${two(Math.floor(whole % 86400 / 3600))}h`;
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
function clock(milliseconds) {
  const at = new Date(milliseconds);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
var percent = (fraction) => `${fraction >= 1 ? 100 : Math.min(99, Math.round(fraction * 100))}%`;
var grouped = new Intl.NumberFormat("en-US");
var count = (value) => grouped.format(value);
var some = (value, word2) => `${count(value)} ${word2}${value === 1 ? "" : "s"}`;

// src/shared/status.js
var LIVE = /* @__PURE__ */ new Set(["queued", "running", "cancelling"]);
var PAUSES = /* @__PURE__ */ new Set(["approval", "result-review", "once-effect"]);
var PLAIN = /* @__PURE__ */ new Set(["error", "cancel-requested"]);
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
  ask(question, answered2, id = newId()) {
    this.#answers.set(id, answered2);
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
    const answered2 = this.#answers.get(message.id);
    this.#answers.delete(message.id);
    if (answered2 || message.type !== "ack") return answered2?.(message);
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

// src/room_view/talk.js
var Talk = class {
  title = "";
  closed = false;
  /** @type {PresentWire[]} */
  present = [];
  /** How many more take part than are named. */
  others = 0;
  /** Whether the store holds messages before the first one. */
  older = false;
  /** @type {Map<string, SaidWire>} */
  said = /* @__PURE__ */ new Map();
  /** @type {UnansweredWire[]} */
  unanswered = [];
  #keep = Infinity;
  /** @type {Thread[] | null} */
  #threads = null;
  /** @param {Snapshot} message */
  load(message) {
    if (!("room" in message)) return;
    this.said = /* @__PURE__ */ new Map();
    this.#take(message.room);
  }
  /** @param {Patch} message */
  patch(message) {
    if ("room" in message && message.room) this.#take(message.room);
  }
  /** Threads by their first known message; each ends with its newest. */
  get threads() {
    return this.#threads ??= this.#sorted();
  }
  /** @param {RoomWire} news */
  #take(news) {
    this.title = news.title ?? this.title;
    this.closed = news.closed ?? this.closed;
    this.present = news.present ?? this.present;
    this.others = news.others ?? this.others;
    this.older = news.older ?? this.older;
    this.unanswered = news.unanswered ?? this.unanswered;
    this.#keep = news.keep ?? this.#keep;
    if (!news.said) return;
    for (const said of news.said) this.said.set(said.id, said);
    this.#forget();
    this.#threads = null;
  }
  /** Python does the same: what is too much is let go, the oldest first. */
  #forget() {
    if (this.said.size <= this.#keep) return;
    const kept = [...this.said.values()].sort(oldestFirst).slice(-this.#keep);
    this.said = new Map(kept.map((said) => [said.id, said]));
    this.older = true;
  }
  #sorted() {
    const threads = /* @__PURE__ */ new Map();
    for (const said of [...this.said.values()].sort(oldestFirst)) {
      const thread = threads.get(said.thread);
      if (thread) thread.said.push(said);
      else threads.set(said.thread, { id: said.thread, said: [said] });
    }
    return [...threads.values()];
  }
};
function oldestFirst(one, other) {
  return one.at - other.at || (one.id < other.id ? -1 : 1);
}
var ASKER = /^_ask-/;
function named(address) {
  const isProgram = ASKER.test(address);
  return { name: isProgram ? "a program" : address, isProgram };
}
var lastOf = (thread) => (
  /** @type {SaidWire} */
  thread.said.at(-1)
);
var answered = (thread) => thread.said.findLast((said) => !said.person) ?? lastOf(thread);

// src/room_view/order.js
var Order = class {
  /** @type {string[]} ids in the order shown */
  #shown = [];
  /**
   * @param {Thread[]} threads
   * @param {boolean} isHeld whether what stands must stay where it is
   * @returns {Thread[]}
   */
  settle(threads, isHeld) {
    const byId = new Map(threads.map((thread) => [thread.id, thread]));
    const sorted = [...threads].sort((one, other) => lastOf(one).at - lastOf(other).at).map((thread) => thread.id);
    this.#shown = isHeld ? this.#held(sorted, byId) : sorted;
    return this.#shown.flatMap((id) => byId.get(id) ?? []);
  }
  /**
   * What is older than all that stands comes before it, what is newer after it.
   * @param {string[]} sorted
   * @param {Map<string, Thread>} byId
   */
  #held(sorted, byId) {
    const standing = this.#shown.filter((id) => byId.has(id));
    const here = new Set(standing);
    const first = sorted.findIndex((id) => here.has(id));
    const before = sorted.slice(0, Math.max(0, first));
    return [...before, ...standing, ...sorted.filter((id, index) => !here.has(id) && index > first)];
  }
};

// src/shared/money.js
var MICRO = 1e6;
var LOW = 0.75;
function dollars(amount) {
  const digits = amount >= MICRO || amount % 1e4 === 0 ? 2 : amount >= 1e3 ? 4 : 6;
  return `$${(amount / MICRO).toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}
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
  const left = isLow ? share >= 1 ? ", all spent" : `, ${percent(share)} spent` : "";
  return { amount: cost ? dollars(cost) : "price unknown", rest: of + others + left, share, isLow };
}

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

// src/room_view/unanswered.js
var LINES = 6;
var PATIENCE2 = 1500;
var Unanswered = class {
  #message;
  #link;
  #signal;
  /** @type {Map<string, Line>} by actor */
  #lines = /* @__PURE__ */ new Map();
  #rest = make("p", { class: "dvergr-rest" });
  el = make("div", { class: "dvergr-unanswered", role: "gridcell", hidden: true });
  /**
   * @param {string} message its id
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(message, link, signal) {
    this.#message = message;
    this.#link = link;
    this.#signal = signal;
  }
  /**
   * @param {UnansweredWire[]} wires
   * @param {boolean} isCurrent whether Tab reaches the message
   */
  draw(wires, isCurrent) {
    const shown = wires.slice(0, LINES);
    const actors = new Set(shown.map((wire) => wire.actor));
    for (const [actor, line] of this.#lines) {
      if (actors.has(actor)) continue;
      line.leave(this.el);
      this.#lines.delete(actor);
    }
    for (const wire of shown) this.#line(wire.actor, isCurrent).draw(wire.here ?? false);
    const others = wires.length - shown.length;
    say(this.#rest, others ? `unanswered by ${count(others)} more` : "");
    if (others) this.el.append(this.#rest);
    else this.#rest.remove();
    this.el.hidden = !shown.length;
  }
  /**
   * @param {string} actor
   * @param {boolean} isCurrent
   */
  #line(actor, isCurrent) {
    const known = this.#lines.get(actor);
    if (known) return known;
    const line = new Line(this.#message, actor, this.#link, this.#signal);
    attribute(line.answer, "tabindex", isCurrent ? 0 : -1);
    this.#lines.set(actor, line);
    this.el.append(line.el);
    return line;
  }
};
var Line = class {
  #message;
  #actor;
  #link;
  #signal;
  #isHere = false;
  /** Whether it was asked for a moment ago, or was taken. */
  #isAsked = false;
  /** The id of the press that was not answered yet. */
  #press = "";
  #note = make("span", { class: "dvergr-cut dvergr-bad", "aria-live": "polite", hidden: true });
  answer;
  el;
  /**
   * @param {string} message
   * @param {string} actor
   * @param {Link} link
   * @param {AbortSignal} signal
   */
  constructor(message, actor, link, signal) {
    this.#message = message;
    this.#actor = actor;
    this.#link = link;
    this.#signal = signal;
    this.answer = button("Answer", "dvergr-quiet", () => this.#ask(), signal);
    attribute(this.answer, "aria-label", `Answer by ${actor}`);
    const text = make("span", { class: "dvergr-soft dvergr-cut", title: actor }, `unanswered by ${actor}`);
    const news = make("span", { class: "dvergr-news" }, text, this.answer, this.#note);
    this.el = make("div", { class: "dvergr-turn" }, make("div", { class: "dvergr-body" }, news));
  }
  /** @param {boolean} isHere whether the actor takes part */
  draw(isHere) {
    this.#isHere = isHere;
    const hadFocus = document.activeElement === this.answer;
    this.answer.disabled = !isHere || this.#isAsked || this.#link.presence === "gone";
    attribute(this.answer, "title", isHere ? null : `${this.#actor} takes no part now`);
    if (hadFocus && this.answer.disabled) this.#toMessage();
  }
  /** @param {HTMLElement} parent */
  leave(parent) {
    if (parent.contains(document.activeElement) && this.el.contains(document.activeElement)) this.#toMessage();
    this.el.remove();
  }
  /** A button that goes takes the focus with it. */
  #toMessage() {
    const row = this.el.closest("[role=row]");
    row?.focus({ preventScroll: true });
  }
  /** The same press repeated before it was answered is the same act: Python does it once. */
  #ask() {
    this.#say("");
    this.#isAsked = true;
    const question = (
      /** @type {const} */
      { type: "answer", message_id: this.#message, actor: this.#actor }
    );
    const id = this.#link.ask(question, (answered2) => this.#taken(answered2), this.#press || void 0);
    this.#press = id;
    this.#link.time.after(PATIENCE2, () => this.#mayRepeat(id));
    this.draw(this.#isHere);
  }
  /** @param {string} id */
  #mayRepeat(id) {
    if (this.#press !== id || this.#signal.aborted) return;
    this.#isAsked = false;
    this.draw(this.#isHere);
  }
  /** @param {Answered} answered */
  #taken(answered2) {
    if (answered2.type !== "ack" || answered2.id !== this.#press) return;
    this.#press = "";
    this.#isAsked = answered2.outcome !== "failed";
    this.#say(answered2.outcome === "failed" ? answered2.error ?? "It could not be done." : "");
    this.draw(this.#isHere);
  }
  /** @param {string} error */
  #say(error) {
    say(this.#note, error);
    this.#note.hidden = !error;
  }
};

// src/room_view/said.js
var LINES2 = 6;
var RANK = ["waiting", "running", "cancelling", "queued", "failed", "cancelled", "completed"];
var Said = class {
  #link;
  #signal;
  #acts;
  #said;
  #text = make("p", { class: "dvergr-text" });
  /** @type {HTMLButtonElement | null} */
  #more = null;
  /** @type {HTMLButtonElement | null} */
  #fold = null;
  /** @type {HTMLButtonElement | null} */
  #reply = null;
  #shape = shape();
  #ends = make("span", { class: "dvergr-ends", role: "gridcell" });
  #runs = make("div", { class: "dvergr-runs", role: "gridcell" });
  /** @type {Map<string, Line>} */
  #lines = /* @__PURE__ */ new Map();
  #rest = make("p", { class: "dvergr-rest" });
  #unanswered;
  /** @type {string | null} all of it, where it was asked for */
  #whole = null;
  #isLong = false;
  #isCurrent = false;
  /** @type {unknown[]} what was drawn last */
  #drawn = [];
  el;
  /**
   * @param {SaidWire} said
   * @param {Link} link
   * @param {AbortSignal} signal
   * @param {Acts} acts
   */
  constructor(said, link, signal, acts) {
    this.#said = said;
    this.#link = link;
    this.#signal = signal;
    this.#acts = acts;
    this.#unanswered = new Unanswered(said.id, link, signal);
    const at = make("span", { class: "dvergr-num dvergr-soft", role: "gridcell" }, clock(said.at));
    const body = make("div", { class: "dvergr-body", role: "gridcell" }, this.#text);
    if (said.length) {
      this.#more = button("", "dvergr-quiet", () => this.turn(), signal);
      body.append(this.#more);
    }
    const line = make("div", { class: "dvergr-line" }, this.#shape, from(said), body, this.#ends, at);
    this.el = make("div", { class: "dvergr-message", role: "row", "data-id": said.id, tabindex: -1 }, line, this.#runs, this.#unanswered.el);
    attribute(this.el, "data-person", said.person ?? null);
    this.#drawText();
  }
  get id() {
    return this.#said.id;
  }
  /** @param {Place} place */
  update(place2) {
    if (!this.#isNews(place2)) return;
    const { thread, isOpen: isOpen2, runs } = place2;
    attribute(this.el, "aria-level", thread ? 1 : 2);
    attribute(this.el, "aria-expanded", thread && thread.said.length + runs.length > 1 ? String(isOpen2) : null);
    attribute(this.el, "data-folded", thread !== null && !isOpen2);
    this.#drawEnds(thread, isOpen2);
    this.#drawRuns(isOpen2 || !thread ? runs : [], place2);
    this.#unanswered.draw(isOpen2 || !thread ? place2.unanswered : [], this.#isCurrent);
    this.#drawState(thread && !isOpen2 ? runs : []);
  }
  /**
   * Rows are replaced when they change, so most of a long list is known to be as it was.
   * @param {Place} place
   */
  #isNews({ runs, replied, unanswered, queue, thread, isOpen: isOpen2 }) {
    const { presence, cancelling, refusals } = this.#link;
    const facts = runs.flatMap((row) => [row, queue.get(row.id), replied.has(row.id), cancelling.has(row.id), refusals.get(row.id)]);
    const drawn = [presence, thread?.said.length, isOpen2, ...unanswered, ...facts];
    const isNews = drawn.length !== this.#drawn.length || drawn.some((fact, index) => fact !== this.#drawn[index]);
    this.#drawn = drawn;
    return isNews;
  }
  /** What changes by itself: digits. */
  count() {
    for (const line of this.#lines.values()) line.count(this.#link);
  }
  /** @param {boolean} isCurrent whether Tab reaches it */
  mark(isCurrent) {
    this.#isCurrent = isCurrent;
    attribute(this.el, "tabindex", isCurrent ? 0 : -1);
    for (const node of this.el.querySelectorAll("button")) attribute(node, "tabindex", isCurrent ? 0 : -1);
  }
  /** Shows all of a long text, or its beginning again. */
  turn() {
    if (!this.#said.length) return;
    this.#isLong = !this.#isLong;
    if (this.#isLong && this.#whole === null) this.#acts.whole();
    this.#drawText();
  }
  /** @param {string | null} text all of it; null: it could not be read */
  show(text) {
    this.#whole = text;
    this.#isLong &&= text !== null;
    this.#drawText();
  }
  #drawText() {
    const { text, length = 0 } = this.#said;
    const isWhole = this.#isLong && this.#whole !== null;
    say(this.#text, isWhole ? this.#whole ?? "" : text);
    if (!this.#more) return;
    attribute(this.#more, "aria-expanded", String(this.#isLong));
    const reading = this.#isLong && this.#whole === null;
    say(this.#more, reading ? "reading" : this.#isLong ? "less" : `more, ${some(length, "character")}`);
  }
  /**
   * @param {Thread | null} thread
   * @param {boolean} isOpen
   */
  #drawEnds(thread, isOpen2) {
    if (!thread) return;
    this.#fold ??= this.#add("", () => this.#acts.toggle());
    this.#reply ??= this.#add("Reply", () => this.#acts.reply());
    const others = thread.said.length - 1;
    this.#fold.hidden = !others;
    say(this.#fold, isOpen2 ? some(others, "reply").replace("replys", "replies") : `${count(others)} more`);
    attribute(this.#fold, "aria-expanded", String(isOpen2));
    const title = this.#said.text.split("\n", 1)[0]?.slice(0, 60) ?? "";
    attribute(this.#reply, "aria-label", `Reply in thread: ${title}`);
  }
  /**
   * @param {string} label
   * @param {() => void} act
   */
  #add(label, act) {
    const node = button(label, "dvergr-quiet", act, this.#signal);
    attribute(node, "tabindex", this.#isCurrent ? 0 : -1);
    this.#ends.append(node);
    return node;
  }
  /**
   * Of a folded thread the shape alone says how its turns stand.
   * @param {RunRow[]} runs
   */
  #drawState(runs) {
    const [first] = [...runs].sort(byRank);
    attribute(this.el, "data-state", first ? state(first, this.#link.presence) : null);
    this.#shape.hidden = !first;
  }
  /**
   * @param {RunRow[]} runs
   * @param {Place} place
   */
  #drawRuns(runs, { queue, replied }) {
    const shown = runs.length > LINES2 ? [...runs].sort(byRank).slice(0, LINES2) : runs;
    const ids = new Set(shown.map((row) => row.id));
    for (const [id, line] of this.#lines) {
      if (ids.has(id)) continue;
      line.el.remove();
      this.#lines.delete(id);
    }
    for (const row of shown) this.#line(row).update(row, this.#link, queue.get(row.id) ?? 0, replied.has(row.id));
    const others = runs.filter((row) => !ids.has(row.id));
    say(this.#rest, others.length ? `${count(others.length)} more: ${summed(others)}` : "");
    if (others.length) this.#runs.append(this.#rest);
    else this.#rest.remove();
    this.#runs.hidden = !shown.length;
  }
  /** @param {RunRow} row */
  #line(row) {
    const known = this.#lines.get(row.id);
    if (known) return known;
    const line = new Line2(() => this.#link.cancel(row.id), () => this.el.focus({ preventScroll: true }), this.#signal);
    attribute(line.cancel, "tabindex", this.#isCurrent ? 0 : -1);
    this.#lines.set(row.id, line);
    this.#runs.append(line.el);
    return line;
  }
};
var Line2 = class {
  #who = make("span", { class: "dvergr-cut dvergr-soft" });
  #word = make("span", { class: "dvergr-word" });
  #took = make("span", { class: "dvergr-soft" });
  #money = make("span", { class: "dvergr-soft" });
  #doing = make("span", { class: "dvergr-doing dvergr-cut" });
  #note = make("span", { class: "dvergr-cut" });
  #stream = new Stream();
  #leave;
  cancel;
  el;
  /**
   * @param {() => void} cancel
   * @param {() => void} leave
   * @param {AbortSignal} signal
   */
  constructor(cancel, leave2, signal) {
    this.#leave = leave2;
    this.cancel = button("Cancel", "dvergr-quiet", cancel, signal);
    const news = make("span", { class: "dvergr-news" }, this.#word, this.#took, this.#money, this.#doing, this.#note, this.cancel);
    this.el = make("div", { class: "dvergr-turn" }, shape(), this.#who, make("div", { class: "dvergr-body" }, news, this.#stream.el));
  }
  /**
   * @param {RunRow} row
   * @param {Link} link
   * @param {number} place in its actor's queue, 0 where it is not queued
   * @param {boolean} hasReplied
   */
  update(row, link, place2, hasReplied) {
    attribute(this.el, "data-state", state(row, link.presence));
    attribute(this.el, "data-run", row.id);
    say(this.#who, row.actor);
    attribute(this.#who, "title", row.actor);
    const named2 = word(row, link.presence);
    say(this.#word, named2 === "queued" && place2 ? `queued, ${ordinal(place2)}` : named2);
    const error = link.refusals.get(row.id) ?? (row.status === "failed" ? row.error : void 0) ?? "";
    const note = error || (row.status === "completed" && isTurn(row) && !hasReplied ? unsaid(row) : "");
    say(this.#note, note);
    this.#note.hidden = !note;
    attribute(this.#note, "class", `dvergr-cut ${error ? "dvergr-bad" : "dvergr-soft"}`);
    const { amount, rest, isLow } = spent(row);
    say(this.#money, amount + rest);
    this.#money.hidden = !amount;
    attribute(this.#money, "class", isLow ? "dvergr-low" : "dvergr-soft");
    say(this.#doing, isLive(row) && row.doing ? `uses ${row.doing}` : "");
    this.#doing.hidden = !this.#doing.textContent;
    this.#stream.draw(isLive(row) ? row.said ?? "" : void 0, link.presence === "live");
    this.#drawCancel(row, link);
    this.#row = row;
    this.count(link);
  }
  /** @type {RunRow | null} */
  #row = null;
  /** @param {Link} link */
  count(link) {
    const row = this.#row;
    if (!row) return;
    say(this.#took, tookText(row, link));
    this.#took.hidden = !this.#took.textContent;
    this.#stream.fit();
  }
  /**
   * @param {RunRow} row
   * @param {Link} link
   */
  #drawCancel(row, link) {
    const hadFocus = document.activeElement === this.cancel;
    this.cancel.hidden = !isLive(row) && row.status !== "waiting";
    this.cancel.disabled = link.presence === "gone" || row.status === "cancelling" || link.cancelling.has(row.id);
    attribute(this.cancel, "aria-label", `Cancel ${row.actor}`);
    if (hadFocus && (this.cancel.hidden || this.cancel.disabled)) this.#leave();
  }
};
function from(said) {
  const who = said.person ? { name: "you", isProgram: false } : named(said.who);
  const to = said.to && said.to !== "user" ? `to ${named(said.to).name}` : "";
  const name = make("span", { class: who.isProgram ? "dvergr-cut dvergr-soft" : "dvergr-cut" }, who.name);
  const title = [who.name, to].filter(Boolean).join(" ");
  return make("span", { class: "dvergr-from", role: "gridcell", title }, name, to && make("span", { class: "dvergr-to dvergr-cut" }, to));
}
var byRank = (one, other) => RANK.indexOf(one.status) - RANK.indexOf(other.status) || one.created - other.created;
function summed(runs) {
  const words2 = RANK.map((status) => ({ status, many: runs.filter((row) => row.status === status).length }));
  return words2.flatMap(({ status, many }) => many ? `${count(many)} ${status}` : []).join(", ");
}
function tookText(row, link) {
  if (isLive(row) && link.presence === "gone") return `last seen ${clock(link.at)}`;
  const seconds = link.took(row);
  return seconds === null ? "" : isLive(row) ? running(seconds) : duration(seconds);
}
var ENDINGS = (
  /** @type {Record<string, string>} */
  { one: "st", two: "nd", few: "rd", other: "th" }
);
var ordinals = new Intl.PluralRules("en-US", { type: "ordinal" });
var ordinal = (place2) => `${count(place2)}${ENDINGS[ordinals.select(place2)]}`;

// src/room_view/list.js
var OPEN = 8;
var NEAR = 8;
var PAGE = 10;
var List = class {
  #link;
  #talk;
  #signal;
  #acts;
  #order = new Order();
  /** @type {Map<string, boolean>} threads that a person has opened or folded */
  #chosen = /* @__PURE__ */ new Map();
  /** @type {Map<string, Said>} messages that exist */
  #rows = /* @__PURE__ */ new Map();
  /** @type {Map<string, HTMLElement>} */
  #groups = /* @__PURE__ */ new Map();
  /** @type {string | null} the message that Tab reaches */
  #current = null;
  /** The newest message when the list was last read to its end, in ms since 1970. */
  #readTo = 0;
  #isAsking = false;
  #wasAtEnd = true;
  #older;
  #grid = make("div", { class: "dvergr-threads", role: "treegrid", "aria-label": "Messages by thread" });
  #scroller;
  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {AbortSignal} signal
   * @param {{ reply: (thread: Thread) => void, moved: () => void }} acts
   */
  constructor(link, talk, signal, acts) {
    this.#link = link;
    this.#talk = talk;
    this.#signal = signal;
    this.#acts = acts;
    this.#older = button("Show older messages", "dvergr-quiet", () => this.#askOlder(), signal);
    this.#scroller = make("div", { class: "dvergr-talk", tabindex: -1 }, this.#older, this.#grid);
    this.#scroller.addEventListener("scroll", () => this.#scrolled(), { signal, passive: true });
    this.#grid.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#grid.addEventListener("focusin", (event) => this.#focused(event), { signal });
    this.#grid.addEventListener("click", (event) => this.#clicked(event), { signal });
    this.#followWidth();
  }
  /** Text that wraps anew is taller; who read the end goes on reading it. */
  #followWidth() {
    if (!("ResizeObserver" in globalThis)) return;
    const watch = new ResizeObserver(() => this.#wasAtEnd && !this.#hasFocus && this.toEnd());
    watch.observe(this.#scroller);
    this.#signal.addEventListener("abort", () => watch.disconnect());
  }
  get el() {
    return this.#scroller;
  }
  /** How many messages came since the list was read to its end. */
  get below() {
    let many = 0;
    for (const said of this.#talk.said.values()) if (said.at > this.#readTo) many += 1;
    return many;
  }
  draw() {
    const { isAtEnd } = this;
    const isHeld = !isAtEnd || this.#hasFocus;
    const threads = this.#order.settle(this.#talk.threads, isHeld);
    const newest = new Set([...threads].sort(byNews).slice(0, OPEN).map((thread) => thread.id));
    const facts = { runs: this.#runsByTrigger(), queue: this.#queue(), replied: this.#replied(), unanswered: this.#unanswered() };
    this.#older.hidden = !this.#talk.older;
    this.#older.disabled = this.#isAsking || this.#link.presence === "gone";
    const kept = /* @__PURE__ */ new Set();
    const groups = threads.map((thread) => this.#drawThread(thread, newest, facts, kept));
    for (const id of this.#rows.keys()) if (!kept.has(id)) this.#rows.delete(id);
    for (const id of this.#groups.keys()) if (!this.#talk.said.has(id) && !threads.some((each) => each.id === id)) this.#groups.delete(id);
    place(this.#grid, groups);
    this.count();
    if (!this.#current || !this.#rows.has(this.#current)) this.#setCurrent([...this.#rows.keys()].at(-1) ?? null);
    if (isAtEnd && !this.#hasFocus) this.toEnd();
  }
  /** What changes by itself: digits. */
  count() {
    for (const row of this.#rows.values()) row.count();
  }
  toEnd() {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
    this.#wasAtEnd = true;
    this.#readAll();
  }
  get isAtEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    return scrollTop + clientHeight >= scrollHeight - NEAR;
  }
  get #hasFocus() {
    return this.#grid.contains(document.activeElement);
  }
  #readAll() {
    for (const said of this.#talk.said.values()) this.#readTo = Math.max(this.#readTo, said.at);
  }
  #scrolled() {
    this.#wasAtEnd = this.isAtEnd;
    if (this.#wasAtEnd) this.#readAll();
    this.#acts.moved();
  }
  /** @returns {Map<string, RunRow[]>} */
  #runsByTrigger() {
    const runs = /* @__PURE__ */ new Map();
    for (const row of this.#link.rows.values()) {
      if (!row.trigger) continue;
      const same = runs.get(row.trigger);
      if (same) same.push(row);
      else runs.set(row.trigger, [row]);
    }
    for (const same of runs.values()) same.sort((one, other) => one.created - other.created);
    return runs;
  }
  /** @returns {Map<string, number>} */
  #queue() {
    const places = this.#talk.present.flatMap(({ queued = [] }) => queued.map((id, index) => (
      /** @type {const} */
      [id, index + 1]
    )));
    return new Map(places);
  }
  /** @returns {Set<string>} */
  #replied() {
    return new Set([...this.#talk.said.values()].flatMap(({ run = [] }) => run));
  }
  /** @returns {Map<string, UnansweredWire[]>} by message */
  #unanswered() {
    const found = /* @__PURE__ */ new Map();
    for (const wire of this.#talk.unanswered) found.set(wire.message, [...found.get(wire.message) ?? [], wire]);
    return found;
  }
  /**
   * @param {Thread} thread
   * @param {Set<string>} newest
   * @param {Facts} facts
   * @param {Set<string>} kept
   */
  #drawThread(thread, newest, { runs, queue, replied, unanswered }, kept) {
    const calls = thread.said.some((said) => unanswered.has(said.id) || runs.get(said.id)?.some(isLive));
    const isOpen2 = this.#chosen.get(thread.id) ?? (newest.has(thread.id) || calls);
    const group2 = this.#groups.get(thread.id) ?? make("div", { class: "dvergr-thread", role: "rowgroup" });
    this.#groups.set(thread.id, group2);
    const [head, ...others] = thread.said;
    const shown = isOpen2 ? [
      /** @type {SaidWire} */
      head,
      ...others
    ] : [
      /** @type {SaidWire} */
      head
    ];
    const all = isOpen2 ? [] : thread.said.flatMap((said) => runs.get(said.id) ?? []);
    const nodes = shown.map((said, index) => {
      const row = this.#row(said, thread);
      kept.add(said.id);
      const own = isOpen2 ? runs.get(said.id) ?? [] : all;
      row.update({ runs: own, replied, unanswered: unanswered.get(said.id) ?? [], queue, thread: index ? null : thread, isOpen: isOpen2 });
      return row.el;
    });
    place(group2, nodes);
    return group2;
  }
  /**
   * @param {SaidWire} said
   * @param {Thread} thread
   */
  #row(said, thread) {
    const known = this.#rows.get(said.id);
    if (known) return known;
    const row = new Said(said, this.#link, this.#signal, {
      toggle: () => this.#toggle(thread.id),
      reply: () => this.#acts.reply(this.#talk.threads.find((each) => each.id === thread.id) ?? thread),
      whole: () => this.#askWhole(said.id)
    });
    this.#rows.set(said.id, row);
    return row;
  }
  /** @param {string} id of a thread */
  #toggle(id) {
    const head = this.#groups.get(id)?.querySelector('[aria-level="1"]');
    this.#chosen.set(id, head?.getAttribute("data-folded") !== null);
    const focused = this.#groups.get(id)?.contains(document.activeElement);
    this.draw();
    if (focused && !this.#hasFocus) this.#focus(
      /** @type {HTMLElement} */
      head
    );
    this.#acts.moved();
  }
  #askOlder() {
    this.#isAsking = true;
    const from2 = this.#scroller.scrollHeight - this.#scroller.scrollTop;
    this.#link.ask({ type: "older" }, () => {
      this.#isAsking = false;
      this.#link.time.after(100, () => {
        if (this.#signal.aborted) return;
        this.draw();
        this.#scroller.scrollTop = this.#scroller.scrollHeight - from2;
      });
    });
    this.draw();
  }
  /** @param {string} id */
  #askWhole(id) {
    this.#link.ask({ type: "whole", message_id: id }, (answer) => this.#rows.get(id)?.show(answer.type === "whole" ? answer.text : null));
  }
  /** @param {string | null} id */
  #setCurrent(id) {
    if (this.#current) this.#rows.get(this.#current)?.mark(false);
    this.#current = id;
    if (id) this.#rows.get(id)?.mark(true);
  }
  /** @param {FocusEvent} event */
  #focused(event) {
    const id = (
      /** @type {HTMLElement} */
      event.target.closest("[data-id]")?.getAttribute("data-id")
    );
    if (id && id !== this.#current) this.#setCurrent(id);
  }
  /**
   * A click beside what can be pressed opens a folded thread.
   * @param {MouseEvent} event
   */
  #clicked(event) {
    const target = (
      /** @type {HTMLElement} */
      event.target
    );
    const head = target.closest("button") ? null : target.closest("[data-folded]");
    if (head) this.#toggle(this.#threadOf(head) ?? "");
  }
  /** @param {Element} row */
  #threadOf(row) {
    return this.#talk.said.get(row.getAttribute("data-id") ?? "")?.thread;
  }
  /** @param {HTMLElement} row */
  #focus(row) {
    row.focus({ preventScroll: true });
    row.scrollIntoView?.({ block: "nearest" });
  }
  /** @param {KeyboardEvent} event */
  #key(event) {
    const target = (
      /** @type {HTMLElement} */
      event.target
    );
    const row = (
      /** @type {HTMLElement | null} */
      target.closest("[role=row]")
    );
    if (event.ctrlKey || event.metaKey || event.altKey || !row) return;
    const moved = this.#move(event.key, row);
    if (moved) this.#focus(moved);
    else if (event.key === "Enter" && target === row) this.#enter(row);
    else if (event.key === "ArrowRight") this.#right(row, target);
    else if (event.key === "ArrowLeft") this.#left(row, target);
    else return;
    event.preventDefault();
  }
  /**
   * The row that a key leads to; null where it leads nowhere.
   * @param {string} key
   * @param {HTMLElement} row
   */
  #move(key, row) {
    const rows = (
      /** @type {HTMLElement[]} */
      [...this.#grid.querySelectorAll("[role=row]")]
    );
    const at = rows.indexOf(row);
    const moves = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + PAGE, PageUp: at - PAGE, Home: 0, End: rows.length - 1 };
    const to = moves[key];
    return to === void 0 ? null : rows[Math.min(rows.length - 1, Math.max(0, to))] ?? null;
  }
  /** @param {HTMLElement} row */
  #enter(row) {
    const id = row.getAttribute("data-id") ?? "";
    if (row.hasAttribute("aria-expanded")) this.#toggle(this.#threadOf(row) ?? "");
    else this.#rows.get(id)?.turn();
  }
  /**
   * Opens what is folded, else goes to the next button of the row.
   * @param {HTMLElement} row
   * @param {HTMLElement} target
   */
  #right(row, target) {
    if (row.getAttribute("aria-expanded") === "false" && target === row) return this.#toggle(this.#threadOf(row) ?? "");
    const buttons = [...row.querySelectorAll("button")].filter((node) => !node.hidden && !node.disabled);
    const next = buttons[buttons.findIndex((node) => node === target) + 1];
    next?.focus({ preventScroll: true });
  }
  /**
   * Back to the row, then to the head of its thread, then folds that.
   * @param {HTMLElement} row
   * @param {HTMLElement} target
   */
  #left(row, target) {
    if (target !== row) return this.#focus(row);
    if (row.getAttribute("aria-expanded") === "true") return this.#toggle(this.#threadOf(row) ?? "");
    const head = (
      /** @type {HTMLElement | null} */
      row.parentElement?.querySelector('[aria-level="1"]') ?? null
    );
    if (head) this.#focus(head);
  }
};
var byNews = (one, other) => lastOf(other).at - lastOf(one).at;
function place(parent, wanted) {
  const keep = new Set(
    /** @type {Node[]} */
    wanted
  );
  for (const node of [...parent.childNodes]) if (!keep.has(node)) node.remove();
  let at = parent.firstChild;
  for (const node of wanted) {
    if (at !== node && at?.nextSibling === node) at = node;
    if (at === node) at = at.nextSibling;
    else parent.insertBefore(node, at);
  }
}

// src/room_view/present.js
var PLAIN2 = /* @__PURE__ */ new Set(["function", ""]);
var Present = class {
  #link;
  /** @type {Map<string, One>} */
  #ones = /* @__PURE__ */ new Map();
  #others = make("li", { class: "dvergr-soft" });
  #nobody = make("li", { class: "dvergr-soft" }, "Nobody takes part yet; room.join(actor, handler) has somebody answer.");
  el = make("ul", { class: "dvergr-present", "aria-label": "Who takes part" });
  /** @param {Link} link */
  constructor(link) {
    this.#link = link;
  }
  /**
   * @param {PresentWire[]} present
   * @param {number} others how many more there are
   */
  draw(present, others) {
    const here = new Set(present.map((each) => each.actor));
    for (const actor of this.#ones.keys()) if (!here.has(actor)) this.#ones.delete(actor);
    const nodes = present.map((each) => this.#one(each).el);
    say(this.#others, others ? `and ${others} more, idle` : "");
    const wanted = [...nodes, ...others ? [this.#others] : [], ...present.length ? [] : [this.#nobody]];
    if (wanted.length !== this.el.children.length || wanted.some((node, index) => this.el.children[index] !== node)) {
      this.el.replaceChildren(...wanted);
    }
  }
  /** What changes by itself: digits. */
  count() {
    for (const one of this.#ones.values()) one.count(this.#link);
  }
  /** @param {PresentWire} each */
  #one(each) {
    const one = this.#ones.get(each.actor) ?? new One(each.actor);
    this.#ones.set(each.actor, one);
    one.update(each, this.#link);
    return one;
  }
};
var One = class {
  /** @type {PresentWire} */
  #wire;
  #word = make("span", { class: "dvergr-word", "aria-live": "polite" });
  #took = make("span", { class: "dvergr-soft" });
  #waits = make("span", { class: "dvergr-soft" });
  #program = make("span", { class: "dvergr-soft" });
  el;
  /** @param {string} actor */
  constructor(actor) {
    this.#wire = { actor, program: "" };
    const name = make("span", { class: "dvergr-who", title: actor }, actor);
    this.el = make("li", { class: "dvergr-state" }, shape(), name, this.#program, this.#word, this.#took, this.#waits);
  }
  /**
   * @param {PresentWire} wire
   * @param {Link} link
   */
  update(wire, link) {
    this.#wire = wire;
    const queued = wire.queued?.length ?? 0;
    const { look, word: word2 } = this.#state(link);
    attribute(this.el, "data-state", look);
    say(this.#word, word2);
    say(this.#program, PLAIN2.has(wire.program) ? "" : wire.program);
    this.#program.hidden = !this.#program.textContent;
    say(this.#waits, queued && word2 !== "queued" ? `queued ${queued}` : queued > 1 ? String(queued) : "");
    this.#waits.hidden = !this.#waits.textContent;
    this.count(link);
  }
  /** @param {Link} link */
  count(link) {
    const row = this.#wire.working ? link.rows.get(this.#wire.working) : void 0;
    const seconds = row && isLive(row) && link.presence === "live" ? link.took(row) : null;
    say(this.#took, seconds === null ? "" : running(seconds));
    this.#took.hidden = seconds === null;
  }
  /** @param {Link} link */
  #state(link) {
    const { working, queued } = this.#wire;
    if (link.presence === "gone") return { look: "gone", word: "kernel gone" };
    if (!working && !queued?.length) return { look: "idle", word: "idle" };
    if (link.presence === "busy") return { look: "busy", word: "kernel busy" };
    if (!working) return { look: "queued", word: "queued" };
    const row = link.rows.get(working);
    return row && isLive(row) && row.status !== "queued" ? { look: state(row, "live"), word: row.status } : { look: "running", word: "running" };
  }
};

// src/room_view/say.js
var PATIENCE3 = 1500;
var RULE = "";
var EVERYONE = "*";
var Box = class {
  #link;
  #talk;
  #signal;
  #acts;
  /** @type {Thread | null} the thread that is replied in */
  #thread = null;
  /** @type {Sent | null} what Python has not taken yet */
  #sent = null;
  #isSlow = false;
  #error = "";
  #actors = "";
  #where = make("span", { class: "dvergr-cut" });
  #target = make("p", { class: "dvergr-reply-to", hidden: true });
  #text = make("textarea", { class: "dvergr-field", rows: 2, "aria-label": "New message", placeholder: "New message" });
  #to = make("select", { class: "dvergr-field", "aria-label": "To" });
  #note = make("span", { class: "dvergr-ack", "aria-live": "polite" });
  /** @type {HTMLButtonElement} */
  #send;
  el;
  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {AbortSignal} signal
   * @param {{ sent: () => void }} acts
   */
  constructor(link, talk, signal, acts) {
    this.#link = link;
    this.#talk = talk;
    this.#signal = signal;
    this.#acts = acts;
    this.#send = button("Send", "dvergr-main", () => this.#press(), signal);
    const fresh = button("New thread", "dvergr-quiet", () => this.#clear(), signal);
    this.#target.append(this.#where, fresh);
    const label = make("span", { class: "dvergr-soft", "aria-hidden": "true" }, "To");
    const keys = make("span", { class: "dvergr-soft dvergr-half" }, "Ctrl+Enter sends");
    const acting = make("div", { class: "dvergr-sending" }, label, this.#to, this.#send, keys, this.#note);
    this.el = make("div", { class: "dvergr-say", role: "group", "aria-label": "New message" }, this.#target, this.#text, acting);
    this.el.addEventListener("keydown", (event) => this.#key(event), { signal });
    this.#text.addEventListener("input", () => this.draw(), { signal });
    this.#to.addEventListener("change", () => this.#turnTo(), { signal });
  }
  draw() {
    const { presence } = this.#link;
    this.#drawActors();
    const closed = this.#talk.closed;
    const isOver = presence === "gone" || closed;
    this.#send.disabled = isOver || !this.#text.value.trim();
    say(this.#note, this.#noteText());
    attribute(this.#note, "class", `dvergr-ack${this.#error ? " dvergr-bad" : ""}`);
  }
  /** @param {Thread} thread that messages go to from now on */
  reply(thread) {
    this.#thread = thread;
    this.#target.hidden = false;
    const [head] = thread.said;
    say(this.#where, `Reply in thread: ${head?.text.split("\n", 1)[0] ?? ""}`);
    this.#text.focus();
  }
  #noteText() {
    const { presence } = this.#link;
    if (this.#error) return this.#error;
    if (presence === "gone") return "The kernel is gone; nothing can be sent.";
    if (this.#sent && presence === "busy") return "Sent; the kernel takes it when its cell ends.";
    if (this.#sent && this.#isSlow) return "Sent; the kernel has not taken it yet.";
    return this.#talk.closed ? "The room is closed and admits nothing." : "";
  }
  /** The choices stay as they are while the same people are there. The rule: the only one there, else everyone. */
  #drawActors() {
    const actors = this.#talk.present.map((each) => each.actor);
    const rule = actors.length === 1 && !this.#talk.others ? `${actors[0]} (the only one here)` : "everyone (nobody named)";
    const key = JSON.stringify([actors, rule]);
    if (key === this.#actors && this.#to.options.length) return;
    this.#actors = key;
    const chosen = this.#to.value;
    const choices = [[rule, RULE], ["everyone", EVERYONE], ...actors.map((actor) => [actor, actor])];
    this.#to.replaceChildren(...choices.map(([text = "", value = ""]) => make("option", { value }, text)));
    this.#to.value = choices.some(([, value]) => value === chosen) ? chosen : RULE;
  }
  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      if (!this.#send.disabled) this.#press();
    } else if (event.key === "Escape" && this.#thread) {
      event.stopPropagation();
      event.preventDefault();
      this.#clear();
    }
  }
  #clear() {
    this.#leave();
    this.#text.focus();
  }
  /** Messages begin new threads again. */
  #leave() {
    this.#thread = null;
    this.#target.hidden = true;
  }
  /** What is said to somebody else is no reply to what was said here. */
  #turnTo() {
    const to = this.#to.value;
    if (!this.#thread || to === RULE || to === EVERYONE) return;
    const last = answered(this.#current(this.#thread));
    if (to !== (last.person ? last.to : last.who)) this.#leave();
  }
  /** The same message pressed again is the same act: Python posts it once. */
  #press() {
    const text = this.#text.value;
    if (!text.trim()) return;
    const to = this.#to.value || null;
    const reply_to = this.#thread ? answered(this.#current(this.#thread)).id : null;
    const again = this.#sent && this.#sent.text === text && this.#sent.to === to ? this.#sent : null;
    const message = again ?? { text, to, reply_to };
    this.#error = "";
    this.#isSlow = false;
    const question = (
      /** @type {const} */
      { type: "post", text: message.text, to: message.to, reply_to: message.reply_to }
    );
    const id = this.#link.ask(question, (answer) => this.#taken(answer), again?.id);
    this.#sent = { ...question, id };
    this.#link.time.after(PATIENCE3, () => this.#slow(id));
    this.draw();
  }
  /** @param {Thread} thread as it is now */
  #current(thread) {
    return this.#talk.threads.find((each) => each.id === thread.id) ?? thread;
  }
  /** @param {string} id */
  #slow(id) {
    if (this.#sent?.id !== id || this.#signal.aborted) return;
    this.#isSlow = true;
    this.draw();
  }
  /** @param {import('../shared/link.js').Answer} answer */
  #taken(answer) {
    if (answer.type !== "ack" || answer.id !== this.#sent?.id) return;
    const { text } = this.#sent;
    this.#sent = null;
    if (answer.outcome === "posted") {
      if (this.#text.value.startsWith(text)) this.#text.value = this.#text.value.slice(text.length).trimStart();
      this.#acts.sent();
    } else this.#error = answer.error ?? "It could not be posted.";
    this.draw();
  }
};

// src/room_view/view.js
var Room = class {
  #link;
  #talk;
  #signal;
  #present;
  #list;
  #box;
  #name;
  #isDrawing = false;
  #title = make("h3", { class: "dvergr-who" });
  #id = make("span", { class: "dvergr-soft dvergr-cut" });
  #word = make("span", { class: "dvergr-word", "aria-live": "polite" });
  #many = make("span");
  #asOf = make("span");
  #below;
  el;
  /**
   * @param {Link} link
   * @param {Talk} talk
   * @param {string} name of the room
   * @param {AbortSignal} signal
   */
  constructor(link, talk, name, signal) {
    this.#link = link;
    this.#talk = talk;
    this.#name = name;
    this.#signal = signal;
    this.#present = new Present(link);
    this.#list = new List(link, talk, signal, { reply: (thread) => this.#box.reply(thread), moved: () => this.#drawFoot() });
    this.#box = new Box(link, talk, signal, { sent: () => this.#list.toEnd() });
    this.#below = button("", "dvergr-quiet", () => this.#toEnd(), signal);
    const head = make("header", { class: "dvergr-head" }, this.#title, this.#id, this.#word);
    const foot = make("footer", { class: "dvergr-foot" }, this.#many, this.#below, this.#asOf);
    const parts = [head, this.#present.el, this.#list.el, foot, this.#box.el];
    this.el = make("section", { class: "dvergr dvergr-room", "aria-label": `Room ${name}` }, ...parts);
  }
  /** @param {Change} change */
  take(change) {
    if (change.details) return;
    if (!change.tick) return this.#drawSoon();
    this.#present.count();
    this.#list.count();
    this.#drawFoot();
  }
  update() {
    const { title, present, others, closed } = this.#talk;
    say(this.#title, title || this.#name);
    say(this.#id, title && title !== this.#name ? `room ${this.#name}` : "");
    say(this.#word, this.#link.presence === "live" ? closed ? "closed" : "" : `kernel ${this.#link.presence}`);
    this.#word.hidden = !this.#word.textContent;
    attribute(this.el, "data-presence", this.#link.presence);
    this.#present.draw(present, others);
    this.#list.draw();
    this.#box.draw();
    this.#drawFoot();
  }
  /** Many messages may come between two pictures; one of them is drawn. */
  #drawSoon() {
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    this.#link.time.after(16, () => {
      this.#isDrawing = false;
      if (!this.#signal.aborted) this.update();
    });
  }
  #toEnd() {
    this.#list.toEnd();
    this.#drawFoot();
  }
  #drawFoot() {
    const { said, threads, older } = this.#talk;
    const messages = some(said.size, "message");
    const all = `${older ? "the last " : ""}${messages} in ${some(threads.length, "thread")}`;
    say(this.#many, said.size ? all : "Nothing was said yet; a message starts a thread.");
    const below = this.#list.isAtEnd ? 0 : this.#list.below;
    this.#below.hidden = !below;
    say(this.#below, below ? `${count(below)} new below` : "");
    say(this.#asOf, this.#asOfText());
  }
  #asOfText() {
    const { presence, at } = this.#link;
    if (!at) return "";
    if (presence === "gone") return `kernel gone, last seen ${clock(at)}`;
    return presence === "busy" ? `kernel busy, as of ${clock(at)}` : `as of ${clock(at)}`;
  }
};

// src/room_view/widget.js
var widget_default = widget(
  (link, model, signal) => {
    const room = new Room(
      link,
      /** @type {Talk} */
      link.beside,
      String(model.get("room") ?? ""),
      signal
    );
    room.update();
    return { el: room.el, take: (change) => room.take(change) };
  },
  (model) => new Link(model, browserTime, new Talk())
);
export {
  widget_default as default
};
