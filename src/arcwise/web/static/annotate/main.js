// Assembles the page and starts it.

import { Api } from "./api.js";
import { State } from "./state.js";
import { Editor } from "./editor.js";
import { Acceptance } from "./accept.js";
import { Shape } from "./shape.js";
import { Canvas } from "./canvas.js";
import { printing } from "./print.js";
import { WordPanel } from "./word.js";
import { Table } from "./table.js";
import { Files } from "./files.js";
import { Worklist } from "./worklist.js";
import { Search } from "./search.js";
import { Checks } from "./findings.js";
import { Training } from "./train.js";
import { Notes } from "./notes.js";
import { Consistency } from "./consistency.js";
import { Compare } from "./compare.js";
import { Page } from "./page.js";
import { Keys } from "./keys.js";
import { actions } from "./actions.js";
import { focusTree, popupOpen } from "./popups.js";
import { button, el, recall, recalled, show, tell } from "./dom.js";

const box = (id) => document.getElementById(id);
const write = (id, text) => box(id).textContent !== text && (box(id).textContent = text); // writing unchanged text would cost a layout

function header(state) {
  const saved = () => {
    const waiting = state.waiting.length;
    const text = !state.connected ? `Not connected, ${waiting} waiting` : waiting ? "Saving …" : state.document?.saved ? "Saved to file" : "All changes saved";
    write("saved", text);
    box("saved").className = waiting || !state.connected ? "waits" : "";
    document.querySelector("[data-action=undo]").disabled = !state.document?.can_undo;
    document.querySelector("[data-action=redo]").disabled = !state.document?.can_redo;
  };
  for (const name of ["saving", "document", "changed", "connection"]) state.on(name, saved);
  state.on("document", () => {
    const name = state.document.name.split(/[\\/]/).pop();
    box("name").textContent = box("name").title = name;
    document.title = `${name} · arcwise annotate`;
    box("tab-compare").hidden = !state.document.beside;
    box("tab-files").hidden = !state.document.is_project;
  });
  const line = () => {
    const sentence = state.sentence;
    write("where", sentence ? `${(state.number + 1).toLocaleString("en")} / ${state.document.sentences.toLocaleString("en")}` : "no sentences");
    write("sent-id", [sentence?.file, sentence?.sent_id].filter(Boolean).join(" · "));
    write("words", sentence?.text ?? "");
    if (!sentence) return;
    if (box("text").dir !== sentence.direction) box("text").dir = sentence.direction;
    document.querySelector("[data-action=table]").setAttribute("aria-pressed", String(state.view.table));
  };
  for (const name of ["sentence", "document", "view"]) state.on(name, line);
}

/** The prompt to choose a head, shown instead of the sentence's text. */
function headMode(state, editor) {
  const draw = () => {
    const { choosing } = editor, shown = choosing?.row ?? null;
    if (box("mode").dataset.row === String(shown)) return;
    box("mode").dataset.row = shown;
    box("mode").hidden = !choosing;
    show(box("mode"), choosing ? [
      el("span", {}, el("b", {}, `Choose the head of ${editor.name(choosing.row)}`), el("span", { class: "how" }, ": click it, or use ← → and Enter.")),
      button("Make root", () => (editor.chooseRoot(), focusTree())), button("Cancel", () => (editor.rest(), focusTree())),
    ] : []);
  };
  for (const name of ["sentence", "selection", "opened"]) state.on(name, draw);
  document.addEventListener("pointerdown", (event) => {
    if (editor.choosing && !event.target.closest?.("#tree, #mode")) editor.rest();
  });
}

/** Buttons that a file without sentences has no use for. */
const OF_SENTENCES = ["previous", "goto", "next", "rows", "table", "fit", "zoom-out", "zoom-in"];

/** Enable or disable a button; a disabled one hands the focus to the tree. */
function enable(element, isUseful) {
  if (element.disabled === !isUseful) return;
  if (!isUseful && element === document.activeElement) focusTree();
  element.disabled = !isUseful;
}

/** One primary action: accept the sure suggestions, else go to the next sentence, unless this is the last one, once this one is annotated. */
function primary(state, editor) {
  const accept = document.querySelector("[data-action=accept-sure]"), all = document.querySelector("[data-action=accept-sentence]"), next = document.querySelector("[data-action=next]");
  const draw = () => {
    const sure = state.sentence ? editor.above(state.view.threshold).length : 0;
    write("sure", sure ? `${sure} ` : "");
    enable(accept, sure > 0);
    enable(all, Boolean(state.sentence) && editor.above(0).length > 0);
    for (const name of OF_SENTENCES) enable(document.querySelector(`header [data-action=${name}]`), Boolean(state.sentence));
    accept.classList.toggle("main", sure > 0);
    next.classList.toggle("main", !sure && (state.order ? state.document.sentences > 1 : state.neighbour(1) !== null) && state.words.length > 0 && state.words.every((row) => state.isDone(row)));
  };
  for (const name of ["sentence", "view", "document"]) state.on(name, draw);
}

