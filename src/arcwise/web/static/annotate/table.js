// The sentence as a table of all rows (words, multiword tokens, empty nodes) and columns; each field is editable in place.

import { inventory } from "./completion.js";
import { breakable, button, el, percent, show, tell } from "./dom.js";
import { latinKey, readByPosition } from "./positions.js";
import { ROWS, suggestedTag } from "./rows.js";

const COLUMNS = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"];
const LATIN = ["upos", "feats", "head", "deprel"]; // columns with Latin letters and digits in every language

export class Table {
  constructor(box, state, editor, acceptance) {
    Object.assign(this, { box, state, editor, acceptance, at: null, editing: null });
    for (const name of ["sentence", "view"]) state.on(name, () => this.draw());
    state.on("selection", () => this.#markRow());
    box.addEventListener("keydown", (event) => this.#key(event));
    box.addEventListener("click", (event) => this.#click(event));
  }

  draw() {
    const { box, state } = this;
    box.hidden = !state.view.table || !state.sentence;
    if (box.hidden || this.editing) return;
    const focused = box.contains(document.activeElement);
    const head = el("thead", {}, el("tr", {}, COLUMNS.map((name) => el("th", { scope: "col" }, name.toUpperCase(), " ", this.#acceptColumn(name)))));
    const rows = state.sentence.rows.map((row) => el("tr", { class: `${row.kind} ${row.state}`, "data-id": row.id }, COLUMNS.map((name) => this.#field(row, name))));
    show(box, el("table", { role: "grid", "aria-label": "Table of the sentence" }, head, el("tbody", {}, rows)));
    this.#markRow();
    if (this.at && focused) this.#cell()?.focus();
    if (!box.querySelector("[tabindex='0']")) box.querySelector("td")?.setAttribute("tabindex", "0");
  }

  /** A cell; marks a suggestion and shows its probability. */
  #field(row, name) {
    const suggestion = suggestedTag(row, this.state.thought(row.id), name), value = suggestion?.value ?? row[name];
    return el(name === "id" ? "th" : "td", {
      "data-column": name, dir: "auto", tabindex: "-1", scope: name === "id" ? "row" : null,
      "aria-label": `${row.id} ${name.toUpperCase()} ${value}${suggestion ? `, ${suggestion.p === null ? "" : `${percent(suggestion.p)}, `}suggested` : ""}`, class: suggestion ? "suggestion" : value === "_" ? "none" : null,
    }, breakable(value), suggestion && suggestion.p !== null ? [" ", el("small", {}, percent(suggestion.p))] : null);
  }

  #acceptColumn(name) {
    const count = name in ROWS ? this.acceptance.tags([name]).length : 0;
    return count ? button(`✓ ${count}`, () => this.acceptance.column(name), { class: "accept-column", title: `Accept the ${count} suggested ${ROWS[name]} of the sentence`, "aria-label": `Accept ${count} suggested ${ROWS[name]}` }) : null;
  }

  #cell({ row, column } = this.at ?? {}) {
    return this.box.querySelector(`tr[data-id="${CSS.escape(row ?? "")}"] [data-column="${column}"]`);
  }

  #markRow() {
    for (const row of this.box.querySelectorAll("tr.selected")) row.classList.remove("selected");
    this.box.querySelector(`tr[data-id="${CSS.escape(this.state.selected ?? "")}"]`)?.classList.add("selected");
  }

  /** Move the focus to the selected row. */
  focus(column = "upos") {
    this.#go({ row: this.state.selected ?? this.state.sentence.rows[0].id, column });
  }

  #go(at) {
    this.at = at;
    for (const cell of this.box.querySelectorAll("[tabindex='0']")) cell.setAttribute("tabindex", "-1");
    const cell = this.#cell();
    cell?.setAttribute("tabindex", "0");
    cell?.focus();
    const row = this.state.sentence.rows.find((candidate) => candidate.id === at.row);
    if (row && row.kind !== "multiword" && row.id !== this.state.selected) this.state.select(row.id);
  }

  #click(event) {
    const cell = event.target.closest("[data-column]");
    if (!cell || this.editing) return;
    const at = { row: cell.closest("tr").dataset.id, column: cell.dataset.column };
    const again = this.at?.row === at.row && this.at?.column === at.column;
    this.#go(at);
    if (again) this.edit();
  }

  #key(event) {
    if (this.editing || !this.at || event.target.closest("button")) return; // a button in the table header handles its own keys
    const rows = this.state.sentence.rows, y = rows.findIndex((row) => row.id === this.at.row), x = COLUMNS.indexOf(this.at.column);
    const clamp = (value, size) => Math.max(0, Math.min(size - 1, value));
    const to = (dy, dx) => this.#go({ row: rows[clamp(y + dy, rows.length)].id, column: COLUMNS[clamp(x + dx, COLUMNS.length)] });
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -99], End: [0, 99] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typed = LATIN.includes(this.at.column) ? latinKey(event) : event.key;
    if (event.key in moves) to(...moves[event.key]);
    else if (event.key === "Enter" || event.key === "F2") this.edit();
    else if (event.key === "Escape") document.getElementById("tree").focus();
    else if (event.key === "Delete") this.#enter("_");
    else if (event.key.length === 1) this.edit(typed);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Edit the field in place; `typed` replaces its value. */
  edit(typed = null) {
    const cell = this.#cell();
    if (!cell || this.at.column === "id") return;
    const row = this.state.sentence.rows.find((candidate) => candidate.id === this.at.row), before = row[this.at.column];
    const suggested = suggestedTag(row, this.state.thought(row.id), this.at.column)?.value; // Enter twice accepts it
    const input = el("input", { type: "text", dir: "auto", spellcheck: "false", autocomplete: "off", "aria-label": cell.getAttribute("aria-label") });
    input.value = typed ?? suggested ?? (before === "_" ? "" : before);
    this.editing = { ...this.at, before };
    if (LATIN.includes(this.at.column)) readByPosition(input, () => inventory(this.state.document, this.editing?.column));
    const finish = (keep) => {
      if (!this.editing) return;
      this.editing = null;
      const value = input.value.trim() || "_";
      cell.textContent = before;
      cell.focus();
      if (keep === "blur" ? value !== before && value !== suggested : keep && (value !== before || value === suggested)) this.#enter(value); // leaving the cell does not accept a suggestion
      else this.draw();
    };
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      if (event.isComposing || !["Enter", "Escape", "Tab"].includes(event.key)) return;
      event.preventDefault();
      finish(event.key !== "Escape");
      if (event.key === "Tab") this.#key(new KeyboardEvent("keydown", { key: event.shiftKey ? "ArrowLeft" : "ArrowRight" }));
    });
    input.addEventListener("blur", () => finish("blur"));
    show(cell, input);
    input.focus();
    if (typed === null) input.select();
  }

  #enter(value) {
    const at = this.at;
    this.editor.field(at.row, at.column, value, (message) => {
      tell(`${at.column.toUpperCase()} of ${at.row}: ${message}`, "bad");
      this.#go(at);
      this.edit(value); // the rejected value, to be corrected
    });
  }
}
