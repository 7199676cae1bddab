// Accepting suggested tags and lemmas: one, all of a word or column, or those above a threshold. Accepts only visible suggestions.

import { button, el, percent, say, show, tell } from "./dom.js";
import { decide, setField } from "./edits.js";
import { dialog } from "./popups.js";
import { ROWS, TAG_COLUMNS, suggestedTags } from "./rows.js";

const ARCS = "arc";
const NAMES = { ...ROWS, [ARCS]: "arcs" };

/** "3 UPOS, 2 LEMMA": how many suggestions of each column. */
function inColumns(suggestions) {
  const columns = [ARCS, ...TAG_COLUMNS].map((column) => [column, suggestions.filter((entry) => entry.column === column).length]);
  return columns.filter(([, count]) => count).map(([column, count]) => `${count} ${column === ARCS && count === 1 ? "arc" : NAMES[column]}`).join(", ");
}

export class Acceptance {
  constructor(state, editor) {
    Object.assign(this, { state, editor });
  }

  /** The suggested tags of some words: [{id, form, column, value, p}]. */
  tags(columns = TAG_COLUMNS, words = this.state.words) {
    return words.flatMap((row) => suggestedTags(row, this.state.thought(row.id), columns));
  }

  /** The suggested arcs of the sentence, in the same form. */
  arcs() {
    return this.state.words.filter((row) => this.editor.isOpen(row)).flatMap((row) => {
      const arc = this.editor.arc(row.id);
      if (arc.head === null || !arc.label) return [];
      return [{ id: row.id, form: row.form, column: ARCS, value: `${arc.label} ← ${this.editor.name(arc.head)}`, p: arc.labelProbability ?? arc.probability, arc }];
    });
  }

  /** Accept suggestions, as one undo step. */
  accept(suggestions) {
    const edits = suggestions.flatMap(({ id, column, value, arc }) => (arc ? decide(this.state.row(id), arc.head, arc.label) : [setField(id, column, value)]));
    const single = new Set(suggestions.map((entry) => entry.column)).size === 1 && suggestions[0].column !== ARCS;
    const what = single ? `${suggestions.length} suggested ${NAMES[suggestions[0].column]}` : inColumns(suggestions);
    this.state.edit(edits, `${what} ${suggestions.length === 1 ? "was" : "were"} accepted`);
    if (suggestions.length === 1) say(`${NAMES[suggestions[0].column]} ${suggestions[0].value} accepted.`);
    else tell(`${what} accepted.`, "good");
  }

  /** Accept the suggested tags of the selected words, as listed in the panel below the tree. */
  word() {
    const suggestions = this.tags(TAG_COLUMNS, this.state.range.filter((row) => row.id === this.state.selected));
    if (!suggestions.length) return tell("No suggested tags for this word.");
    return this.accept(suggestions);
  }

  /** Accept the suggested tags of one column that the tree or the table shows. */
  column(column) {
    this.accept(this.tags([column]));
  }

  /** The visible columns: the rows below the words, or all columns if the table is open. */
  get shown() {
    return TAG_COLUMNS.filter((column) => this.state.view.table || this.state.view.rows.includes(column));
  }

  /** Accept the visible suggested tags of the sentence. */
  sentence() {
    const columns = this.shown, suggestions = this.tags(columns);
    if (!suggestions.length) return tell(`No suggested ${columns.map((column) => ROWS[column]).join(", ") || "tags on the screen"} in this sentence.`);
    return this.accept(suggestions);
  }

  /** Choose a threshold and columns; the dialog lists every value before it is written. */
  async above() {
    this.editor.rest();
    const all = [...this.arcs(), ...this.tags()];
    if (!all.length) return tell("No suggestions in this sentence.");
    const input = el("input", { type: "number", min: 0, max: 100, step: 1, value: Math.round(this.state.view.threshold * 100), "aria-label": "Threshold in percent", autofocus: true });
    const columns = [ARCS, ...TAG_COLUMNS].filter((column) => all.some((entry) => entry.column === column));
    const boxes = new Map(columns.map((column) => [column, el("input", { type: "checkbox", checked: true })]));
    const counts = new Map(columns.map((column) => [column, el("span", { class: "count" })]));
    const list = el("ol", { class: "accepted", tabindex: "0", "aria-label": "Suggestions to accept" }), without = el("p", { class: "soft" });
    let chosen = [];
    const accept = button("", () => close(true), { class: "main" });
    let close = () => {};
    const draw = () => {
      const least = Math.max(0, Math.min(100, Number(input.value) || 0)) / 100;
      const reaches = ({ p }) => least === 0 || (p !== null && p >= least);
      for (const column of columns) counts.get(column).textContent = `${all.filter((entry) => entry.column === column && reaches(entry)).length} of ${all.filter((entry) => entry.column === column).length}`;
      chosen = all.filter((entry) => boxes.get(entry.column).checked && reaches(entry));
      const unknown = all.filter((entry) => entry.p === null && boxes.get(entry.column).checked);
      without.textContent = unknown.length && least > 0 ? `${inColumns(unknown)} without a probability are left out; 0 % accepts them, too.` : "";
      accept.textContent = chosen.length ? `Accept ${inColumns(chosen)}` : "Nothing to accept";
      accept.disabled = !chosen.length;
      const byWord = grouped(chosen);
      show(list, [...byWord.values()].sort((a, b) => Number(a[0].id) - Number(b[0].id)).map((entries) => el("li", {}, el("b", {}, `${entries[0].id} `, el("bdi", {}, entries[0].form)), " ",
        entries.map((entry) => el("span", { class: "suggested" }, el("small", {}, entry.column === ARCS ? "" : `${NAMES[entry.column]} `), el("bdi", {}, entry.value), entry.p === null ? "" : el("small", {}, ` ${percent(entry.p)}`))))));
    };
    for (const box of [input, ...boxes.values()]) box.addEventListener("input", draw);
    input.addEventListener("keydown", (event) => event.key === "Enter" && !accept.disabled && close(true));
    const sure = await dialog("Accept suggestions", (end) => {
      close = end;
      draw();
      return [
        el("p", { class: "together" }, el("label", {}, "At least ", input, " %"), columns.map((column) => el("label", { class: "check" }, boxes.get(column), `${NAMES[column]} `, counts.get(column)))),
        list, without, el("p", { class: "buttons" }, accept, button("Cancel", () => end())),
      ];
    }, { id: "acceptance" });
    if (sure) this.accept(chosen);
    return undefined;
  }
}

function grouped(entries) {
  const groups = new Map();
  for (const entry of entries) groups.set(entry.id, [...(groups.get(entry.id) ?? []), entry]);
  return groups;
}
