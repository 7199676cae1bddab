// Edits of the structure of a sentence: splitting and joining words and sentences, multiword tokens, empty nodes; and notes.

import { button, el, tell } from "./dom.js";
import { inWords } from "./edits.js";
import { ask, dialog } from "./popups.js";

export class Shape {
  constructor(state, editor) {
    this.state = state;
    this.editor = editor;
  }

  /** Split the selected word where a space is typed. Parts that do not spell the word become a multiword token, so that the text is unchanged. */
  splitWord() {
    const row = this.state.row();
    if (row?.kind !== "word") return;
    const inside = this.#tokenOf(row.id) !== null, spells = (forms) => forms.join("") === row.form.replace(/\s+/gu, "");
    ask({
      at: this.editor.spot(), title: `Split ${row.id} ${row.form}`, value: row.form, caret: Math.ceil(row.form.length / 2),
      hint: (text) => {
        const forms = wordsOf(text);
        if (forms.length < 2) return "Type a space at each split point.";
        return spells(forms) || inside ? `Words: ${forms.join(" + ")}` : `Multiword token ${row.form} = ${forms.join(" + ")}; the text keeps ${row.form}.`;
      },
      entered: (text) => this.#split(row, wordsOf(text), !inside && !spells(wordsOf(text))),
      choices: [
        { text: "Split sentence before this word", run: () => this.splitSentence() },
        ...(inside ? [] : [{ text: "As a multiword token …", run: (text) => this.splitToken(text) }]),
      ],
    });
  }

