// The Compare panel: agreement of two files, their differences, and adjudication.

import { button, el, show, tell } from "./dom.js";
import { ask } from "./popups.js";

const MEASURES = [["uas", "heads (UAS)"], ["las", "heads and labels (LAS)"], ["kappa_heads", "Cohen's κ of heads"], ["kappa_labels", "Cohen's κ of labels"], ["alpha", "Krippendorff's α of labelled arcs"]];
const PAGE = 100; // sentences fetched at a time

export class Compare {
  constructor(box, state) {
    Object.assign(this, { box, state, items: [] });
    this.line = el("div", { class: "agreement" });
    this.status = el("p", { class: "soft line", role: "status" });
    this.list = el("div", { class: "differences" });
    this.more = button("Show more", () => this.refresh(this.items.length), { class: "more", hidden: true });
    show(box, this.line, this.status, this.list, this.more);
    state.on("opened", () => this.#mark());
  }

  shown() {
    this.refresh();
  }

  focus() {
    (this.list.querySelector("button") ?? this.box).focus();
  }

  async refresh(from = 0) {
    if (!this.state.document.beside) {
      this.status.textContent = "Start arcwise annotate with --beside OTHER.conllu to compare two files.";
      return;
    }
    let answer;
    try {
      answer = await this.state.api.differences({ from, count: PAGE });
    } catch (refusal) {
      this.status.textContent = refusal.message;
      return;
    }
    this.items = [...this.items.slice(0, from), ...answer.items];
    const count = answer.total;
    this.more.hidden = this.items.length >= count;
    const figure = (name, value) => (value === null || value === undefined ? "–" : name.endsWith("as") ? `${(100 * value).toFixed(2)} %` : Number(value).toFixed(3));
    show(this.line, el("dl", {}, MEASURES.flatMap(([name, title]) => [el("dt", {}, title), el("dd", {}, figure(name, answer.agreement?.[name]))])));
    this.status.textContent = `${count === 1 ? "1 sentence differs" : `${count.toLocaleString("en")} sentences differ`}. Shift N and Shift P step through them.`;
    this.state.order = { name: "differences", numbers: this.items.map((item) => item.sentence).filter((number) => number !== null), more: this.more.hidden ? null : () => this.refresh(this.items.length) };
    show(this.list, this.items.map((item) => this.#sentence(item)));
    this.#mark();
  }

  #sentence(item) {
    if (item.sentence === null || item.only) {
      return el("section", {}, el("p", { class: "soft" }, `${item.sent_id ?? ""} only in ${item.only === "a" ? "this" : "the other"} file`), el("bdi", { class: "text" }, item.text ?? ""));
    }
    return el("section", { "data-number": item.sentence },
      button(`${item.sentence + 1} ${item.sent_id ?? ""}`, () => this.state.open(item.sentence, item.rows[0]?.row), { class: "link" }), el("bdi", { class: "text" }, item.text ?? ""),
      el("table", {}, el("thead", {}, el("tr", {}, ["word", "column", "here", "other", "edit"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, item.rows.map((row) => this.#row(item, row)))));
  }

  #row(item, row) {
    const line = el("tr", {});
    const draw = () => {
      const choose = (choice, value) => button(value ?? "–", () => take(choice, value), {
        disabled: value === null,
        class: `side${row.chosen === value ? " chosen" : ""}`, "aria-pressed": row.chosen === value ? "true" : "false", "aria-label": `${row.column} of ${row.form}: ${value}`,
      });
      show(line, el("th", { scope: "row" }, button(`${row.row} `, () => this.state.open(item.sentence, row.row), { class: "link" }), el("bdi", {}, row.form ?? "")), el("td", {}, row.column.toUpperCase()),
        el("td", {}, choose("a", row.a)), el("td", {}, choose("b", row.b)),
        el("td", {}, button("…", () => ask({ at: line.getBoundingClientRect(), title: `${row.column.toUpperCase()} of ${row.row} ${row.form ?? ""}`, value: row.a, entered: (value) => take("value", value) }), { "aria-label": "Other value" })));
    };
    const take = async (choice, value) => {
      try {
        const extra = choice === "value" ? { value } : {};
        await this.state.api.adjudicate({ sentence: item.sentence, row: row.row, column: row.column, choice, ...extra });
        this.state.refresh([item.sentence]);
        row.chosen = value;
        draw();
      } catch (refusal) {
        tell(refusal.message, "bad");
      }
    };
    draw();
    return line;
  }

  #mark() {
    this.list.querySelector(".now")?.classList.remove("now");
    const section = this.list.querySelector(`[data-number="${this.state.number}"]`);
    section?.classList.add("now");
    section?.scrollIntoView({ block: "nearest" });
  }
}
