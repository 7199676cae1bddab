// The Checks panel: findings of the whole file by rule, errors first; suspicious annotations; each opens in the editor.

import { button, counted, el, percent, show, tell } from "./dom.js";
import { inWords } from "./edits.js";
import { findingsOf } from "./picture.js";

const PAGE = 100; // findings fetched at a time
const OPEN = 5; // groups that are open from the start, if there are no more

/** What the button that changes similar words does. */
export const ALL_LIKE_THIS = "It is an error: search for the words with this lemma, UPOS and label under such a head, and preview the change";

export class Checks {
  constructor(box, state, page) {
    Object.assign(this, { box, state, page, version: null, sign: "", asked: false });
    state.on("changed", () => (this.version = null));
    this.start = button("Check the whole file", () => this.check());
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("div", { class: "findings" });
    this.filter = el("select", { id: "checks-filter", "aria-label": "Show", onchange: () => this.#filter(this.filter.value) },
      [["all", "errors and warnings"], ["error", "errors only"], ["warning", "warnings only"]].map(([value, text]) => el("option", { value }, text)));
    this.filter.value = state.view.rule;
    this.muted = el("p", { class: "soft line" });
    this.suspicious = button("Find suspicious annotations", () => this.#findSuspicious(), { title: "Words that are probably wrong, judged by parsers trained on the other sentences, by statistics of the file and by the rules" });
    this.detection = el("p", { class: "soft line", role: "status" });
    this.bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Progress of the search for suspicious annotations" });
    this.words = el("div", { class: "suspicious" });
    show(box, el("p", { class: "buttons" }, this.start, this.suspicious), this.detection, this.bar, this.line, this.filter, this.list, this.muted, this.words);
  }

  shown() {
    if (this.version === null) this.check();
    this.detected();
  }

  focus() {
    this.start.focus();
  }

  /** Show errors, warnings or both. */
  #filter(which) {
    this.state.look({ rule: which });
    this.list.dataset.shown = which;
  }

  /** Mute a rule for the project, or report it again. */
  async #mute(rule, muted) {
    try {
      await this.state.api.mute(rule, muted);
      this.sign = "";
      await this.check();
      await this.state.refresh(null);
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  async #findSuspicious() {
    try {
      await this.state.api.post("doubts");
      this.asked = true;
      await this.detected();
    } catch (refusal) {
      this.detection.textContent = refusal.message;
    }
  }

  /** Show a progress event of the search for suspicious annotations. */
  progress(event) {
    if (event.state !== "training") return void this.detected();
    this.suspicious.disabled = true;
    this.bar.hidden = false;
    this.bar.value = event.done ?? 0;
    const step = /\((\d+ of \d+)\)$/.exec(event.message); // the rest names a parser, which says nothing here
    this.detection.textContent = `Searching for suspicious annotations${step ? `: ${step[1]}` : " …"}`;
  }

  /** Show the results or the progress of the search for suspicious annotations. */
  async detected() {
    let answer;
    try {
      answer = await this.state.api.doubts({ from: 0, count: PAGE });
    } catch (refusal) {
      this.detection.textContent = refusal.message;
      return;
    }
    if (answer.state === "running") return void this.progress({ state: "training", done: answer.progress, message: answer.message });
    this.suspicious.disabled = false;
    this.bar.hidden = true;
    const ended = { failed: `The search for suspicious annotations failed: ${answer.message}.`, cancelled: "The search for suspicious annotations was stopped." }[answer.state];
    this.detection.textContent = ended ?? (answer.searched ? `${counted(answer.total, "suspicious annotation")} found.${answer.total ? " The percentages are probabilities of an error." : ""}` : "");
    const group = this.#group("suspicious annotations", answer.total, "doubt", (from) => this.state.api.doubts({ from, count: PAGE }).then((page) => page.words), (word) => this.#doubt(word));
    show(this.words, answer.total ? group : []);
    if (answer.total && this.asked) group.open = true; // training starts a search automatically
  }

  #doubt(word) {
    const proposal = word.instead ? ` → ${word.instead.label} of ${word.instead.head}` : "";
    const judge = (verdict, text, title) => button(text, () => this.#judge(word, verdict), { class: "link", title });
    return el("div", { class: "suspect" },
      this.#item(word, `${percent(word.probability)}: ${word.label} of ${word.head}${proposal}`, (word.reasons ?? [])[0]),
      el("span", { class: "judge" },
        judge("error", "Wrong", "It is an error: similar words move up in this list"),
        judge("correct", "Right", "It is right: similar words move down in this list"),
        judge("acknowledged", "Never ask", "Do not list this arc again"),
        button("All like this", () => this.page.changeAll(word, word.sentence), { class: "link", title: ALL_LIKE_THIS })));
  }

  /** Record whether an annotation is wrong, next to the file, and rerank the list. */
  #judge(word, verdict) {
    this.asked = true;
    return this.page.judge(word.row, verdict, word.sentence);
  }