function looks(state) {
  const draw = () => {
    if (state.view.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = state.view.theme;
  };
  state.on("view", draw);
  draw();
  const threshold = box("threshold");
  threshold.value = Math.round(state.view.threshold * 100);
  threshold.addEventListener("change", () => {
    const value = Math.max(1, Math.min(100, Number(threshold.value) || 95));
    threshold.value = value;
    state.look({ threshold: value / 100 });
  });
}

function keyboard(page, keys) {
  box("tree").addEventListener("keydown", (event) => {
    if (popupOpen()) return;
    performance.mark("arcwise-key");
    if (keys.press(event)) event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (!event.defaultPrevented && keys.anywhere(event)) event.preventDefault();
    else if (event.key === "Escape" && !event.defaultPrevented && (event.target === document.body || event.target.closest?.("#side, #top, #word"))) box("tree").focus();
  });
  for (const element of document.querySelectorAll("[data-action]")) {
    const action = page.actions.find((candidate) => candidate.id === element.dataset.action);
    element.addEventListener("click", () => action.run());
  }
  const tabs = [...document.querySelectorAll("[data-side]")];
  tabs.forEach((tab) => {
    tab.addEventListener("click", () => page.side(tab.dataset.side, false));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      const shown = tabs.filter((candidate) => !candidate.hidden), next = shown[(shown.indexOf(tab) + step + shown.length) % shown.length];
      page.side(next.dataset.side, false);
      next.focus();
      event.preventDefault();
    });
  });
  window.addEventListener("beforeunload", (event) => {
    if (page.state.waiting.length) event.preventDefault();
  });
}

async function start() {
  const address = new URL(location.href);
  const api = new Api(address.searchParams.get("token") ?? "", crypto.randomUUID());
  const state = new State(api), page = new Page(state), editor = new Editor(state), shape = new Shape(state, editor);
  Object.assign(page, { editor, shape, acceptance: new Acceptance(state, editor) });
  page.actions = actions(page);
  page.views = {
    word: new WordPanel(box("word"), state, editor, page), // before the tree: filled first within a frame, so that positions are measured once
    canvas: new Canvas(box("tree"), state, editor, (at) => page.wordMenu(at)),
    table: new Table(box("table"), state, editor, page.acceptance),
    files: new Files(box("side-files"), state, shape),
    worklist: new Worklist(box("side-worklist"), state),
    search: new Search(box("side-search"), state),
    checks: new Checks(box("side-checks"), state, page),
    consistency: new Consistency(box("side-checks"), state), // below the findings
    training: new Training(box("side-training"), state),
    notes: new Notes(box("side-notes"), state, shape),
    compare: new Compare(box("side-compare"), state),
  };
  box("tree").append(el("div", { class: "invitation" }, el("p", {}, "The file has no sentences yet."), button("Add sentences", () => shape.insert(), { class: "main" }), el("p", { class: "soft" }, "Plain text with one sentence per line, or CoNLL-U.")));
  header(state);
  headMode(state, editor);
  primary(state, editor);
  printing(state, page.views.canvas.drawn);
  looks(state);
  keyboard(page, new Keys(page.actions, editor));
  try {
    await state.load();
  } catch (refusal) {
    return tell(refusal.message, "bad");
  }
  for (const notice of state.document.notices ?? []) tell(notice);
  if (state.document.on_disk && state.document.on_disk !== "same") page.changedOnDisk({ state: state.document.on_disk });
  const last = `arcwise-last ${state.document.name}`;
  const wanted = Number(address.hash.slice(1) || recalled(last)) - 1;
  if (state.document.sentences) await page.open(Number.isInteger(wanted) && wanted >= 0 && wanted < state.document.sentences ? wanted : 0);
  else state.blank();
  state.on("opened", () => {
    history.replaceState(null, "", `${location.pathname}${location.search}#${state.number + 1}`);
    recall(last, state.number + 1);
  });
  window.addEventListener("hashchange", () => {
    const number = Number(location.hash.slice(1)) - 1;
    if (number !== state.number && number >= 0 && number < state.document.sentences) page.open(number);
  });
  const side = document.querySelector(`[data-side="${state.view.side}"]:not([hidden])`) ? state.view.side : "worklist"; // it may have been another kind of file
  page.side(side, false);
  box("tree").focus();
  api.listen((event) => (page.views.consistency.heard(event), page.heard(event)), (connected) => state.waiting.length || state.connection(connected));
  document.documentElement.dataset.ready = "true";
  return page;
}

window.arcwise = start();
