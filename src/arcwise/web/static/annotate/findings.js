// Checking the whole file: findings by rule, each opens in the editor.

import { button, el, show } from "./dom.js";
import { inWords } from "./edits.js";
import { findingsOf } from "./picture.js";

export class Checks {
  constructor(box, state) {
    Object.assign(this, { box, state, findings: [] });
    this.start = button("Check the whole file", () => this.check(), { class: "main" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("div", { class: "findings" });
    this.doubts = button("Look for improbable words", () => this.#findDoubts(), { title: "Words whose annotation is improbable for parsers that never saw the sentence" });
    show(box, el("p", { class: "buttons" }, this.start, this.doubts), this.line, this.list);
  }

  shown() {
    if (!this.findings.length) this.check();
  }

  focus() {
    this.start.focus();
  }

  async #findDoubts() {
    try {
      await this.state.api.post("doubts");
      this.line.textContent = "Looking in the background: improbable words get a ? below them.";
    } catch (refusal) {
      this.line.textContent = refusal.message;
    }
  }

  async check() {
    this.line.textContent = "Checking …";
    let answer;
    try {
      answer = await this.state.api.validate({ from: 0, count: 1000 });
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    if (answer.ready === false) return; // the server tells when it has checked
    const total = answer.total;
    this.findings = answer.findings;
    this.line.textContent = total ? `${total} ${total === 1 ? "finding" : "findings"}.` : "Nothing wrong.";
    const rules = new Map();
    for (const one of this.findings) rules.set(one.rule, [...(rules.get(one.rule) ?? []), one]);
    show(this.list, [...rules].map(([rule, own]) => el("details", { open: rules.size <= 5 ? true : null }, el("summary", {}, `${rule} (${own.length})`),
      el("ol", { class: "items" }, own.slice(0, 200).map((one) => el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.open(one) },
        el("span", { class: "soft" }, `${one.sentence + 1} ${one.sent_id ?? ""}${one.row ? `, word ${one.row}` : ""}`), el("span", { class: "text" }, one.message),
        one.repair ? el("small", {}, `repair: ${one.repair.told ?? one.repair.edits.map(inWords).join("; ")}`) : null)))))));
  }

  async open(one) {
    await this.state.open(one.sentence, one.row);
    document.getElementById("tree").focus();
  }
}

/** The finding that "repair" repairs: of the selected word before others. */
export function repairable(sentence, row) {
  const found = findingsOf(sentence).filter((one) => one.repair);
  return found.find((one) => one.row === row) ?? found.find((one) => !one.row) ?? found[0] ?? null;
}
