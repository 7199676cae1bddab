// Annotation actions on words: move, choose heads, labels and tags, accept suggestions.

import { say, tell, percent } from "./dom.js";
import { decide, decideHead, depsOf, labelDecided, setField, undecide } from "./edits.js";
import { arcOf, inTree, spoken } from "./picture.js";
import { ROWS, rowEdit, suggestedTag, valueOf } from "./rows.js";
import { completions, inventory, labelWeights } from "./completion.js";
import { editFeatures, editLemma } from "./features.js";
import { ask, pick } from "./popups.js";

export class Editor {
  constructor(state) {
    this.state = state;
    this.digits = ""; // digits typed so far of a head
    this.choosing = null; // {row, head}: choosing the head of a row with arrow keys or a click
    state.on("opened", () => this.rest());
    this.visited = []; // words from which Tab jumped
  }

  /** The arc that the tree shows for a word. */
  arc(id = this.state.selected) {
    const row = this.state.row(id);
    return row && row.kind === "word" ? inTree(arcOf(row, this.state.thought(id), (row, head) => this.state.guess(row, head)), id, this.state.secondBest) : null;
  }

  name(id) {
    return id === "0" || id === 0 ? "the root" : `${id} ${this.state.row(String(id))?.form ?? ""}`;
  }

  /** The screen position of a word, for popups. */
  spot(id = this.state.selected) {
    const word = document.getElementById(`word-${id}`) ?? document.getElementById("tree");
    return word.getBoundingClientRect();
  }

  /** Whether the head or the label of a word is unannotated. */
  isOpen(row) {
    return row?.kind === "word" && (row.state !== "decided" || !labelDecided(row));
  }

  speak() {
    const row = this.state.row();
    const arc = this.arc();
    if (row) say(arc ? spoken(row, arc, this.state.thought(), (id) => this.state.row(id)?.form ?? "") : `${row.id} ${row.form}, empty node`);
  }

  /** Cancel a preview or a half-typed head; returns whether there was one. */
  rest() {
    this.digits = "";
    const was = this.choosing || this.state.preview;
    this.choosing = null;
    if (was) this.state.show(null);
    return Boolean(was);
  }

  select(id, options) {
    this.rest();
    if (id === null || id === undefined) return;
    this.state.select(id, options);
    this.speak();
  }

  /** Move along the words in screen order: 1 is to the right, or down. */
  move(step, options = {}) {
    const stops = this.state.stops, mirrored = this.state.sentence?.direction === "rtl" && !this.state.view.vertical;
    const at = stops.findIndex((row) => row.id === this.state.selected);
    const next = stops[Math.max(0, Math.min(stops.length - 1, at + (mirrored ? -step : step)))];
    this.select(next?.id, options);
  }

  end(last) {
    this.select(this.state.stops.at(last ? -1 : 0)?.id);
  }

  /** Go to the next unannotated word, wrapping around. */
  goOn() {
    const words = this.state.words, at = words.findIndex((row) => row.id === this.state.selected);
    const open = [...words.slice(at + 1), ...words.slice(0, at)].find((row) => this.isOpen(row));
    const untagged = words.filter((row) => !this.state.isDone(row)).length;
    if (open) this.select(open.id);
    else if (untagged) tell(`Every arc is annotated; ${untagged} ${untagged === 1 ? "word has" : "words have"} no UPOS yet (Shift T; Shift Y accepts the suggested ones).`);
    else say("Every word of the sentence is annotated.");
    return open !== undefined;
  }

  /** Go to the unannotated word with the least probable suggestion. */
  leastSure() {
    const open = this.state.words.filter((row) => this.isOpen(row) && row.id !== this.state.selected);
    if (!open.length) return tell("No other word of the sentence is unannotated.");
    const sure = (row) => this.state.thought(row.id)?.label_probability ?? this.state.thought(row.id)?.probability ?? 0;
    this.visited.push(this.state.selected);
    return this.select(open.reduce((best, row) => (sure(row) < sure(best) ? row : best)).id);
  }

  back() {
    const id = this.visited.pop();
    if (id && this.state.row(id)) this.select(id);
    else this.move(-1);
  }

