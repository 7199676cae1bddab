// The page as a whole: actions beyond one word, panels, and server-sent events.

import { button, dismiss, el, recall, say, tell, tellUntil } from "./dom.js";
import { completions, guideline } from "./completion.js";
import { ask, closePopup, dialog, menu, pick, popupOpen } from "./popups.js";
import { inWords, theirEdits } from "./edits.js";
import { copyPicture, savePicture } from "./export.js";
import { marksOf } from "./picture.js";
import { repairable } from "./findings.js";
import { help, written } from "./keys.js";
import { legend } from "./legend.js";
import { chooseRows } from "./rows.js";

export class Page {
  constructor(state) {
    this.state = state;
    this.views = {}; // filled by main.js: canvas, table and the side panels
    state.on("refused", ({ step, refusal }) => this.#refused(step, refusal.message));
    state.on("pushed", dismiss); // messages about earlier actions
    let shown = null;
    state.on("opened", () => {
      if (state.number !== shown) {
        closePopup(); // it was about a word of another sentence
        dismiss();
      }
      shown = state.number;
    });
    state.on("conflict", (conflict) => this.conflict(conflict));
    state.on("elsewhere", (number) => tell(`Sentence ${number + 1} was changed in another window.`));
    state.on("connection", () => this.#connection());
  }

  /** Report a rejected edit; a typed one can be corrected. */
  #refused(step, message) {
    if (step.again && step.number === this.state.number && !popupOpen()) step.again(message);
    else tell(`Edit rejected (${step.description}): ${message}`, "bad");
  }

  /** Report a lost or restored connection; a restarted server may have another state. */
  async #connection() {
    if (!this.state.connected) return void tellUntil("The server is not responding. Your changes are kept in this window and sent when it is back: start it again with the same command.", "bad");
    tell("Reconnected.", "good");
    try {
      await this.state.load();
      await this.state.refresh(null);
    } catch {
      // The connection is lost again, which is reported separately.
    }
  }

