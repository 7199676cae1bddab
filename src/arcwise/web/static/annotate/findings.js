// The Checks panel: findings of the whole file, grouped by rule; each opens in the editor.

import { button, el, show } from "./dom.js";
import { inWords } from "./edits.js";
import { findingsOf } from "./picture.js";

export class Checks {
  constructor(box, state) {
    Object.assign(this, { box, state, findings: [] });
    this.start = button("Check the whole file", () => this.check(), { class: "main" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("div", { class: "findings" });
    this.suspicious = button("Find suspicious annotations", () => this.#findSuspicious(), { title: "Words whose annotation is improbable for parsers trained on the other sentences" });
    show(box, el("p", { class: "buttons" }, this.start, this.suspicious), this.line, this.list);
  }

  shown() {
    if (!this.findings.length) this.check();
  }

  focus() {
    this.start.focus();
  }

  async #findSuspicious() {
    try {
      await this.state.api.post("doubts");
      this.line.textContent = "Searching in the background; suspicious words get a ? below them.";
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
    if (answer.ready === false) return; // an event announces the end of the check
    const total = answer.total;
    this.findings = answer.findings;
    this.line.textContent = total ? `${total} ${total === 1 ? "finding" : "findings"}.` : "No problems found.";
    const rules = new Map();
    for (const finding of this.findings) rules.set(finding.rule, [...(rules.get(finding.rule) ?? []), finding]);
    show(this.list, [...rules].map(([rule, findings]) => el("details", { open: rules.size <= 5 ? true : null }, el("summary", {}, `${rule} (${findings.length})`),
      el("ol", { class: "items" }, findings.slice(0, 200).map((finding) => el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.open(finding) },
        el("span", { class: "soft" }, `${finding.sentence + 1} ${finding.sent_id ?? ""}${finding.row ? `, word ${finding.row}` : ""}`), el("span", { class: "text" }, finding.message),
        finding.repair ? el("small", {}, `fix: ${finding.repair.told ?? finding.repair.edits.map(inWords).join("; ")}`) : null)))))));
  }

  async open(finding) {
    await this.state.open(finding.sentence, finding.row);
    document.getElementById("tree").focus();
  }
}

/** The finding to fix next: one of the selected word, else of the sentence, else any. */
export function repairable(sentence, row) {
  const fixable = findingsOf(sentence).filter((finding) => finding.repair);
  return fixable.find((finding) => finding.row === row) ?? fixable.find((finding) => !finding.row) ?? fixable[0] ?? null;
}