  described(row, head, label) {
    return `${row.id} ${row.form} is ${label || "?"} of ${this.name(String(head))}`;
  }

  /** Annotate head and label of a word, then go to the next unannotated word. */
  decide(row, head, label, { stay = false } = {}) {
    const wasOpen = this.isOpen(row);
    const edits = decide(row, head, label);
    this.digits = "";
    this.choosing = null;
    if (edits.length) this.state.edit(edits, this.described(row, head, label));
    else this.state.show(null);
    if (wasOpen && !stay) this.goOn();
    if (edits.length) say(`${this.described(row, head, label)}.`);
  }

  setHead(row, head, { label = null } = {}) {
    if (head === row.id) return tell(`${this.name(row.id)} cannot be its own head.`, "bad");
    this.digits = "";
    this.choosing = null;
    if (head === "0") return this.decide(row, "0", label ?? "root", { stay: true });
    const edits = label === null ? decideHead(row, head) : decide(row, head, label);
    if (edits.length) this.state.edit(edits, this.described(row, head, label ?? (labelDecided(row) ? row.deprel : "?")));
    else this.state.show(null);
    return say(`Head ${this.name(head)}.`);
  }

  /** Enter: annotate the arc that is shown. */
  accept() {
    const row = this.state.row();
    if (!row || row.kind !== "word") return;
    if (this.choosing) return void this.confirmHead();
    const preview = this.state.preview, arc = this.arc();
    const head = preview?.head ?? arc.head, label = preview?.label ?? arc.label;
    if (head === null) return void tell("No suggestion for this word. Type the number of its head, or press Space.");
    if (!label) return void this.#acceptLater(row, head);
    if (!preview && !this.isOpen(row)) return void this.goOn();
    return void this.decide(row, head, label);
  }