  async open(number, row = undefined) {
    try {
      await this.state.open(number, row);
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  async step(by) {
    const { order } = this.state;
    if (by > 0 && order?.more && order.numbers.at(-1) === this.state.number) await this.state.move(order.more); // the panel lists a part
    const next = this.state.neighbour(by);
    if (next === null) tell(`This is the ${by > 0 ? "last" : "first"} sentence${this.state.order ? " of the list" : ""}.`);
    else await this.open(next);
  }

  goTo() {
    ask({
      at: document.getElementById("where").getBoundingClientRect(), title: `Sentence, 1 to ${this.state.document.sentences}, or sent_id`, value: String(this.state.number + 1),
      entered: async (text) => {
        const number = Number(text);
        if (Number.isInteger(number) && number >= 1 && number <= this.state.document.sentences) return this.open(number - 1);
        try {
          const answer = await this.state.api.sentences({ from: 0, count: 1, query: `sentence sent_id=${JSON.stringify(text.trim())}` });
          const match = answer.items.find((item) => item.sent_id === text.trim());
          if (match) return await this.open(match.number);
        } catch {
          // Reported below.
        }
        return tell(`There is no sentence ${text}.`, "bad");
      },
    });
  }

  /** Select the next marked word of this sentence. */
  nextMark() {
    const marks = marksOf(this.state.sentence), stops = this.state.stops;
    const at = stops.findIndex((row) => row.id === this.state.selected);
    const next = [...stops.slice(at + 1), ...stops.slice(0, at + 1)].find((row) => marks.has(row.id));
    if (next) this.editor.select(next.id);
    else tell("No marked words in this sentence.");
  }

  giveUp() {
    closePopup();
    if (!this.editor.rest() && this.state.second) this.toggleSecond();
    if (this.state.anchor) this.state.select(this.state.selected);
  }

  async back(which) {
    try {
      const done = await this.state.back(which);
      if (!done) tell(which === "undo" ? "Nothing to undo." : "Nothing to redo.");
      else say(`${which === "undo" ? "Undone" : "Redone"}${done.description ? `: ${done.description}` : ""}.`);
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  async save() {
    try {
      await this.state.api.save();
      this.state.document.saved = true;
      this.state.emit("document");
      tell("Saved to file.", "good");
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  repair(finding = repairable(this.state.sentence, this.state.selected)) {
    if (!finding) return tell("No suggested fix here.");
    this.state.edit(finding.repair.edits, finding.repair.description);
    return say(`Fixed: ${finding.repair.description}.`);
  }

  toggle(name) {
    this.state.look({ [name]: !this.state.view[name] });
    if (name === "table" && this.state.view.table) this.views.table.focus();
  }

  toggleSecond() {
    if (!this.state.second && !this.state.sentence.thoughts?.second_best) return tell("There is no second-best tree.");
    this.state.second = !this.state.second;
    this.state.emit("sentence");
    return say(this.state.second ? "second-best tree" : "best tree");
  }

  rows() {
    chooseRows(document.querySelector("[data-action=rows]").getBoundingClientRect(), this.state);
  }

  zoom(factor) {
    this.views.canvas.zoomBy(factor);
  }

  fit() {
    this.views.canvas.fit();
  }

  theme() {
    const next = { auto: "dark", dark: "light", light: "auto" }[this.state.view.theme] ?? "auto";
    this.state.look({ theme: next });
    tell({ auto: "Theme: system.", dark: "Theme: dark.", light: "Theme: light." }[next]);
  }

  /** Show a side panel; `focus`: also move the focus there. */
  side(name, focus = true) {
    this.state.look({ side: name });
    for (const tab of document.querySelectorAll("[data-side]")) {
      const chosen = tab.dataset.side === name;
      tab.setAttribute("aria-selected", chosen ? "true" : "false");
      tab.tabIndex = chosen ? 0 : -1;
      document.getElementById(`side-${tab.dataset.side}`).hidden = !chosen;
    }
    this.views[name].shown();
    if (focus) this.views[name].focus();
  }

  /** Move the focus in a cycle: tree, selected word, table, side panel, toolbar. */
  nextPart(step) {
    const parts = ["#tree", "#word button", "#table:not([hidden]) [tabindex='0']", "[data-side][aria-selected=true]", "#top [data-action]"].map((part) => document.querySelector(part)).filter(Boolean);
    const at = parts.findIndex((part) => part.closest("#tree, #word, #table, #side, #top").contains(document.activeElement));
    parts[(at + step + parts.length) % parts.length].focus();
  }

  /** Record whether a suspicious annotation is an error; `number`: its sentence. */
  async judge(row, verdict, number = this.state.number) {
    try {
      await this.state.api.judge(number, row, verdict);
      await this.state.refresh([number]);
      await this.views.checks.detected();
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  /** Record that a suspicious annotation is an error, and preview the change of all words annotated like it. */
  async changeAll({ row, similar }, number = this.state.number) {
    await this.judge(row, "error", number);
    this.side("search");
    await this.views.search.propose(similar.query, similar.changes);
  }

  wordMenu(at) {
    const empty = this.state.row()?.kind === "empty";
    const entries = this.actions.filter((action) => (empty ? ["remove-empty", "form", "upos", "feats", "deps", "misc"].includes(action.id) : action.word));
    menu({ at, title: "Word", entries: entries.map((action, k) => ({ title: action.title, key: action.keys[0] ? written(action.keys[0]) : "", run: action.run, first: k > 0 && (BEGINS.includes(action.id) || entries[k - 1].group !== action.group) })) });
  }

  /** The menu of rarely used commands. */
  more() {
    const groups = [["second", "enhanced", "vertical", "theme", "legend"], ["accept-tags", "accept-above"], ["insert", "append", "retokenize", "join-sentences", "remove-sentence"], ["annotator", "save", "copy-picture", "save-picture", "print"], ["commands", "help"]];
    const find = (id) => this.actions.find((action) => action.id === id);
    menu({ at: rectOf("more"), title: "More commands", entries: groups.flatMap((ids, k) => ids.map((id, at) => ({
      title: find(id).title, key: find(id).keys[0] ? written(find(id).keys[0]) : "", run: find(id).run, first: k > 0 && at === 0, pressed: id === "second" ? this.state.second : this.state.view[id],
    }))) });
  }

  /** Copy the tree as a picture, or save it. */
  picture(how) {
    const { drawn } = this.views.canvas;
    if (how === "copy") return void copyPicture(drawn);
    return void savePicture(drawn, this.state.sentence.sent_id ?? `sentence-${this.state.number + 1}`);
  }

  /** Explain lines and colours. */
  legend() {
    legend(rectOf("more"));
  }

  commands() {
    const names = this.actions.filter((action) => action.id !== "commands").map((action) => action.title);
    const find = (title) => this.actions.find((action) => action.title === title);
    pick({
      at: { ...rectOf("tree"), bottom: rectOf("tree").top + 40 }, title: "Command",
      find: (typed) => completions(typed, names),
      note: (title) => (find(title)?.keys[0] ? written(find(title).keys[0]) : ""),
      picked: (title) => (find(title) ? find(title).run() : tell(`There is no command ${title}.`, "bad")),
    });
  }

  help() {
    help(this.actions);
  }

  /** Ask for the annotator's name, which the journal records with each edit. */
  async annotator() {
    const { state } = this;
    const name = el("input", { type: "text", "aria-label": "Your name", autocomplete: "name", maxlength: 64, autofocus: true, size: 30 });
    const sign = el("input", { type: "checkbox", checked: state.view.sign });
    name.value = state.api.annotator;
    const given = await dialog("Annotator", (close) => {
      name.addEventListener("keydown", (event) => event.key === "Enter" && close(true));
      return [
        el("p", { class: "soft" }, "The journal of the file records this name with each edit. It stays in this browser."),
        el("p", {}, name), el("p", {}, el("label", { class: "check" }, sign, "Also add it to each sentence you edit, as a comment (# annotator = …)")),
        el("p", { class: "buttons" }, button("OK", () => close(true), { class: "main" }), button("Cancel", () => close())),
      ];
    }, { id: "annotator" });
    if (!given) return;
    state.api.annotator = name.value.trim();
    recall("arcwise-annotator", state.api.annotator);
    state.look({ sign: sign.checked });
    tell(state.api.annotator ? `Edits are recorded under the name ${state.api.annotator}.` : "Edits are recorded without a name.");
  }

  /** Resolve a merge conflict of the selected word, else of the sentence, in favour of the other side. */
  theirs() {
    const conflicts = (this.state.sentence.findings ?? []).filter(theirEdits), row = this.state.selected;
    const finding = conflicts.find((entry) => entry.row === row) ?? conflicts[0];
    if (!finding) return tell("No merge conflict here.");
    this.state.edit(theirEdits(finding), `${finding.row} ${finding.column.toUpperCase()} is theirs`);
    return say(`Accepted theirs: ${finding.row} ${finding.column.toUpperCase()}.`);
  }

  /** Open the guidelines for the label of the selected word. */
  guidelines() {
    const arc = this.editor.arc(), address = arc && guideline(this.state.document, "dep", arc.label);
    if (!address) return tell("The guidelines have no page for this label.");
    return void window.open(address, "_blank", "noopener,noreferrer");
  }

  /** Ask which of two conflicting edits to keep; the message names the one that is discarded. */
  async conflict({ step, clashes }) {
    const mine = await dialog("Conflicting edit", (close) => [
      el("p", {}, `Sentence ${step.number + 1} was changed elsewhere while you edited it. Your edit: ${step.description}.`),
      el("table", { class: "clashes" },
        el("thead", {}, el("tr", {}, ["word", "column", "before", "now", "yours"].map((name) => el("th", { scope: "col" }, name)))),
        el("tbody", {}, clashes.map((clash) => el("tr", {}, [clash.row, clash.column.toUpperCase(), clash.was, clash.theirs, clash.mine].map((text) => el("td", {}, text)))))),
      el("p", { class: "buttons" }, button("Keep mine", () => close(true), { class: "main", autofocus: true }), button("Take theirs", () => close(false))),
    ], { id: "conflict" });
    this.state.settle(step, mine === true);
    if (mine !== true) tell(`Discarded: ${step.body.edits.map(inWords).join("; ")}.`);
  }

  /** Handle a server-sent event. */
  heard(event) {
    const { state } = this;
    if (event.kind === "changed" && event.page !== state.api.page) {
      if (event.sentences !== undefined) state.document.sentences = event.sentences;
      state.refresh(event.renumbered || !event.numbers ? null : event.numbers);
      state.load().then(() => state.emit("counts"));
    } else if (event.kind === "saved") {
      state.document.saved = true;
      state.emit("document");
    } else if (event.kind === "progress") {
      if (event.work === "doubts") this.views.checks.progress(event);
      else this.views.training.progress(event);
    } else if (event.kind === "trained") {
      this.views.training.refresh();
      tell("Training finished; suggestions updated.", "good");
    } else if (event.kind === "model") {
      state.load();
      state.refresh(null);
      state.emit("trained");
    } else if (event.kind === "doubts") {
      state.refresh(null);
      this.views.checks.detected();
    } else if (event.kind === "checked") this.state.view.side === "checks" && this.views.checks.check();
    else if (event.kind === "failed") {
      this.views.training.refresh();
      tell(event.message ?? event.error ?? "Training failed.", "bad");
    } else if (event.kind === "changed-on-disk") this.changedOnDisk(event);
  }

  changedOnDisk(event) {
    this.diskMessage?.();
    this.diskMessage = null;
    if (event.state === "same") return;
    const gone = event.state === "gone";
    const merge = button("Merge changes", async () => {
      document.getElementById("tree").focus(); // the button is about to disappear
      try {
        const answer = await this.state.api.mergeChanges();
        await this.state.load();
        await this.state.refresh(null);
        tell(answer.conflicts ? `Changes merged with ${answer.conflicts} conflicts, recorded as comments; your version was kept.` : "Changes merged without conflicts.", "good");
      } catch (refusal) {
        tell(refusal.message, "bad");
      }
    });
    this.diskMessage = tellUntil(gone ? "The file was deleted. Saving creates it again." : "Another program changed the file. Nothing has been overwritten.", "bad", ...(gone ? [] : [merge]));
  }
}

/** Entries of a word's menu that start a group: the structure of the sentence, then notes and help. */
const BEGINS = ["split", "note"];

const rectOf = (id) => {
  const { left, top, bottom, right, width } = document.getElementById(id).getBoundingClientRect();
  return { left, top, bottom, right, width };
};
