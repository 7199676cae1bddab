// The Search panel: search over the whole file, and mass edits with a preview.

import { button, el, show, tell } from "./dom.js";
import { inWords } from "./edits.js";

const PAGE = 100;

export class Search {
  constructor(box, state) {
    Object.assign(this, { box, state, hits: [], total: 0, hints: [] });
    const enter = (run) => (event) => {
      if (event.key === "Enter") run();
    };
    this.query = el("input", { type: "search", id: "search-query", spellcheck: "false", autocomplete: "off", placeholder: "upos=VERB > nsubj", onkeydown: enter(() => this.find()) });
    this.changes = el("input", { type: "text", id: "search-changes", spellcheck: "false", autocomplete: "off", placeholder: "2.deprel=nsubj:pass", onkeydown: enter(() => this.preview()) });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("ol", { class: "items", "aria-label": "Hits" });
    this.more = button("Show more", () => this.find(this.hits.length), { class: "more", hidden: true });
    show(box,
      el("label", { for: "search-query" }, "Search"), this.query,
      el("p", { class: "buttons" }, button("Find", () => this.find(), { class: "main" }), button("Step through hits (Shift N, Shift P)", () => this.follow())),
      el("details", {}, el("summary", {}, "Mass edit"), el("label", { for: "search-changes" }, "Change to"), this.changes,
        el("p", { class: "buttons" }, button("Preview", () => this.preview()), this.apply = button("Apply", () => this.edit(), { class: "main", disabled: true }))),
      this.line, this.list, this.more);
    this.changes.addEventListener("input", () => (this.apply.disabled = true));
    this.query.addEventListener("input", () => (this.apply.disabled = true));
  }

  shown() {}

  focus() {
    this.query.focus();
    this.query.select();
  }

  #refused(refusal) {
    const at = refusal.body?.position;
    this.line.textContent = refusal.message;
    this.line.className = "bad line";
    if (Number.isInteger(at)) {
      this.query.focus();
      this.query.setSelectionRange(at, Math.min(at + 1, this.query.value.length));
    }
  }

  async find(from = 0) {
    try {
      const answer = await this.state.api.search(this.query.value, from, PAGE);
      this.hits = [...this.hits.slice(0, from), ...answer.hits];
      this.total = answer.total;
      this.hints = answer.hints ?? [];
    } catch (refusal) {
      return this.#refused(refusal);
    }
    this.line.className = "soft line";
    this.line.textContent = [this.total === 1 ? "1 hit" : `${this.total ?? this.hits.length} hits`, ...this.hints].join("; ");
    show(this.list, this.hits.map((hit) => {
      const rows = Object.entries(hit.words ?? {});
      return el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.open(hit) },
        el("span", { class: "value" }, rows.map(([name, row]) => `${name} ${row}`).join(", ")),
        el("span", { class: "soft" }, `${hit.sentence + 1} ${hit.sent_id ?? ""}`), el("bdi", { class: "text" }, hit.text ?? "")));
    }));
    this.more.hidden = this.hits.length >= this.total;
    return null;
  }

  async open(hit) {
    await this.state.open(hit.sentence, Object.values(hit.words ?? {})[0] ?? null);
    document.getElementById("tree").focus();
  }

  /** Make Next and Previous sentence go from hit to hit. */
  follow() {
    const numbers = [...new Set(this.hits.map((hit) => hit.sentence))];
    if (!numbers.length) return tell("Search first.");
    this.state.order = { name: "search", numbers };
    return this.open(this.hits[0]);
  }

  async preview() {
    try {
      const answer = await this.state.api.massEdit(this.query.value, this.changes.value, false);
      const changes = answer.changes ?? [];
      this.line.className = "soft line";
      this.line.textContent = `${answer.total ?? changes.length} sentences would change; nothing has changed yet.${answer.refused?.length ? ` ${answer.refused.length} hits are skipped: ${answer.refused[0].reason ?? ""}` : ""}`;
      this.apply.disabled = !changes.length;
      this.more.hidden = true;
      show(this.list, changes.slice(0, 200).map((change) => el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.open({ sentence: change.sentence, words: { row: change.edits[0]?.row ?? change.edits[0]?.first } }) },
        el("span", { class: "soft" }, `${change.sentence + 1} ${change.sent_id ?? ""}`), el("b", {}, change.edits.map(inWords).join("; ")), el("bdi", { class: "text" }, change.text ?? "")))));
    } catch (refusal) {
      this.#refused(refusal);
    }
  }

  async edit() {
    try {
      const answer = await this.state.api.massEdit(this.query.value, this.changes.value, true);
      this.apply.disabled = true;
      tell(`${answer.sentences ?? ""} sentences changed. Undo reverts all of them.`, "good");
      await this.state.load();
      await this.state.refresh(null);
      this.state.emit("counts");
      show(this.list);
      this.line.textContent = "Done.";
    } catch (refusal) {
      this.#refused(refusal);
    }
  }
}
