// The sentence as it will be after Enter, requested while the user is idle, so that Enter shows the new suggestions at once.
// Used only for exactly the edits it was requested for, until the server's response replaces it.

import { decide } from "./edits.js";
import { arcOf, inTree } from "./picture.js";

const QUIET = 25; // milliseconds without a change before the request

export class Lookahead {
  constructor(state) {
    Object.assign(this, { state, asked: "", found: null, timer: null });
    for (const name of ["sentence", "selection"]) state.on(name, () => this.#later());
  }

  #later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), QUIET);
  }

  /** The edits that Enter would make to the selected word. */
  #edits() {
    const { state } = this, row = state.row(), preview = state.preview;
    if (row?.kind !== "word" || !state.thought()) return [];
    const arc = inTree(arcOf(row, state.thought()), row.id, state.secondBest), head = preview?.head ?? arc.head, label = preview?.label ?? arc.label;
    return head === null || !label ? [] : decide(row, head, label);
  }

  async #ask() {
    const { state } = this, { number, sentence } = state;
    const edits = sentence && !state.waiting.length ? this.#edits() : [];
    const key = JSON.stringify([number, sentence?.version, edits]);
    if (!edits.length || key === this.asked) return;
    this.asked = key;
    try {
      const answer = await state.api.would(number, edits);
      if (key === this.asked) this.found = { key: JSON.stringify([number, answer.version, edits]), sentence: answer.sentence };
    } catch {
      // The response to the edit itself will show it.
    }
  }

  /** The sentence after some edits, if it was requested and has arrived; else null. */
  after(number, sentence, edits) {
    return this.found?.key === JSON.stringify([number, sentence?.version, edits]) ? this.found.sentence : null;
  }

  /** Discard everything: the model or the file has changed. */
  forget() {
    Object.assign(this, { asked: "", found: null });
  }
}
