// What there is to see after Enter: asked for while nobody presses a key, so that Enter shows at once what the parser thinks then. It is shown
// only for exactly the edits that it was asked for, and the server's answer takes its place.

import { decide } from "./edits.js";
import { arcOf } from "./picture.js";

const QUIET = 25; // milliseconds without a change before the server is asked

export class Ahead {
  constructor(state) {
    Object.assign(this, { state, asked: "", found: null, timer: null });
    for (const name of ["sentence", "selection"]) state.on(name, () => this.#later());
  }

  #later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#ask(), QUIET);
  }

  /** What Enter would do with the selected word. */
  #edits() {
    const { state } = this, row = state.row(), preview = state.preview;
    if (row?.kind !== "word" || !state.thought()) return [];
    const arc = arcOf(row, state.thought()), head = preview?.head ?? arc.head, label = preview?.label ?? arc.label;
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
      // Then it is seen when the server has done it.
    }
  }

  /** The sentence after some edits of a sentence, if that is known; else null. */
  after(number, sentence, edits) {
    return this.found?.key === JSON.stringify([number, sentence?.version, edits]) ? this.found.sentence : null;
  }

  /** Another parser thinks along, or another program writes: what was asked for is no longer so. */
  forget() {
    Object.assign(this, { asked: "", found: null });
  }
}