  /** Set the head now, and the label once the parser suggests one for that head; without a parser, prompt for it. */
  #acceptLater(row, head) {
    if (String(head) !== row.head || row.state !== "decided") this.setHead(row, String(head));
    const number = this.state.number;
    const then = (step) => {
      if (step.number !== number || this.state.waiting.length) return;
      this.state.removeEventListener("changed", heard);
      const now = this.state.number === number ? this.state.row(row.id) : null;
      if (!now) return;
      const arc = this.arc(row.id);
      if (arc.label && arc.head === String(head)) this.state.edit(decide(now, arc.head, arc.label), this.described(now, arc.head, arc.label));
      else if (this.state.selected === row.id) this.label("");
    };
    const heard = (event) => then(event.detail);
    if (this.state.waiting.length) {
      this.state.addEventListener("changed", heard);
      if (this.state.thought(row.id)) this.goOn();
    } else this.label("");
  }

  /** The unannotated words whose suggested arc has at least this probability; 0: any. */
  above(threshold) {
    return this.state.words.filter((row) => {
      if (!this.isOpen(row)) return false;
      const arc = this.arc(row.id), p = arc.labelProbability ?? arc.probability;
      return arc.head !== null && arc.label && (threshold === 0 || (p !== null && p >= threshold));
    });
  }

  /** Accept every suggested arc with at least this probability; 0: all of them. */
  acceptAll(threshold) {
    this.rest();
    const rows = this.above(threshold), ids = rows.map((row) => row.id);
    const edits = rows.flatMap((row) => decide(row, this.arc(row.id).head, this.arc(row.id).label));
    const what = threshold > 0 ? `suggestions of at least ${percent(threshold)}` : "suggestions";
    if (!ids.length) return tell(`No ${what} in this sentence.`);
    this.state.edit(edits, `${ids.length} ${what} were accepted`);
    if (!this.isOpen(this.state.row())) this.goOn();
    return tell(`${ids.length} ${ids.length === 1 ? "word" : "words"} accepted.`, "good");
  }

  /** Clear the annotation of the selected words. */
  open() {
    if (this.digits) return this.digit(null);
    if (this.rest()) return null;
    const edits = this.state.range.filter((row) => row.kind === "word").flatMap(undecide);
    if (edits.length) this.state.edit(edits, `the annotation of ${this.name(this.state.selected)} was cleared`);
    return edits.length && say("Annotation cleared.");
  }

  /** Type a digit of the head; null removes the last one. Sets the head as soon as no further digit can follow. */
  digit(digit) {
    const row = this.state.row();
    if (!row || row.kind !== "word") return;
    const digits = digit === null ? this.digits.slice(0, -1) : this.digits + digit;
    this.digits = "";
    if (digits === "") return void this.state.show(null);
    const n = this.state.words.length, value = Number(digits);
    if (value > n) return void (this.state.show(null), tell(`There is no word ${value}: the sentence has ${n}.`, "bad"));
    if (String(value) === row.id && value * 10 > n) return void (this.state.show(null), tell(`${this.name(row.id)} cannot be its own head.`, "bad"));
    if (digit !== null && (value === 0 || value * 10 > n)) return void this.setHead(row, String(value));
    this.digits = digits;
    this.state.show({ row: row.id, head: String(value), label: this.#labelOf(row, String(value)) });
    return void say(`Head ${this.name(String(value))}? Press Enter or type more digits.`);
  }

  #labelOf(row, head) {
    if (head === "0") return "root";
    if (labelDecided(row)) return row.deprel;
    const weights = labelWeights(this.state.thought(row.id), head);
    const best = [...weights].sort((a, b) => b[1] - a[1])[0];
    return best && best[1] >= 1 ? best[0] : this.state.guess(row.id, head);
  }

  /** Set a half-typed number as the head; called before any other key is handled. */
  finishDigits() {
    if (this.digits) this.setHead(this.state.row(), String(Number(this.digits)));
  }

  /** Choose the head with arrow keys or a click on a word; Enter or the click confirms, Escape or a click elsewhere cancels. */
  chooseHead() {
    const row = this.state.row();
    if (!row || row.kind !== "word") return;
    this.digits = "";
    const arc = this.arc();
    const start = arc.head !== null && arc.head !== "0" ? arc.head : (this.state.words.find((word) => word.id !== row.id)?.id ?? "0");
    this.choosing = { row: row.id, head: start };
    this.#showChoice();
  }

  /** Make the word whose head is being chosen the root. */
  chooseRoot() {
    if (this.choosing) this.confirmHead("0");
  }

  moveHead(step) {
    const ids = ["0", ...this.state.words.map((row) => row.id)].filter((id) => id !== this.choosing.row);
    const mirrored = this.state.sentence.direction === "rtl" && !this.state.view.vertical;
    const at = ids.indexOf(this.choosing.head) + (mirrored ? -step : step);
    this.choosing.head = ids[Math.max(0, Math.min(ids.length - 1, at))];
    this.#showChoice();
  }

  #showChoice() {
    const { row, head } = this.choosing;
    this.state.show({ row, head, label: this.#labelOf(this.state.row(row), head) });
    say(`Head ${this.name(head)}?`);
  }

  confirmHead(head = this.choosing?.head) {
    const row = this.state.row(this.choosing.row);
    this.setHead(row, head);
  }

  /** The alternative arcs of a word, most probable first: [head, label, p]. */
  others(id = this.state.selected) {
    const arc = this.arc(id), row = this.state.row(id);
    const thought = (row && !this.isOpen(row) ? this.state.reconsider(id) : null) ?? this.state.thought(id);
    if (!arc || !thought) return [];
    return thought.alternatives.filter(([head, label]) => String(head) !== arc.head || (label ?? "") !== arc.label);
  }

  /** Preview the next less probable (1) or more probable (−1) alternative. */
  alternative(step) {
    const others = this.others(), preview = this.state.preview;
    const at = preview ? others.findIndex(([head, label]) => String(head) === preview.head && label === preview.label) : -1;
    const next = at + step;
    if (next < -1 || next >= others.length) return say("No more alternatives.");
    if (next === -1) return this.rest(), this.speak();
    const [head, label, p] = others[next];
    this.digits = "";
    this.state.show({ row: this.state.selected, head: String(head), label, probability: p });
    return say(`${label} of ${this.name(String(head))}, ${percent(p)}`);
  }

  /** Annotate an alternative arc. */
  takeAlternative(id, head, label) {
    this.decide(this.state.row(id), String(head), label ?? this.arc(id).label);
  }

  /** Prompt for the label, starting with the typed text. Also annotates the shown head, unless Ctrl is held. */
  label(typed, id = this.state.selected) {
    const row = this.state.row(id);
    if (!row || row.kind !== "word") return;
    const shown = this.state.preview?.row === id ? this.state.preview.head : this.arc(id).head;
    const head = shown ?? null, weights = labelWeights(this.state.thought(id), head), guess = head === null ? "" : this.state.guess(id, head);
    const values = inventory(this.state.document, "deprel");
    pick({
      at: this.spot(id), title: `Label of ${row.id} ${row.form}`, typed,
      find: (text) => completions(text, values, guess ? new Map([[guess, 1]]) : weights),
      note: (value) => (value === guess ? "guess" : weights.has(value) ? percent(weights.get(value) % 1) : ""),
      hint: "Enter: head and label · Ctrl+Enter: label only",
      picked: (value, { alone }) => {
        const now = this.state.row(id);
        if (now?.kind !== "word") tell(`${row.id} ${row.form} is no longer there.`, "bad");
        else if (alone || head === null) this.state.edit([setField(id, "deprel", value)], `${row.id} ${row.form} is ${value}`);
        else this.decide(now, head, value);
      },
    });
  }

  /** Prompt for a tag. */
  tag(column = "upos", id = this.state.selected, typed = "") {
    const row = this.state.row(id), values = inventory(this.state.document, column);
    if (!row) return;
    const suggestion = suggestedTag(row, this.state.thought(id), column), suggested = suggestion?.value;
    pick({
      at: this.spot(id), title: `${column.toUpperCase()} of ${row.id} ${row.form}`, typed,
      find: (text) => completions(text, values, new Map([[row[column], text ? 0 : 1], [suggested, 2]])),
      note: (value) => (value === suggested ? `suggested ${percent(suggestion.p)}` : value === row[column] ? "current" : ""),
      picked: (value) => this.field(id, column, value),
    });
  }

  /** Set a field of a row; `again(message)`: prompts again if the value is rejected. */
  field(id, column, value, again = (message) => this.askField(column, "", { id, value, error: message })) {
    const row = this.state.row(id), text = value.trim() === "" ? "_" : value;
    if (!row || (row[column] === text && !(column === "upos" && row.upos_state === "proposed"))) return;
    const edit = column === "deps" ? { kind: "set-deps", row: id, deps: depsOf(text) } : setField(id, column, text);
    this.state.edit([edit], `${column.toUpperCase()} of ${id} ${row.form} is ${text}`, { again });
  }

  /** Prompt for the value of a field; `value` and `error`: the rejected value and the reason. */
  askField(column, hint = "", { id = this.state.selected, value = null, error = "" } = {}) {
    const row = this.state.row(id);
    if (!row) return;
    ask({
      at: this.spot(id), title: `${column.toUpperCase()} of ${row.id} ${row.form}`, value: value ?? (row[column] === "_" ? "" : row[column]), hint, error,
      caret: value === null ? null : value.length,
      entered: (text) => this.field(row.id, column, text, (message) => this.askField(column, hint, { id, value: text, error: message })),
    });
  }
  /** Edit the value of a row below a word. */
  editRow(name, id = this.state.selected) {
    const row = this.state.row(id);
    if (!row) return;
    if (name === "upos" || name === "xpos") return void this.tag(name, id);
    if (name === "feats") return void editFeatures(this.state, this, id);
    if (name === "lemma") return void editLemma(this.state, this, id);
    ask({
      at: this.spot(id), title: `${ROWS[name]} of ${row.id} ${row.form}`, value: valueOf(row, name), hint: "Stored in MISC. Leave empty to remove it.",
      entered: (text) => {
        const edit = rowEdit(this.state.row(id), name, text);
        if (edit.value !== this.state.row(id).misc) this.state.edit([edit], `${ROWS[name]} of ${row.id} ${row.form} is ${text.trim() || "removed"}`);
      },
    });
  }
}
