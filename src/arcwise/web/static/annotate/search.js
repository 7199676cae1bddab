// The Search panel: search over the whole file, clusters of the hits, and mass edits with a preview.

import { button, counted, el, show, tell } from "./dom.js";
import { inWords } from "./edits.js";

const PAGE = 100;

/** "word 3", "words 2, 5", or the words with their names in the query: "V 3, O 5". */
function wordsOf(rows) {
  if (rows.some(([name]) => !/^\d+$/u.test(name))) return rows.map(([name, row]) => `${name} ${row}`).join(", ");
  return rows.length ? `${rows.length === 1 ? "word" : "words"} ${rows.map(([, row]) => row).join(", ")}` : "";
}

/** A short change that stays on one line: "10 XPOS → N". */
const unbroken = (edit) => (edit.kind === "set-field" && edit.value.length < 16 ? inWords(edit).replaceAll(" ", "\u00a0") : inWords(edit));

export class Search {
  constructor(box, state) {
    Object.assign(this, { box, state, hits: [], total: 0, hints: [], cluster: null, skipped: new Map() });
    const enter = (run) => (event) => {
      if (event.key === "Enter") run();
    };
    this.query = el("input", { type: "search", id: "search-query", spellcheck: "false", autocomplete: "off", placeholder: "upos=VERB > nsubj, or a Grew request", onkeydown: enter(() => this.find()) });
    this.changes = el("input", { type: "text", id: "search-changes", spellcheck: "false", autocomplete: "off", placeholder: "2.deprel=nsubj:pass", onkeydown: enter(() => this.preview()) });
    this.properties = el("input", { type: "text", id: "search-table", spellcheck: "false", autocomplete: "off", placeholder: "deprel,upos", onkeydown: enter(() => this.count()) });
    this.clusters = el("div", { class: "clusters" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("ol", { class: "items", "aria-label": "Hits" });
    this.more = button("Show more", () => this.loadMore(), { class: "more", hidden: true });
    show(box,
      el("label", { for: "search-query" }, "Search"), this.query,
      el("p", { class: "buttons" }, button("Find", () => this.find(), { class: "main" }), button("Step through hits (Shift N, Shift P)", () => this.follow())),
      el("details", {}, el("summary", {}, "Clusters of hits"), el("label", { for: "search-table" }, "Properties, such as 2.deprel,2.upos"), this.properties,
        el("p", { class: "buttons" }, button("Count", () => this.count())), this.clusters),
      this.massEdit = el("details", {}, el("summary", {}, "Mass edit"), el("label", { for: "search-changes" }, "Change to"), this.changes,
        el("p", { class: "buttons" }, button("Preview", () => this.preview()), this.apply = button("Apply", () => this.edit(), { class: "main", disabled: true }))),
      this.line, this.list, this.more);
    this.changes.addEventListener("input", () => (this.apply.disabled = true));
    this.query.addEventListener("input", () => {
      this.apply.disabled = true;
      this.hits = [];
      this.skipped.clear();
      show(this.clusters);
    });
  }

  shown() {}

  /** Preview a mass edit; without changes, only search. */
  async propose(query, changes) {
    this.query.value = query;
    this.changes.value = changes;
    this.query.dispatchEvent(new Event("input"));
    this.massEdit.open = true;
    await (changes ? this.preview() : this.find());
  }

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

  /** Search; `cluster`: only the hits with these values, {properties, values}. */
  async find(from = 0, cluster = from ? this.cluster : null) {
    if (!from) this.skipped.clear();
    this.cluster = cluster;
    let translated = "";
    try {
      const answer = await this.state.api.post("search", { query: this.query.value, from, count: PAGE, ...cluster });
      if (answer.translation) { // a Grew request: replace it by its translation
        this.query.value = answer.translation;
        translated = "translated from Grew";
      }
      this.hits = [...this.hits.slice(0, from), ...answer.hits];
      this.total = answer.total;
      this.hints = answer.hints ?? [];
    } catch (refusal) {
      return this.#refused(refusal);
    }
    this.line.className = "soft line";
    const which = cluster ? `with ${cluster.values.join(", ")}` : "";
    this.line.textContent = [`${counted(this.total, "hit")} ${which}`.trim(), translated, ...this.hints].filter(Boolean).join("; ");
    show(this.list, this.hits.map((hit) => {
      const rows = Object.entries(hit.words ?? {});
      return el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.open(hit) },
        el("span", { class: "value" }, wordsOf(rows)),
        el("span", { class: "soft" }, `${hit.sentence + 1} ${hit.sent_id ?? ""}`), el("bdi", { class: "text" }, hit.text ?? "")));
    }));
    this.loadMore = () => this.find(this.hits.length);
    this.more.hidden = this.hits.length >= this.total;
    return null;
  }

  async open(hit) {
    await this.state.open(hit.sentence, Object.values(hit.words ?? {})[0] ?? null);
    document.getElementById("tree").focus();
  }

  /** Make Next and Previous sentence go from hit to hit. */
  follow() {
    if (!this.hits.length) return tell("Search first.");
    this.#order();
    return this.open(this.hits[0]);
  }

  #order() {
    const more = async () => {
      await this.find(this.hits.length);
      this.#order();
    };
    this.state.order = { name: "search", numbers: [...new Set(this.hits.map((hit) => hit.sentence))], more: this.hits.length < this.total ? more : null };
  }

  /** Count the hits by properties of their words; an empty query counts all words. */
  async count() {
    if (!this.query.value.trim()) this.query.value = "[]";
    let answer;
    try {
      if (!this.hits.length) await this.find(); // also translates a Grew request
      const properties = this.properties.value.trim() || (Object.keys(this.hits[0]?.words ?? {}).length > 1 ? "2.deprel,2.upos" : "deprel,upos");
      this.properties.value = properties;
      answer = await this.state.api.post("table", { query: this.query.value, properties, count: 1000 });
    } catch (refusal) {
      return this.#refused(refusal);
    }
    return show(this.clusters, answer.columns.length === 2 ? this.#crossTable(answer) : this.#frequencies(answer));
  }

  #cell(values, count) {
    return count ? button(String(count), () => this.find(0, { properties: this.properties.value, values }), { class: "link", "aria-label": `${count} hits with ${values.join(", ")}` }) : "";
  }

  /** A table of two properties, the most frequent values first. */
  #crossTable({ columns, clusters }) {
    const counts = new Map(clusters.map(({ values, count }) => [values.join("\t"), count]));
    const names = (k) => [...new Set(clusters.map(({ values }) => values[k]))];
    return el("table", { class: "cross" }, el("caption", {}, columns.join(" × ")),
      el("thead", {}, el("tr", {}, el("td", {}), names(1).map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, names(0).map((row) => el("tr", {}, el("th", { scope: "row" }, row), names(1).map((name) => el("td", {}, this.#cell([row, name], counts.get(`${row}\t${name}`))))))));
  }

  #frequencies({ columns, clusters, total }) {
    return el("table", { class: "cross" }, el("caption", {}, `${columns.join(", ")}: ${counted(total, "cluster")}`),
      el("tbody", {}, clusters.map(({ values, count }) => el("tr", {}, values.map((value) => el("th", { scope: "row" }, value)), el("td", {}, this.#cell(values, count))))));
  }

  /** Preview the mass edit, a page of sentences at a time. */
  async preview(from = 0) {
    if (!from) this.skipped.clear();
    try {
      const answer = await this.state.api.massEdit(this.query.value, this.changes.value, { from, count: PAGE });
      if (from && answer.version !== this.version) return void this.preview(); // the earlier pages are stale
      this.version = answer.version;
      this.line.className = "soft line";
      this.line.textContent = `${counted(answer.total, "sentence")} would change; nothing has changed yet.${answer.refused_total ? ` ${counted(answer.refused_total, "hit")} skipped: ${answer.refused[0].reason ?? ""}` : ""}`;
      this.apply.disabled = !answer.total;
      show(this.list, [...(from ? this.list.children : []), ...answer.changes.map((change) => this.#change(change))]);
      this.loadMore = () => this.preview(this.list.children.length);
      this.more.hidden = this.list.children.length >= answer.total;
    } catch (refusal) {
      this.#refused(refusal);
    }
    return undefined;
  }

  #change(change) {
    const row = change.edits[0]?.row ?? change.edits[0]?.first;
    return el("li", { class: "change" }, el("span", { class: "hits" }, change.hits.map((words) => this.#choice(change, words))),
      el("button", { type: "button", class: "item", onclick: () => this.open({ sentence: change.sentence, words: { row } }) },
        el("span", { class: "soft" }, `${change.sentence + 1} ${change.sent_id ?? ""}`), el("b", {}, change.edits.map(unbroken).join("; ")), el("bdi", { class: "text" }, change.text ?? "")));
  }

  /** The checkbox of a hit; clearing it leaves the hit unchanged. */
  #choice(change, words) {
    const key = `${change.sentence} ${JSON.stringify(words)}`, ids = Object.values(words).join(" "), named = wordsOf(Object.entries(words));
    const box = el("input", {
      type: "checkbox", checked: true, "aria-label": `Change ${named} of sentence ${change.sentence + 1}`, title: `Clear the checkbox to leave ${named} unchanged`,
      onchange: (event) => {
        if (event.target.checked) this.skipped.delete(key);
        else this.skipped.set(key, { sentence: change.sentence, words });
        this.line.textContent = `${counted(this.skipped.size, "hit")} deselected; nothing has changed yet.`;
      },
    });
    return el("label", { class: "check" }, box, ids);
  }

  async edit() {
    try {
      const answer = await this.state.api.massEdit(this.query.value, this.changes.value, { apply: true, skip: [...this.skipped.values()], version: this.version });
      this.apply.disabled = true;
      tell(`${counted(answer.sentences, "sentence")} changed. Undo reverts all of them.`, "good");
      await this.state.load();
      await this.state.refresh(null, { own: true });
      this.state.emit("counts");
      show(this.list);
      this.line.textContent = "Done.";
    } catch (refusal) {
      this.#refused(refusal);
    }
  }
}
