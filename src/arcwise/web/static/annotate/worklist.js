// The Worklist panel: sentences in file order, or ranked by the value of annotating them.

import { button, el, percent, show } from "./dom.js";

const ORDERS = [
  ["", "file order", ""],
  ["gain", "largest expected gain first", "expected information gain, in nats"],
  ["repairs", "most expected repairs first", "expected repairs, weighted by how many other words an answer repairs"],
  ["training", "random, to train a parser", ""],
  ["entropy", "least certain trees first", "entropy of the tree, in nats"],
  ["least-sure", "least certain word first", "probability of the least certain head"],
  ["disagreement", "parser disagrees with the annotation", "probability of the least probable annotated arc"],
];
const PAGE = 100;

export class Worklist {
  constructor(box, state) {
    Object.assign(this, { box, state, by: "", items: [], total: 0, rest: 0, ready: true });
    this.list = el("ol", { class: "items", "aria-label": "Sentences" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.choice = el("select", { id: "worklist-by", onchange: () => this.#choose(this.choice.value) }, ORDERS.map(([value, text]) => el("option", { value }, text)));
    this.more = button("Show more", () => this.#fetch({ more: true }), { class: "more", hidden: true });
    show(box, el("label", { for: "worklist-by" }, "Order"), this.choice, this.line, this.list, this.more);
    state.on("opened", () => this.#mark());
    state.on("changed", (step) => this.#changed(step.number));
    state.on("counts", () => this.#recount());
    state.on("trained", () => this.by && this.refresh());
    state.on("document", () => this.#useDefault());
    state.on("document", () => this.#counted());
  }

  /** Reload after sentences were added or removed. */
  #counted() {
    const count = this.state.document.sentences, meaning = this.state.doneMeans;
    if (this.meaning !== undefined && this.meaning !== meaning) this.state.emit("counts");
    this.meaning = meaning;
    if (this.count === undefined || this.count === count) return;
    this.items = [];
    if (!this.box.hidden) this.refresh();
  }

  /** The last chosen order; by default expected gain, as soon as there is a model with probabilities. */
  #useDefault() {
    const { model } = this.state.document, wanted = this.state.view.worklist ?? (model?.probabilities ? "gain" : "");
    if (this.by === (model ? wanted : "")) return;
    this.by = model ? wanted : "";
    this.choice.value = this.by;
    this.items = [];
    if (!this.box.hidden) this.refresh();
  }

  #choose(by) {
    this.state.look({ worklist: by });
    return this.follow(by);
  }

  shown() {
    if (!this.items.length) this.refresh();
    else this.#mark();
  }

  focus() {
    this.choice.focus();
  }

  follow(by) {
    this.by = by;
    this.choice.value = by;
    return this.refresh();
  }

  async refresh() {
    this.items = [];
    await this.#fetch();
  }

  /** Whether an order leaves out annotated sentences. */
  get #isOfUnfinished() {
    return this.by !== "" && this.by !== "disagreement";
  }

  /** Fetch the first sentences, or `more` of them. Sentences that were annotated meanwhile stay here, but are gone from the server's list. */
  async #fetch({ more = false } = {}) {
    const by = this.by, kept = more ? this.items : [], numbers = new Set(kept.map((item) => item.number));
    const from = kept.filter((item) => !this.#isOfUnfinished || item.decided < item.words).length;
    this.count = this.state.document.sentences;
    let answer;
    try {
      answer = await this.state.api.sentences({ from, count: PAGE, worklist: this.by });
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    if (by !== this.by) return; // another order was chosen meanwhile
    this.items = [...kept, ...answer.items.filter((item) => !numbers.has(item.number))];
    Object.assign(this, { total: answer.total, ready: answer.ready, rest: answer.total - from - answer.items.length });
    this.state.order = this.by ? {
      name: this.by, numbers: this.items.map((item) => item.number), words: new Map(this.items.map((item) => [item.number, item.word])),
      more: this.rest > 0 ? () => this.#fetch({ more: true }) : null,
    } : null;
    this.draw();
    clearTimeout(this.again);
    if (!answer.ready) this.again = setTimeout(() => this.#fetch(), answer.items.length ? 1500 : 300);
  }

  #value(item) {
    if (item.decided === item.words && this.by !== "disagreement") return "✓";
    if (item.value === null || item.value === undefined || this.by === "training") return `${item.decided}/${item.words}`;
    return ["least-sure", "disagreement"].includes(this.by) ? percent(1 - item.value) : Number(item.value).toFixed(2); // their values are 1 − p
  }

  draw() {
    const meaning = ORDERS.find(([value]) => value === this.by)[2];
    const annotated = `annotated words (${this.state.doneMeans})`, fraction = this.items.map((item) => this.#value(item)).find((value) => value.includes("/"));
    const count = `${this.total.toLocaleString("en")} ${this.total === 1 ? "sentence" : "sentences"}${this.ready ? "" : " so far, computing …"}`;
    const none = this.#isOfUnfinished ? "No unfinished sentences." : "No sentences.";
    this.line.textContent = this.ready && !this.total ? none : `${count}; numbers: ${meaning || annotated}${meaning && fraction ? `; ${fraction}: ${annotated}` : ""}`;
    show(this.list, this.items.map((item) => el("li", { "data-number": item.number },
      el("button", { type: "button", class: "item", onclick: () => this.state.open(item.number, item.word) },
        el("span", { class: "value" }, this.#value(item)),
        el("span", { class: "soft" }, `${item.number + 1} ${item.sent_id ?? ""}`), el("bdi", { class: "text" }, item.text)))));
    this.more.hidden = this.rest <= 0;
    this.#mark();
  }

  #mark() {
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const item = this.list.querySelector(`[data-number="${this.state.number}"] button`);
    item?.setAttribute("aria-current", "true");
    if (item) this.#reveal(item);
  }

  /** Scroll the panel to an entry; the page, which may scroll too, stays where it is. */
  #reveal(item) {
    const entry = item.getBoundingClientRect(), panel = this.box.getBoundingClientRect();
    if (entry.top < panel.top) this.box.scrollTop += entry.top - panel.top;
    else if (entry.bottom > panel.bottom) this.box.scrollTop += entry.bottom - panel.bottom;
  }

  #changed(number) {
    const item = this.items.find((candidate) => candidate.number === number), sentence = this.state.sentences.get(number);
    if (!item || !sentence) return;
    const words = sentence.rows.filter((row) => row.kind === "word");
    this.#count(item, { words: words.length, decided: words.filter((row) => this.state.isDone(row)).length });
  }

  #count(item, counts) {
    Object.assign(item, counts);
    const value = this.list.querySelector(`[data-number="${item.number}"] .value`);
    if (value) value.textContent = this.#value(item);
  }

  /** Fetch the counts again: several sentences, or the definition of annotated, may have changed. Keeps the order. */
  async #recount() {
    if (this.by || !this.items.length || this.box.hidden) return void (this.by || (this.items = []));
    try {
      const answer = await this.state.api.sentences({ from: 0, count: this.items.length });
      const counts = new Map(answer.items.map(({ number, words, decided }) => [number, { words, decided }]));
      for (const item of this.items) if (counts.has(item.number)) this.#count(item, counts.get(item.number));
    } catch {
      // The counts are fetched again with the next list.
    }
  }
}
