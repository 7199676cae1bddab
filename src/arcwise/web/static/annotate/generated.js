// Suggested enhanced dependencies, derived by rule from the tree for words without DEPS. They are shown while the enhanced
// graph is; only visible suggestions can be accepted.

import { button, el, say, tell } from "./dom.js";
import { depsText } from "./edits.js";

const READ = ["id", "form", "lemma", "upos", "feats", "head", "deprel", "misc"]; // columns that the rules read
const KEPT = 50; // answers kept

export class GeneratedDeps {
  #answers = new Map(); // key → the server's answer; null until it arrives

  constructor(state) {
    this.state = state;
    for (const name of ["sentence", "view", "changed"]) state.on(name, () => this.#ask());
  }

  get #key() {
    const { sentence, number } = this.state;
    return JSON.stringify([number, sentence.rows.map((row) => READ.map((column) => row[column]))]);
  }

  /** The answer for the sentence as shown; null while there is none, or the enhanced graph is hidden. */
  get #answer() {
    return this.state.view.enhanced && this.state.sentence ? (this.#answers.get(this.#key) ?? null) : null;
  }

  async #ask() {
    const { state } = this, { sentence, number } = state;
    if (!state.view.enhanced || !sentence || state.waiting.length) return;
    const key = this.#key;
    if (this.#answers.has(key)) return;
    if (this.#answers.size >= KEPT) this.#answers.clear();
    this.#answers.set(key, null);
    try {
      const answer = await state.api.get(`sentence/${number}/enhanced`);
      if (answer.version === sentence.version) this.#answers.set(key, answer);
      else this.#answers.delete(key); // of another window's version; requested again when it is shown
    } catch {
      this.#answers.delete(key); // suggestions are optional
    }
    if (this.#answer) state.emit("sentence");
  }

  /** Why nothing is suggested, or "". */
  get note() {
    return this.#answer?.note ?? "";
  }

  /** The suggestions on the screen: [{id, form, arcs: [{head, label, rule, description}]}]. */
  get suggestions() {
    const words = this.#answer?.words;
    if (!words) return [];
    return this.state.words.filter((row) => row.deps === "_" && words[row.id]).map((row) => ({ id: row.id, form: row.form, arcs: words[row.id] }));
  }

  /** Accept suggestions, as one undo step. */
  #accept(suggestions) {
    const edits = suggestions.map(({ id, arcs }) => ({ kind: "set-deps", row: id, deps: arcs.map(({ head, label }) => [head, label]) }));
    const [{ id, form, arcs }] = suggestions, single = suggestions.length === 1;
    this.state.edit(edits, single ? `DEPS of ${id} ${form} is ${depsText(edits[0].deps)}` : `DEPS of ${suggestions.length} words were accepted`);
    if (single) say(`DEPS ${arcs.map(({ head, label }) => `${label} of ${head}`).join(", ")} accepted.`);
    else tell(`DEPS of ${suggestions.length} words accepted.`, "good");
  }

  /** Accept the suggestions for a word. */
  word(id = this.state.selected) {
    const suggestion = this.suggestions.find((entry) => entry.id === id);
    if (!suggestion) return this.#none("for this word");
    return this.#accept([suggestion]);
  }

  /** Accept all suggestions of the sentence. */
  sentence() {
    const { suggestions } = this;
    if (!suggestions.length) return this.#none("in this sentence");
    return this.#accept(suggestions);
  }

  #none(where) {
    if (!this.state.view.enhanced) return tell("Show the enhanced graph first (Shift H): only what is on the screen is accepted.");
    return tell(`No enhanced dependencies are suggested ${where}${this.note ? `: the sentence ${this.note}` : ""}.`);
  }

  /** The list of suggestions below the tree; null if there are none. */
  panel() {
    const { suggestions, note, state } = this;
    if (note) return el("p", { class: "line soft generated" }, `No enhanced dependencies are suggested: the sentence ${note}.`);
    if (!suggestions.length) return null;
    const line = ({ id, form, arcs }) => el("li", { class: id === state.selected ? "now" : null, "data-generated": id },
      button("✓", () => this.word(id), { "aria-label": `Accept DEPS of ${id} ${form}`, title: "Accept these arcs (Alt Shift Enter for the selected word)" }), el("b", {}, `${id} `, el("bdi", {}, form)),
      arcs.map(({ head, label, rule, description }) => el("span", { class: "suggested", title: description }, `${head}:${label} `, el("small", {}, rule))));
    return el("section", { class: "generated", "aria-label": "Suggested enhanced dependencies" },
      el("p", { class: "line" }, "Suggested enhanced dependencies, with their rules ", button(`Accept all (${suggestions.length})`, () => this.sentence(), { title: "Write all arcs of this list (Ctrl Shift Enter)" })),
      el("ol", { tabindex: "0", "aria-label": "Suggested arcs" }, suggestions.map(line)));
  }
}