  async check() {
    this.line.textContent = "Checking …";
    let answer;
    try {
      answer = await this.state.api.validate({ from: 0, count: 0 });
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    if (answer.ready === false) return; // an event announces the end of the check
    this.version = answer.version;
    const sign = JSON.stringify(answer), unchanged = sign === this.sign;
    this.sign = sign;
    const warnings = answer.total - answer.errors;
    const { language } = answer, against = !language ? "" : language.error ? ` Without language data: ${language.error}` : ` With the language data of ${language.file}.`;
    this.line.textContent = `${answer.total ? `${counted(answer.errors, "error")}, ${counted(warnings, "warning")}.` : "No problems found."}${against}`;
    if (unchanged) return; // a new list would close open entries
    this.list.dataset.shown = this.filter.value;
    show(this.muted, answer.muted.length ? ["Muted: ", answer.muted.map((rule) => [button(rule, () => this.#mute(rule, false), { class: "link", title: `Report ${rule} again` }), " "])] : []);
    const groups = answer.rules.map(({ rule, warning, count }) => this.#group(rule, count, warning ? "warning" : "error",
      (from) => this.state.api.validate({ from, count: PAGE, rule }).then((page) => page.findings),
      (finding) => this.#item(finding, finding.message, finding.repair ? `fix: ${finding.repair.description ?? finding.repair.edits.map(inWords).join("; ")}` : ""),
      button("Mute this rule", () => this.#mute(rule, true), { class: "link mute", title: "Do not report this rule for the files of this folder (arcwise-muted-rules.txt)" })));
    show(this.list, groups);
    if (groups.length <= OPEN) for (const group of groups) group.open = true;
  }

  /** A group of entries, which are fetched when it is opened, a page at a time. */
  #group(name, count, kind, fetch, draw, extra = null) {
    const list = el("ol", { class: "items" });
    let shown = 0, asked = false;
    const more = button("Show more", () => load(), { class: "more", hidden: true });
    const load = async () => {
      if (asked) return;
      asked = true;
      try {
        const entries = await fetch(shown);
        shown += entries.length;
        list.append(...entries.map((entry) => el("li", {}, draw(entry))));
        more.hidden = !entries.length || shown >= count;
        if (!entries.length && shown < count) list.append(el("li", { class: "soft" }, `The other ${count - shown} are listed when these are fixed.`));
      } catch (refusal) {
        list.append(el("li", { class: "bad" }, refusal.message));
      }
      asked = false;
    };
    return el("details", { class: kind, ontoggle: (event) => event.target.open && !shown && load() },
      el("summary", {}, el("span", { class: `badge ${kind}` }, kind === "doubt" ? "?" : kind), ` ${name} (${count})`), extra, list, more);
  }

  #item(entry, text, note) {
    return el("button", { type: "button", class: "item", onclick: () => this.open(entry) },
      el("span", { class: "soft" }, `${entry.sentence + 1} ${entry.sent_id ?? ""}${entry.row ? `, word ${entry.row}` : ""}`), el("span", { class: "text" }, text),
      note ? el("small", {}, note) : null);
  }

  async open(entry) {
    await this.state.open(entry.sentence, entry.row);
    document.getElementById("tree").focus();
  }
}

/** The finding to fix next: one of the selected word, else of the sentence, else any. */
export function repairable(sentence, row) {
  const fixable = findingsOf(sentence).filter((finding) => finding.repair);
  return fixable.find((finding) => finding.row === row) ?? fixable.find((finding) => !finding.row) ?? fixable[0] ?? null;
}