  #split(row, forms, multiword) {
    if (forms.length < 2) return tell("Type a space where the word should be split.", "bad");
    const description = multiword ? `${row.form} is now a token of ${forms.join(" ")}` : `${row.form} was split into ${forms.join(" ")}`;
    return this.state.edit([{ kind: "split-word", row: row.id, forms, keep: 1, multiword }], description);
  }

  /** Split a word into the words of a multiword token, which keeps its form; `typed`: the words typed so far. */
  splitToken(typed = null) {
    const row = this.state.row();
    if (row?.kind !== "word") return;
    ask({
      at: this.editor.spot(), title: `Words of the token ${row.form}`, value: typed ?? row.form, caret: typed === null ? null : typed.length,
      hint: "Its words, separated by spaces, for example: de le. The token keeps its form.",
      entered: (text) => this.#split(row, wordsOf(text), true),
    });
  }

  /** The multiword token that contains a word, or null. */
  #tokenOf(id) {
    return this.state.sentence.rows.find((row) => {
      const [first, last] = row.id.split("-").map(Number);
      return row.kind === "multiword" && first <= Number(id) && Number(id) <= last;
    }) ?? null;
  }

  /** The text of some words, as written in the sentence. */
  #textOf(rows) {
    const glued = (row) => row.misc.split("|").includes("SpaceAfter=No");
    return rows.map((row, k) => (k + 1 < rows.length && !glued(row) ? `${row.form} ` : row.form)).join("");
  }

  /** Join the selected words, or the selected one with the next. */
  joinWords() {
    const words = this.state.words, chosen = this.state.range.filter((row) => row.kind === "word");
    const at = words.findIndex((row) => row.id === chosen[0]?.id);
    const rows = chosen.length > 1 ? chosen : words.slice(at, at + 2);
    if (rows.length < 2) return tell("There is no next word to join with.", "bad");
    const token = this.#tokenOf(rows[0].id), whole = token?.id === `${rows[0].id}-${rows.at(-1).id}`;
    const text = whole ? token.form : token ? rows.map((row) => row.form).join("") : this.#textOf(rows);
    return ask({
      at: this.editor.spot(), title: `Join ${rows.map((row) => row.form).join(" ")}`, value: text,
      hint: (form) => (token && !whole ? "The form of the joined word." : changesText(text, form, "The form of the joined word.")),
      entered: (form) => this.state.edit(
        [{ kind: "join-words", first: rows[0].id, last: rows.at(-1).id, form: form.trim() || null }], `${rows.map((row) => row.form).join(" ")} were joined`),
      choices: [{ text: "Join sentence with the next one", run: () => this.joinSentences() }],
    });
  }

  /** Make the selected words a multiword token, or rename or remove the token that contains the word. */
  multiword() {
    const { state, editor } = this, token = this.#tokenOf(state.selected);
    if (token) {
      const [first, last] = token.id.split("-").map(Number);
      const spelled = state.words.filter((row) => first <= Number(row.id) && Number(row.id) <= last).map((row) => row.form).join("") === token.form;
      return ask({
        at: editor.spot(), title: `Multiword token ${token.id}`, value: token.form, hint: (form) => changesText(token.form, form),
        entered: (form) => editor.field(token.id, "form", form),
        choices: [{ text: spelled ? "Remove token" : "Remove token (changes the text)", run: () => state.edit([{ kind: "remove-multiword", row: token.id }], `token ${token.id} was removed`) }],
      });
    }
    const words = state.words, chosen = state.range.filter((row) => row.kind === "word");
    const at = words.findIndex((row) => row.id === chosen[0]?.id);
    const rows = chosen.length > 1 ? chosen : words.slice(at, at + 2);
    if (rows.length < 2) return tell("A multiword token has at least two words. Select them with Shift and the arrow keys.", "bad");
    const text = this.#textOf(rows);
    return ask({
      at: editor.spot(), title: `Multiword token of ${rows.map((row) => row.form).join(" + ")}`, value: text,
      hint: (form) => changesText(text, form, "Its form in the text. To include more words, select them first with Shift and the arrow keys."),
      entered: (form) => state.edit(
        [{ kind: "make-multiword", first: rows[0].id, last: rows.at(-1).id, form: form.trim() || null }], `${rows.map((row) => row.form).join(" ")} are now one token`),
    });
  }

  splitSentence() {
    const row = this.state.row();
    if (row?.kind !== "word" || row.id === "1") return tell("Select the first word of the second sentence.", "bad");
    return this.state.extent("split", { row: row.id }, `the sentence was split before ${row.id} ${row.form}`);
  }

  joinSentences() {
    if (this.state.number + 1 >= this.state.document.sentences) return tell("This is the last sentence.", "bad");
    return this.state.extent("join", {}, "the sentence was joined with the next one");
  }

  async removeSentence() {
    const sure = await dialog("Remove the sentence?", (close) => [
      el("p", {}, "You can undo this."),
      el("p", { class: "buttons" }, button("Remove", () => close(true), { class: "main" }), button("Keep", () => close(false), { autofocus: true })),
    ]);
    if (sure) this.state.extent("remove", {}, "the sentence was removed");
  }

  /** Add sentences before this one or at the end, pasted as CoNLL-U or as text with one sentence per line, which the server tokenizes. */
  async insert({ atEnd = false, file = null } = {}) {
    const { state } = this, before = atEnd || file || state.number === null ? null : state.number;
    const text = el("textarea", { rows: 12, cols: 70, "aria-label": "Sentences", spellcheck: "false", dir: "auto" });
    const title = file ? `Add sentences at the end of ${file}` : before === null ? "Add sentences at the end" : `Insert sentences before sentence ${before + 1}`;
    const pasted = await dialog(title, (close) => [el("p", { class: "soft" }, "Plain text with one sentence per line, or CoNLL-U."), text, el("p", { class: "buttons" }, button("Insert", () => close(text.value), { class: "main" }), button("Cancel", () => close()))]);
    if (!pasted?.trim()) return;
    try {
      const isText = !pasted.includes("\t"), count = state.document.sentences;
      const answer = await state.api.post("insert", { before, file, ...(isText ? { text: pasted } : { conllu: `${pasted.trim()}\n\n` }) });
      state.forget();
      await state.load();
      await state.open(answer.number);
      const added = answer.sentences - count, cut = !isText ? "" : answer.tokenizer ? `, tokenized by ${answer.tokenizer === "trained" ? "the model trained here" : answer.tokenizer}` : ", tokenized by simple rules (the model has no tokenizer)";
      tell(`${added} ${added === 1 ? "sentence" : "sentences"} added${cut}.`, "good");
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  /** Tokenize the sentence again with the model's tokenizer, after a preview of the changes. */
  async retokenize() {
    const { state } = this;
    try {
      const { tokenizer, edits } = await state.api.get(`sentence/${state.number}/tokenization`);
      const name = tokenizer === "trained" ? "The tokenizer trained here" : `The tokenizer of the model (${tokenizer})`;
      if (!edits.length) return tell(`${name} would tokenize the sentence in the same way.`, "good");
      const wanted = await dialog("Tokenize the sentence again", (close) => [
        el("p", { class: "soft" }, `${name} suggests these changes, listed from the end of the sentence. Words that stay keep their annotation.`),
        el("ol", {}, edits.map((edit) => el("li", {}, inWords(edit)))),
        el("p", { class: "buttons" }, button("Apply", () => close(true), { class: "main" }), button("Cancel", () => close()))]);
      if (wanted) state.edit(edits, "the sentence was tokenized again");
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  /** Add an empty node after the selected word. */
  addEmpty() {
    const row = this.state.row();
    if (!row) return;
    ask({
      at: this.editor.spot(), title: `Empty node after ${row.id} ${row.form}`, value: "", hint: "Its form (optional). Edit its arcs in DEPS, in the table.",
      entered: (form) => this.state.edit([{ kind: "add-empty-node", after: row.id, form: form.trim() || "_", deps: [] }], `an empty node was added after ${row.id} ${row.form}`),
    });
  }

  removeEmpty() {
    const row = this.state.row();
    if (row?.kind !== "empty") return tell("Select an empty node.", "bad");
    return this.state.edit([{ kind: "remove-empty-node", row: row.id }], `empty node ${row.id} was removed`);
  }

  /** A note on the sentence (""), a word ("3") or an arc ("5>3"); an empty text removes it. */
  note(on) {
    const old = this.state.sentence.notes.find((note) => note.on === on);
    const what = on === "" ? "the sentence" : on.includes(">") ? `the arc ${on}` : `${on} ${this.state.row(on)?.form ?? ""}`;
    const row = on === this.state.selected ? this.state.row() : null;
    ask({
      at: this.editor.spot(), title: `Note on ${what}`, value: old?.text ?? "", hint: "Stored as a comment of the sentence. Leave empty to remove the note.",
      entered: (text) => text.trim() !== (old?.text ?? "") && this.state.edit([{ kind: "set-note", on, text: text.trim() }], `note on ${what}`),
      choices: [
        ...(row && row.head !== "_" && row.kind === "word" ? [{ text: "On its arc", run: () => this.note(`${row.head}>${row.id}`) }] : []),
        ...(on !== "" ? [{ text: "On the sentence", run: () => this.note("") }] : []),
      ],
    });
  }
}

const wordsOf = (text) => text.split(/\s+/u).filter(Boolean);

/** A hint that a form differs from the text; else `otherwise`. */
const changesText = (before, form, otherwise = "") => (form.trim() && form.trim() !== before ? `Changes the text of the sentence, too: ${before} → ${form.trim()}` : otherwise);
