// The state of the page: the document, the current sentence, the selection, and changes on their way to the server.
// Changes are drawn immediately: the page shows the server's last response with the pending changes applied on top.

import { LabelGuesses } from "./completion.js";
import { clashesOf, edited, isDone, reasons, rowsDiffer } from "./edits.js";
import { GeneratedDeps } from "./generated.js";
import { Lookahead } from "./lookahead.js";

const KEPT = ["zoom", "vertical", "enhanced", "table", "threshold", "theme", "side", "rows", "worklist", "rule", "sign"];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export class State extends EventTarget {
  #shown = null; // the sentence as shown, cached until it changes
  #moves = 0; // moves to another sentence that are in progress

  constructor(api) {
    super();
    this.api = api;
    this.document = null;
    this.number = null; // of the current sentence
    this.selected = null; // id of a row
    this.anchor = null; // start of the selected range, if several words are selected
    this.preview = null; // {row, head, label}: shown, not annotated
    this.second = false; // whether the second-best tree is shown
    this.because = null; // {description, changed: Map row → explanation} since the last change
    this.order = null; // {name, numbers, words: number → word to look at}: the worklist or search to step through; null: file order
    this.connected = true;
    this.view = { zoom: 1, vertical: false, enhanced: false, table: false, threshold: 0.95, theme: "auto", side: "worklist", rows: ["upos"], worklist: null, rule: "all", sign: false };
    this.sentences = new Map(); // number → the server's last answer
    this.reconsidered = new Map(); // number/version/word → the suggestion if the word were unannotated
    this.guesses = new LabelGuesses(); // used where there is no parser
    this.waiting = []; // changes without a response from the server yet, oldest first
    this.ahead = new Lookahead(this);
    this.generated = new GeneratedDeps(this);
    this.busy = false;
    this.#recall();
  }

  emit(name, detail = null) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  on(name, heard) {
    this.addEventListener(name, (event) => heard(event.detail));
  }

  #recall() {
    try {
      Object.assign(this.view, JSON.parse(localStorage.getItem("arcwise-view") ?? "{}"));
    } catch {
      // View settings are optional.
    }
  }

  /** Change view settings and store them in the browser. */
  look(changes) {
    Object.assign(this.view, changes);
    const kept = Object.fromEntries(KEPT.map((name) => [name, this.view[name]]));
    try {
      localStorage.setItem("arcwise-view", JSON.stringify(kept));
    } catch {
      // Storage may be disabled.
    }
    this.emit("view", changes);
  }

  /** The sentence as shown: the server's response with pending edits. */
  get sentence() {
    const base = this.sentences.get(this.number);
    if (!base) return null;
    const steps = this.waiting.filter((step) => step.number === this.number);
    const same = this.#shown?.base === base && this.#shown.steps.length === steps.length && steps.every((step, k) => step === this.#shown.steps[k]);
    if (!same) this.#shown = { base, steps, sentence: steps.reduce((sentence, step) => step.known ?? edited(sentence, step.drawn), base) };
    return this.#shown.sentence;
  }

  row(id = this.selected) {
    return this.sentence?.rows.find((row) => row.id === id) ?? null;
  }

  thought(id = this.selected) {
    return this.sentence?.thoughts?.words?.[id] ?? null;
  }

  /** The second-best tree while it is shown, else null. */
  get secondBest() {
    return (this.second && this.sentence?.thoughts?.second_best) || null;
  }

  /** The suggestion for a word if it were unannotated; null until requested. */
  reconsider(id = this.selected) {
    return this.reconsidered.get(`${this.number}/${this.sentence?.version}/${id}`) ?? null;
  }

  /** Request that suggestion; emits "reconsidered" when it arrives. */
  async askAgain(id = this.selected) {
    const sentence = this.sentence, key = `${this.number}/${sentence?.version}/${id}`;
    if (!sentence?.thoughts || this.reconsidered.has(key) || this.waiting.length) return;
    if (this.reconsidered.size > 200) this.reconsidered.clear();
    this.reconsidered.set(key, null);
    try {
      const answer = await this.api.get(`sentence/${this.number}/word/${id}`);
      this.reconsidered.set(key, answer.thought);
      if (id === this.selected) this.emit("reconsidered");
    } catch {
      // Alternatives of an annotated word are optional.
    }
  }

  /** Whether a word is annotated; see `doneMeans`. */
  isDone(row) {
    return isDone(row, this.document?.needs_upos ?? false);
  }

  get doneMeans() {
    return this.document?.needs_upos ? "head, label and UPOS" : "head and label";
  }

  get words() {
    return this.sentence?.rows.filter((row) => row.kind === "word") ?? [];
  }

  /** The selectable rows: words and empty nodes. */
  get stops() {
    return this.sentence?.rows.filter((row) => row.kind !== "multiword") ?? [];
  }

  /** The selected rows, in order. */
  get range() {
    const stops = this.stops;
    const ends = [this.anchor ?? this.selected, this.selected].map((id) => stops.findIndex((row) => row.id === id));
    return stops.slice(Math.min(...ends), Math.max(...ends) + 1);
  }

  select(id, { extend = false } = {}) {
    this.anchor = extend ? (this.anchor ?? this.selected) : null;
    this.selected = id;
    const redraw = this.preview !== null;
    this.preview = null;
    this.emit(redraw ? "sentence" : "selection");
  }

  show(preview) {
    this.preview = preview;
    this.emit("sentence");
  }

  /** Whether the next response shows another sentence or other words; keys are queued until then. */
  get moving() {
    return this.#moves > 0 || this.waiting.some((step) => step.renumbers || step.drawn.some((edit) => !edit.kind.startsWith("set-")));
  }

  /** Run an operation that ends with another sentence on the screen. */
  async move(operation) {
    this.#moves += 1;
    try {
      return await operation();
    } finally {
      this.#moves -= 1;
      this.emit("settled");
    }
  }

  async load() {
    this.document = await this.api.document();
    this.emit("document");
  }

  /** Show a sentence; select `row`, else its first unannotated word, else its first word. */
  open(number, row = this.order?.words?.get(number) ?? null) {
    return this.move(() => this.#open(number, row));
  }

  async #open(number, row) {
    if (!this.sentences.has(number)) this.keep(await this.api.sentence(number));
    this.number = number;
    Object.assign(this, { preview: null, anchor: null, because: null, second: false });
    const words = this.words;
    const wanted = row === null ? null : this.row(String(row));
    this.selected = (wanted ?? words.find((word) => !this.isDone(word)) ?? words[0] ?? this.stops[0])?.id ?? null;
    this.emit("opened");
    this.emit("sentence");
    this.#fetchAhead();
  }

  /** Show the empty file. */
  blank() {
    this.forget();
    Object.assign(this, { number: null, selected: null, anchor: null, preview: null, because: null, second: false });
    this.document.sentences = 0;
    this.emit("sentence");
  }

  /** Prefetch the next sentence. */
  #fetchAhead() {
    const next = this.neighbour(1);
    if (next === null || this.sentences.has(next)) return;
    setTimeout(async () => {
      try {
        if (!this.sentences.has(next)) this.keep(await this.api.sentence(next));
      } catch {
        // It is requested again when needed.
      }
    }, 150);
  }

  keep(sentence) {
    if (this.sentences.size > 50) {
      const shown = this.sentences.get(this.number);
      this.sentences.clear();
      if (shown) this.sentences.set(this.number, shown);
    }
    if (!sentence.thoughts) this.guesses.learn(sentence);
    this.sentences.set(sentence.number, complete(sentence));
  }

  forget() {
    this.ahead.forget();
    this.sentences.clear();
    this.guesses.forget();
  }

  /** The guessed label of a word below a head (ids); "" if there is a parser or no guess. */
  guess(id, head) {
    const [row, above] = [this.row(id), this.row(head)];
    return row && above && !this.sentence.thoughts ? this.guesses.label(row, above) : "";
  }

  /** The number of the next (1) or previous (−1) sentence in the current order; null at its end. */
  neighbour(step) {
    if (this.order) {
      const at = this.order.numbers.indexOf(this.number);
      return this.order.numbers[at < 0 ? 0 : at + step] ?? null;
    }
    const next = this.number + step;
    return next >= 0 && next < this.document.sentences ? next : null;
  }

  /** Edit the current sentence; `description` describes the edit; `again(message)` prompts again if the input is rejected. */
  edit(edits, description, { again = null } = {}) {
    if (!edits.length) return;
    const known = this.waiting.length ? null : this.ahead.after(this.number, this.sentence, edits);
    if (this.#unsigned) edits = [...edits, { kind: "set-comment", key: "annotator", value: this.api.annotator }];
    this.#push({ path: "edits", body: { edits }, drawn: edits, description, again, known: known && complete(known) });
  }

  /** Whether the annotator's name is to be added to the sentence and is missing. */
  get #unsigned() {
    return this.view.sign && this.api.annotator && !this.sentence.comments.includes(`annotator = ${this.api.annotator}`);
  }

  /** Change sentence boundaries: "split" before a row, "join" with the next sentence, or "remove". */
  extent(path, body, description) {
    this.#push({ path, body, drawn: [], description, renumbers: true });
  }

  #push(step) {
    this.emit("pushed");
    this.waiting.push({ number: this.number, before: this.sentence, ...step });
    Object.assign(this, { preview: null, second: false }); // after a change, another tree is the second-best one
    if (step.known) this.because = reasons(this.waiting.at(-1), step.known);
    this.#send(); // first, so that the server computes while this page draws
    this.emit("sentence");
    this.emit("saving");
  }

  async #send() {
    if (this.busy) return;
    this.busy = true;
    while (this.waiting.length) {
      const step = this.waiting[0];
      try {
        const version = this.sentences.get(step.number)?.version ?? step.before.version;
        const answer = await this.api.post(`sentence/${step.number}/${step.path}`, { version, ...step.body });
        this.waiting.shift();
        this.#answered(step, answer);
      } catch (refusal) {
        if (!(await this.#refused(step, refusal))) break;
      }
      this.emit("settled");
    }
    this.busy = false;
    this.emit("saving");
  }

  #answered(step, answer) {
    const sentence = answer.rows ? answer : answer.sentence;
    if (step.renumbers) {
      this.forget();
      this.load();
    }
    if (answer.sentences === 0) return void this.blank();
    if (!sentence) return void this.open(Math.min(step.number, answer.sentences - 1));
    if (step.number === this.number) this.because = reasons(step, sentence);
    this.keep(sentence);
    Object.assign(this.document, { saved: false, can_undo: true, can_redo: false });
    this.connection(true);
    if (!this.document.needs_upos && step.drawn.some((edit) => edit.column === "upos")) this.load().then(() => this.emit("counts")); // the first tag of the file
    if (step.number === this.number) {
      if (!this.row()) this.selected = this.words[0]?.id ?? null;
      this.emit("sentence");
    }
    this.emit("changed", step);
  }

  /** Handle a failed request; true: continue with the pending changes. */
  async #refused(step, refusal) {
    if (refusal.status === 0 || refusal.status === 403) { // no server, or restarted with another token
      this.connection(false);
      await wait(1000);
      return true;
    }
    if (refusal.status === 409) {
      const present = refusal.body?.sentence ?? (refusal.body?.rows ? refusal.body : await this.api.sentence(step.number));
      const clashes = clashesOf(step, present), moved = rowsDiffer(step.before, present);
      this.keep(present);
      this.emit("sentence");
      if (moved) { // split or joined elsewhere, or this edit succeeded and its response was lost: its row may be another word now
        this.waiting.shift();
        this.emit("refused", { step, refusal: { message: "the words of the sentence have changed; check whether the edit is still needed" } });
        return true;
      }
      if (clashes.length && !step.insists) {
        this.busy = false;
        this.emit("conflict", { step, clashes });
        return false;
      }
      step.tries = (step.tries ?? 0) + 1;
      if (step.tries < 4) return true;
    }
    this.waiting.shift();
    this.emit("sentence");
    this.emit("refused", { step, refusal });
    return true;
  }

  /** Resolve a conflict: send my edit again, or discard it. */
  settle(step, mine) {
    if (mine) step.insists = true;
    else this.waiting.shift();
    this.emit("sentence");
    this.emit("settled");
    this.#send();
  }

  connection(connected) {
    if (connected === this.connected) return;
    this.connected = connected;
    this.emit("connection");
  }

  /** Undo or redo, after the pending changes. */
  back(which) {
    return this.move(() => this.#back(which));
  }

  async #back(which) {
    while (this.busy) await wait(10);
    const answer = await this.api.post(which);
    if (answer.number === null) return null;
    if (!answer.sentence) {
      this.blank();
      this.load();
      return answer;
    }
    this.forget();
    this.keep(answer.sentence);
    this.document.saved = false;
    const keep = answer.number === this.number ? this.selected : null;
    await this.open(answer.number, keep);
    this.emit("changed", { number: answer.number, description: answer.description });
    await this.load();
    this.emit("counts"); // undoing a mass edit changes other sentences too
    return answer;
  }

  /** Reload sentences that were changed on the server (null: any may have changed); `own`: by this window. */
  async refresh(numbers, { own = false } = {}) {
    this.ahead.forget();
    for (const number of numbers ?? [...this.sentences.keys()]) if (number !== this.number) this.sentences.delete(number);
    if (numbers !== null && !numbers.includes(this.number)) return;
    if (this.waiting.some((step) => step.number === this.number)) return; // the response to the pending change will have the new state
    const at = this.number, before = this.sentences.get(at)?.version;
    const number = Math.min(at, this.document.sentences - 1);
    const now = await this.api.sentence(number);
    this.keep(now);
    if (this.number !== at) return; // the user moved on meanwhile
    this.number = number;
    if (!this.row()) this.selected = this.words[0]?.id ?? null;
    this.emit("sentence");
    if (now.version !== before && !own) this.emit("elsewhere", number);
  }
}

/** A sentence of the server with defaults filled in. */
function complete(sentence) {
  const notes = (sentence.notes ?? []).map((note) => (typeof note === "string" ? { on: "", text: note } : note));
  return { ...sentence, notes, findings: sentence.findings ?? [], doubts: sentence.doubts ?? [] };
}
