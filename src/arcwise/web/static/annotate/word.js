// The panel below the tree: the selected word, its possible arcs with probabilities, findings, and why its suggestion changed.

import { breakable, button, el, percent, show } from "./dom.js";
import { focusTree } from "./popups.js";
import { inWords, labelDecided, theirEdits } from "./edits.js";
import { guideline } from "./completion.js";
import { ALL_LIKE_THIS } from "./findings.js";
import { STATE_NAMES, findingsOf, noteRow } from "./picture.js";
import { ROWS, TAG_COLUMNS } from "./rows.js";

const MOST = 3; // findings shown at once
const RARE = 0.01; // alternatives below this are folded
const SOON = 60; // milliseconds to wait for a response before drawing without it
const FIELDS = ["upos", "xpos", "feats", "lemma", "misc"];

export class WordPanel {
  constructor(box, state, editor, page) {
    Object.assign(this, { box, state, editor, page, planned: false, soon: null });
    for (const name of ["sentence", "selection", "reconsidered", "view"]) state.on(name, () => this.#later());
    box.addEventListener("click", (event) => event.target.closest("button") && focusTree()); // the button is about to be redrawn
  }

  /** Draw after the response to a pending change, which has new alternatives; otherwise with the tree. */
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
    show(this.box, this.#sentenceLine(sentence), row ? this.#word(row) : null, row ? this.#arcs(row) : null, this.#findings(sentence, row), this.state.generated.panel());
  }

  #sentenceLine(sentence) {
    const words = this.state.words, open = words.filter((row) => !this.state.isDone(row)).length;
    const thoughts = sentence.thoughts, untagged = words.filter((row) => !this.editor.isOpen(row) && !this.state.isDone(row)).length;
    const parts = [open || words.length < 3 ? `${words.length - open} of ${words.length} words annotated` : `all ${words.length} words annotated`];
    if (untagged) parts.push(`${untagged} without UPOS`);
    if (thoughts && open && thoughts.entropy !== null && thoughts.entropy !== undefined) parts.push(`entropy ${thoughts.entropy.toFixed(2)}`);
    if (this.state.document.read_only) parts.push(`read-only: ${this.state.document.read_only}`);
    if (!this.state.document.model) parts.push("no model, so no suggestions; train one (Shift A)");
    const second = thoughts?.second_best;
    return el("p", { class: "line soft", title: `Annotated: ${this.state.doneMeans}` }, parts.join(" · "),
      this.state.second ? el("strong", {}, second ? ` · second-best tree, ${percent(second.probability)}` : " · no second-best tree") : null,
      this.#hidden(), thoughts?.note ? el("span", { class: "why" }, ` · ${thoughts.note}`) : null);
  }

  #word(row) {
    const suggestions = this.page.acceptance.tags(TAG_COLUMNS, [row]);
    const fields = FIELDS.map((name) => this.#field(row, name, suggestions.find((entry) => entry.column === name)));
    return el("div", { class: "line word-line" },
      el("strong", { class: "which" }, `${row.id} `, el("bdi", {}, row.form)), this.#state(row), fields,
      row.kind === "word" ? el("span", { class: "word-buttons" },
        button("Choose head", () => this.editor.chooseHead(), { title: "Choose the head (Space)" }),
        button("Label", () => this.editor.label(""), { title: "Choose the label (type its first letters)" }),
        button("UPOS", () => this.editor.tag("upos"), { title: "Tag (Shift T)" }),
        suggestions.length > 1 ? button("Accept tags", () => this.page.acceptance.word(), { title: `Accept ${suggestions.map((entry) => `${ROWS[entry.column]} ${entry.value}`).join(", ")} (Alt Enter)` }) : null) : null);
  }

  /** A field of the word: a click edits it, or accepts it if it is a suggestion. */
  #field(row, name, suggestion) {
    if (suggestion) {
      return el("button", { type: "button", class: "field suggested", "data-field": name, title: "Accept this suggestion", onclick: () => this.page.acceptance.accept([suggestion]) },
        el("small", {}, name.toUpperCase()), " ", el("bdi", {}, breakable(suggestion.value)), suggestion.p === null ? "" : el("small", {}, ` ${percent(suggestion.p)}`));
    }
    if (row[name] === "_") return null;
    return el("button", { type: "button", class: "field plain", "data-field": name, title: `Edit ${name.toUpperCase()}`, onclick: () => (name === "misc" ? this.editor.askField("misc", "Name=Value|Name=Value") : this.editor.editRow(name)) },
      el("small", {}, name.toUpperCase()), " ", el("bdi", {}, breakable(row[name])));
  }

