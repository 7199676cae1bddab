// Below the tree: the selected word, the arcs that it may have with their probabilities, what is wrong with it, and why its proposal changed.

import { button, el, percent, show } from "./dom.js";
import { inWords } from "./edits.js";
import { findingsOf, noteRow } from "./picture.js";

const MOST = 3; // findings that are shown at once
const SOON = 60; // milliseconds: an answer that takes longer is not waited for
const FIELDS = ["lemma", "upos", "xpos", "feats", "misc"];

export class WordPanel {
  constructor(box, state, editor, page) {
    Object.assign(this, { box, state, editor, page, planned: false, soon: null });
    for (const name of ["sentence", "selection", "reconsidered"]) state.on(name, () => this.#later());
  }

  /** With the answer to a change that is on its way, which has new alternatives; else with the tree. */
  #later() {
    if (this.state.waiting.some((step) => !step.known)) this.soon ??= setTimeout(() => this.#plan(), SOON);
    else this.#plan();
  }

  #plan() {
    clearTimeout(this.soon);
    this.soon = null;
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      this.draw();
    });
  }

  draw() {
    const row = this.state.row(), sentence = this.state.sentence;
    if (!sentence) return show(this.box);
    if (row?.kind === "word" && !this.editor.isOpen(row)) this.state.askAgain(row.id);
    show(this.box, this.#sentenceLine(sentence), row ? this.#word(row) : null, row ? this.#arcs(row) : null, this.#findings(sentence, row));
  }

  #sentenceLine(sentence) {
    const words = this.state.words, open = words.filter((row) => this.editor.isOpen(row)).length;
    const thoughts = sentence.thoughts;
    const parts = [open ? `${words.length - open} of ${words.length} words decided` : `all ${words.length} words decided`];
    if (thoughts && open && thoughts.entropy !== null && thoughts.entropy !== undefined) parts.push(`entropy ${thoughts.entropy.toFixed(2)}`);
    if (this.state.document.read_only) parts.push(`read only: ${this.state.document.read_only}`);
    if (!this.state.document.model) parts.push("no model: nothing is proposed; train one (Shift A)");
    const second = thoughts?.second_best;
    return el("p", { class: "line soft" }, parts.join(" · "),
      this.state.second ? el("strong", {}, second ? ` · second-best tree, ${percent(second.probability)}` : " · there is no second-best tree") : null,
      thoughts?.note ? el("span", { class: "why" }, ` · ${thoughts.note}`) : null);
  }

  #word(row) {
    const fields = FIELDS.filter((name) => row[name] !== "_").map((name) => el("span", { class: "field" }, el("small", {}, name.toUpperCase()), " ", el("bdi", {}, row[name])));
    return el("div", { class: "line word-line" },
      el("strong", { class: "which" }, `${row.id} `, el("bdi", {}, row.form)), el("span", { class: `state ${row.state}` }, row.kind === "empty" ? "empty node" : row.state), fields);
  }

  #arcs(row) {
    const { editor, state } = this, arc = editor.arc();
    if (!arc) return null;
    const choice = (head, label, p, attributes, sign) => el("button", { type: "button", ...attributes },
      el("span", { class: "bar", "data-p": p ?? 0 }), el("span", { class: "sign" }, sign), el("b", {}, label || "?"),
      el("span", { class: "from" }, "← ", String(head) === "0" ? "the root" : [`${head} `, el("bdi", {}, state.row(String(head))?.form ?? "")]), el("span", { class: "p" }, percent(p)));
    const preview = state.preview;
    const shown = arc.head === null ? [] : [choice(arc.head, arc.label, arc.labelProbability ?? arc.probability, {
      class: `choice ${arc.state}${preview ? "" : " now"}`, title: arc.state === "decided" ? "decided" : "accept (Enter)",
      onclick: () => editor.takeAlternative(row.id, arc.head, arc.label),
    }, arc.state === "decided" && arc.labelState === "decided" ? "✓" : "⏎")];
    const others = editor.others().map(([head, label, p]) => choice(head, label, p, {
      class: `choice${preview && preview.head === String(head) && preview.label === label ? " now" : ""}`, title: "take this arc (↓ … Enter)",
      onclick: () => editor.takeAlternative(row.id, head, label),
    }, "↓"));
    const list = el("div", { class: "choices", role: "group", "aria-label": `Arcs of ${row.id} ${row.form}` }, shown, others);
    for (const bar of list.querySelectorAll(".bar")) bar.style.width = `${Math.round(100 * Number(bar.dataset.p))}%`;
    const typed = editor.digits ? el("p", { class: "line" }, `head ${editor.digits}… more digits, or Enter`) : null;
    const why = state.because?.changed.get(row.id);
    const also = state.because && [...state.because.changed.keys()].filter((id) => id !== row.id);
    return el("div", {}, typed, list,
      why ? el("p", { class: "line why" }, `${row.id} ${row.form} ${why}.`) : null,
      also?.length ? el("p", { class: "line why" }, `Proposals changed because ${state.because.told}: `,
        also.slice(0, 12).map((id) => button(editor.name(id), () => editor.select(id), { class: "link", title: state.because.changed.get(id) }))) : null);
  }

  #findings(sentence, row) {
    const here = (one) => !one.row || one.row === row?.id;
    const all = findingsOf(sentence), found = all.filter(here).sort((a, b) => (a.row ? 0 : 1) - (b.row ? 0 : 1)), elsewhere = all.length - found.length;
    const line = (one) => el("li", { class: "finding" }, el("b", {}, "! "), one.message, el("small", {}, ` ${one.rule}`),
      one.repair ? button(`. ${one.repair.told}`, () => this.page.repair(one), { class: "repair", title: one.repair.edits.map(inWords).join("; ") }) : null);
    const lines = found.slice(0, MOST).map(line);
    if (found.length > MOST) lines.push(el("li", {}, el("details", {}, el("summary", {}, `${found.length - MOST} more findings of the sentence`), el("ul", { class: "lines" }, found.slice(MOST).map(line)))));
    const doubts = sentence.doubts.filter((one) => one.row === row?.id).map((one) => el("li", { class: "doubt-line" }, el("b", {}, "? "),
      one.probability === 0 ? `No other sentence has the label ${one.label}` : `Improbable for parsers that never saw this sentence${one.probability === null ? "" : ` (${percent(one.probability)})`}`,
      one.instead ? `; they say ${one.instead.label} of ${this.editor.name(String(one.instead.head))}, ${percent(one.instead.probability)} ` : "",
      one.instead ? button("take it", () => this.editor.takeAlternative(one.row, one.instead.head, one.instead.label)) : null));
    const notes = sentence.notes.filter((one) => one.on === "" || noteRow(one.on) === row?.id)
      .map((one) => el("li", { class: "note-line" }, el("b", {}, "✎ "), one.on ? `${one.on}: ` : "", el("bdi", {}, one.text)));
    const besides = Object.entries(sentence.beside?.rows?.[row?.id] ?? {}).map(([column, [ours, theirs]]) =>
      el("li", {}, el("b", {}, "≠ "), `${column.toUpperCase()}: here ${ours}, beside ${theirs}`));
    const more = elsewhere ? el("li", { class: "soft" }, `${elsewhere} more ${elsewhere === 1 ? "finding" : "findings"} at other words (! goes there)`) : null;
    return el("ul", { class: "lines" }, lines, doubts, notes, besides, more);
  }
}
