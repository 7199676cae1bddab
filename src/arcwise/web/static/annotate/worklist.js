// The Worklist panel: sentences in file order, or ranked by how much their annotation is worth.

import { button, el, percent, show } from "./dom.js";

const ORDERS = [
  ["", "file order", ""],
  ["entropy", "least certain trees first", "entropy of the tree, in nats"],
  ["least-sure", "least certain word first", "uncertainty of the least certain word"],
  ["gain", "largest expected gain first", "expected information gain, in nats"],
  ["disagreement", "parser disagrees with the annotation", "improbability of the annotation"],
];
const PAGE = 100;

export class Worklist {
  constructor(box, state) {
    Object.assign(this, { box, state, by: "", items: [], total: 0, ready: true });
    this.list = el("ol", { class: "items", "aria-label": "Sentences" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.choice = el("select", { id: "worklist-by", onchange: () => this.follow(this.choice.value) }, ORDERS.map(([value, text]) => el("option", { value }, text)));
    this.more = button("Show more", () => this.#fetch(this.items.length), { class: "more" });
    show(box, el("label", { for: "worklist-by" }, "Order"), this.choice, this.line, this.list, this.more);
    state.on("opened", () => this.#mark());
    state.on("changed", (step) => this.#changed(step.number));
    state.on("trained", () => this.by && this.refresh());
    state.on("document", () => this.#counted());
  }

  /** Reload after sentences were added or removed. */
  #counted() {
    const count = this.state.document.sentences;
    if (this.count === undefined || this.count === count) return;
    this.items = [];
    if (!this.box.hidden) this.refresh();
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
    await this.#fetch(0);
  }

  async #fetch(from) {
    const by = this.by;
    this.count = this.state.document.sentences;
    let answer;
    try {
      answer = await this.state.api.sentences({ from, count: PAGE, worklist: this.by });
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    if (by !== this.by) return; // another order was chosen meanwhile
    this.items = [...this.items.slice(0, from), ...answer.items];
    this.total = answer.total;
    this.ready = answer.ready;
    this.state.order = this.by
      ? { name: this.by, numbers: this.items.map((item) => item.number), words: new Map(this.items.map((item) => [item.number, item.word])) }
      : null;
    this.draw();
    clearTimeout(this.again);
    if (!answer.ready) this.again = setTimeout(() => this.#fetch(0), 1500);
  }

  #value(item) {
    if (item.value === null || item.value === undefined) return item.open === 0 && item.decided === item.words ? "✓" : `${item.decided}/${item.words}`;
    return this.by === "least-sure" ? percent(item.value) : Number(item.value).toFixed(this.by === "disagreement" ? 0 : 2);
  }

  draw() {
    const meaning = ORDERS.find(([value]) => value === this.by)[2];
    const computing = this.ready ? "" : "computing …; ";
    this.line.textContent = `${computing}${this.total} ${this.total === 1 ? "sentence" : "sentences"}; numbers: ${meaning || "annotated words"}`;
    show(this.list, this.items.map((item) => el("li", { "data-number": item.number },
      el("button", { type: "button", class: "item", onclick: () => this.state.open(item.number, item.word) },
        el("span", { class: "value" }, this.#value(item)),
        el("span", { class: "soft" }, `${item.number + 1} ${item.sent_id ?? ""}`), el("bdi", { class: "text" }, item.text)))));
    this.more.hidden = this.items.length >= this.total;
    this.#mark();
  }

  #mark() {
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const item = this.list.querySelector(`[data-number="${this.state.number}"] button`);
    item?.setAttribute("aria-current", "true");
    item?.scrollIntoView({ block: "nearest" });
  }

  #changed(number) {
    const item = this.items.find((candidate) => candidate.number === number), sentence = this.state.sentences.get(number);
    if (!item || !sentence) return;
    const words = sentence.rows.filter((row) => row.kind === "word");
    Object.assign(item, { words: words.length, decided: words.filter((row) => row.state === "decided").length, open: words.filter((row) => row.state === "open").length });
    const value = this.list.querySelector(`[data-number="${number}"] .value`);
    if (value && !this.by) value.textContent = this.#value(item);
  }
}