  /** Suggestions that are not on the screen: a click shows their row. */
  #hidden() {
    const { state, page } = this, counts = TAG_COLUMNS.filter((column) => !page.acceptance.shown.includes(column)).map((column) => [column, page.acceptance.tags([column]).length]).filter(([, count]) => count);
    if (!counts.length) return null;
    return el("span", {}, " · suggested, not shown: ", counts.map(([column, count], k) => [k ? ", " : "", button(`${count} ${ROWS[column]}`, () => state.look({ rows: Object.keys(ROWS).filter((row) => row === column || state.view.rows.includes(row)) }), { class: "link inline", title: `Show ${ROWS[column]} below the words` })]));
  }

  /** The missing annotations of a word, or "annotated". */
  #state(row) {
    if (row.kind === "empty") return el("span", { class: "state" }, "empty node");
    const [state, name] = row.state !== "decided" ? [row.state, STATE_NAMES[row.state]]
      : !labelDecided(row) ? [row.label_state, row.label_state === "open" ? "no label" : "label suggested"]
        : this.state.isDone(row) ? ["decided", STATE_NAMES.decided]
          : [row.upos_state, row.upos_state === "open" ? "no UPOS" : "UPOS suggested"];
    return el("span", { class: `state ${state}`, title: `Annotated: ${this.state.doneMeans}` }, name);
  }

  #arcs(row) {
    const { editor, state } = this, arc = editor.arc();
    if (!arc) return null;
    const choice = (head, label, p, attributes, sign) => el("button", { type: "button", ...attributes },
      el("span", { class: "bar", "data-p": p ?? 0 }), el("span", { class: "sign" }, sign), el("b", {}, label || "?"),
      el("span", { class: "from" }, "← ", String(head) === "0" ? "the root" : [`${head} `, el("bdi", {}, state.row(String(head))?.form ?? "")]), el("span", { class: "p" }, percent(p)));
    const preview = state.preview;
    const shown = arc.head === null ? [] : [choice(arc.head, arc.label, arc.labelProbability ?? arc.probability, {
      class: `choice ${arc.state}${preview ? "" : " now"}`, title: arc.state === "decided" ? "annotated" : "accept (Enter)",
      onclick: () => editor.takeAlternative(row.id, arc.head, arc.label),
    }, arc.state === "decided" && arc.labelState === "decided" ? "✓" : "⏎")];
    const alternatives = editor.others(), rare = alternatives.filter(([, , p]) => p !== null && p < RARE), best = alternatives[0];
    const other = ([head, label, p]) => choice(head, label, p, {
      class: `choice${preview && preview.head === String(head) && preview.label === label ? " now" : ""}`, title: "use this arc (↓ … Enter)",
      onclick: () => editor.takeAlternative(row.id, head, label),
    }, "↓");
    const list = el("div", { class: "choices", role: "group", "aria-label": `Arcs of ${row.id} ${row.form}` }, shown, alternatives.filter((entry) => !rare.includes(entry)).map(other));
    const folded = rare.length ? el("details", { class: "rare", open: rare.some(([head, label]) => preview?.head === String(head) && preview.label === label) },
      el("summary", {}, `${rare.length} more below 1 %`), el("div", { class: "choices" }, rare.map(other))) : null;
    const shownP = arc.labelProbability ?? arc.probability;
    const contrary = arc.state === "proposed" && shownP !== null && best && best[2] > shownP
      ? el("p", { class: "line why" }, `${best[1]} of ${editor.name(String(best[0]))} is more probable by itself (${percent(best[2])}), but the tree with ${arc.label} of ${editor.name(arc.head)} is better as a whole.`) : null;
    for (const bar of [list, folded].flatMap((part) => (part ? [...part.querySelectorAll(".bar")] : []))) bar.style.width = `${Math.round(100 * Number(bar.dataset.p))}%`;
    const typed = editor.digits ? el("p", { class: "line" }, `head ${editor.digits}… type more digits, or press Enter`) : null;
    const why = state.because?.changed.get(row.id);
    const also = state.because && [...state.because.changed.keys()].filter((id) => id !== row.id);
    return el("div", {}, typed, list, folded, contrary,
      why ? el("p", { class: "line why" }, `${row.id} ${row.form} ${why}.`) : null,
      this.#guidelines(row, arc),
      also?.length ? el("p", { class: "line why" }, `Suggestions changed because ${state.because.description}: `,
        also.slice(0, 12).map((id) => button(editor.name(id), () => editor.select(id), { class: "link", title: state.because.changed.get(id) }))) : null);
  }

  /** Links to the guidelines for the shown label and tag. */
  #guidelines(row, arc) {
    const upos = this.page.acceptance.tags(["upos"], [row])[0]?.value ?? row.upos;
    const links = [["dep", arc.label], ["pos", upos]].flatMap(([kind, name]) => {
      const address = guideline(this.state.document, kind, name);
      return address ? [el("a", { href: address, target: "_blank", rel: "noopener noreferrer", title: `${name} in the UD guidelines` }, `${name} ↗`)] : [];
    });
    return links.length ? el("p", { class: "line soft guidelines" }, "Guidelines: ", links.map((link, k) => [k ? " · " : "", link])) : null;
  }

  #findings(sentence, row) {
    const here = (entry) => !entry.row || entry.row === row?.id;
    const all = findingsOf(sentence), shown = all.filter(here).sort((a, b) => (a.row ? 0 : 1) - (b.row ? 0 : 1)), elsewhere = all.length - shown.length;
    const line = (entry) => el("li", { class: `finding${entry.warning ? " warning" : ""}` }, el("b", {}, entry.rule === "merge-conflict" ? "⇄ " : "! "), entry.message, el("small", {}, ` ${entry.rule}`),
      entry.repair ? button(`. ${entry.repair.description}`, () => this.page.repair(entry), { class: "repair", title: entry.repair.edits.map(inWords).join("; ") }) : null,
      theirEdits(entry) ? button(", take theirs", () => this.state.edit(theirEdits(entry), `${entry.row} ${entry.column.toUpperCase()} is theirs`), { class: "repair", title: theirEdits(entry).map(inWords).join("; ") }) : null);
    const lines = shown.slice(0, MOST).map(line);
    if (shown.length > MOST) lines.push(el("li", {}, el("details", {}, el("summary", {}, `${shown.length - MOST} more findings in this sentence`), el("ul", { class: "lines" }, shown.slice(MOST).map(line)))));
    const suspicious = sentence.doubts.filter((entry) => entry.row === row?.id).map((entry) => el("li", { class: "doubt-line" }, el("b", {}, "? "),
      `Suspicious: ${percent(entry.probability)} probability of an error`,
      entry.instead ? `; proposed: ${entry.instead.label} of ${this.editor.name(String(entry.instead.head))} ` : " ",
      entry.instead ? button("Use it", () => this.#take(entry)) : null,
      button("All like this", () => this.page.changeAll(entry), { title: ALL_LIKE_THIS }),
      button("It is right", () => this.page.judge(entry.row, "correct"), { title: "Similar words become less suspicious" }),
      button("Never ask", () => this.page.judge(entry.row, "acknowledged"), { title: "Do not list this arc again" }),
      entry.reasons?.length ? el("ul", { class: "reasons" }, entry.reasons.map((reason) => el("li", {}, reason))) : null));
    const notes = sentence.notes.filter((entry) => entry.on === "" || noteRow(entry.on) === row?.id)
      .map((entry) => el("li", { class: "note-line" }, el("b", {}, "✎ "), entry.on ? `${entry.on}: ` : "", el("bdi", {}, entry.text)));
    const differences = Object.entries(sentence.beside?.rows?.[row?.id] ?? {}).map(([column, [ours, theirs]]) =>
      el("li", {}, el("b", {}, "≠ "), `${column.toUpperCase()}: here ${ours}, other file ${theirs}`));
    const more = elsewhere ? el("li", { class: "soft" }, `${elsewhere} more ${elsewhere === 1 ? "finding" : "findings"} at other words (press ! to go there)`) : null;
    return el("ul", { class: "lines" }, lines, suspicious, notes, differences, more);
  }

  /** Accept the proposal, which also records that the annotation was wrong. */
  async #take(entry) {
    await this.page.judge(entry.row, "error");
    this.editor.takeAlternative(entry.row, entry.instead.head, entry.instead.label);
  }
}
