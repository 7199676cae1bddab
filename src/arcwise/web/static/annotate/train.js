// The Training panel: start and progress, and a plot of accuracy and calibration over time.

import { button, el, percent, show, svg, tell } from "./dom.js";

const LINES = [["uas", "correct heads (UAS)", "circle"], ["las", "correct heads and labels (LAS)", "square"], ["ece", "expected calibration error (ECE)", "cross"]];
const WIDTH = 320, HEIGHT = 190, LEFT = 34, RIGHT = 8, TOP = 10, BOTTOM = 30;

export class Training {
  constructor(box, state) {
    Object.assign(this, { box, state, history: [] });
    this.start = button("Train on current annotation", () => this.train(), { class: "main" });
    this.bar = el("progress", { max: 1, value: 0, hidden: true, "aria-label": "Training progress" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.plot = el("div", { class: "plot" });
    this.cancel = button("Stop training", () => this.train(true), { hidden: true });
    this.models = el("select", { id: "models", onchange: () => this.#use(this.models.value) });
    this.choice = el("div", {}, el("label", { for: "models" }, "Suggestions from"), this.models);
    show(box, el("p", { class: "buttons" }, this.start, this.cancel), this.bar, this.line, this.choice, this.plot);
    state.on("document", () => this.#listModels());
  }

  #listModels() {
    const { models = [], model } = this.state.document;
    this.choice.hidden = models.length === 0;
    show(this.models, models.map(({ which, name }) => el("option", { value: which }, which === "trained" ? "parser trained here" : name)));
    if (model) this.models.value = model.which;
  }

  async #use(which) {
    try {
      await this.state.api.post("model", { which });
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  shown() {
    this.refresh();
  }

  focus() {
    this.start.focus();
  }

  async refresh() {
    try {
      this.draw(await this.state.api.training());
    } catch (refusal) {
      this.line.textContent = refusal.message;
    }
  }

  async train(cancel = false) {
    try {
      this.draw(await this.state.api.train(cancel));
      if (!cancel) tell("Training started; you can keep working.");
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  /** Show a progress event of the server. */
  progress(event) {
    if (event.state && event.state !== "training") return void this.refresh();
    this.bar.hidden = this.cancel.hidden = false;
    if (event.total) {
      this.bar.max = event.total;
      this.bar.value = event.done ?? 0;
    } else this.bar.removeAttribute("value");
    this.line.textContent = event.message ?? "";
    this.start.disabled = true;
    return undefined;
  }

  draw({ state = "", progress = 0, message = "", history = null } = {}) {
    const running = state === "training", error = state === "failed" ? message : null;
    this.start.disabled = running;
    this.bar.hidden = this.cancel.hidden = !running;
    if (running) this.progress({ done: progress, total: 1, message });
    else if (error) this.line.textContent = error;
    if (history) this.history = history;
    const last = this.history.at(-1);
    if (!running && !error) {
      this.line.textContent = last
        ? `Last: ${last.sentences} sentences, ${last.words} words${last.uas === null ? "" : `; UAS ${percent(last.uas)}, LAS ${percent(last.las)}, ECE ${percent(last.ece)} (cross-validated)`}.`.replaceAll(" %", "\u00a0%")
        : "No training yet. A first parser needs about 20 sentences.";
    }
    show(this.plot, this.history.length ? plot(this.history) : null, this.history.length ? figures(this.history) : null);
  }
}

/** Lines over the number of annotated words; each has its own marker, so that they are distinguishable without colour. */
function plot(history) {
  const most = Math.max(...history.map((entry) => entry.words), 1);
  const x = (words) => LEFT + ((WIDTH - LEFT - RIGHT) * words) / most, y = (share) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - share);
  const root = svg("svg", { class: "curve", viewBox: `0 0 ${WIDTH} ${HEIGHT + 18 * LINES.length}`, role: "img", "aria-label": "Accuracy and calibration by number of annotated words" });
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    root.append(svg("path", { class: "grid", d: `M${LEFT} ${y(share)}H${WIDTH - RIGHT}` }), svg("text", { x: LEFT - 5, y: y(share) + 4, "text-anchor": "end" }, `${share * 100}`));
  }
  root.append(svg("text", { x: LEFT, y: HEIGHT - 12 }, "0"), svg("text", { x: WIDTH - RIGHT, y: HEIGHT - 12, "text-anchor": "end" }, `${most} words`));
  LINES.forEach(([name, title, sign], k) => {
    const points = history.filter((entry) => Number.isFinite(entry[name])).map((entry) => [x(entry.words), y(entry[name])]);
    const line = svg("g", { class: `curve-line ${name}` }, svg("title", {}, title), svg("path", { d: points.map(([a, b], at) => `${at ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("") }));
    for (const [a, b] of points) line.append(mark(sign, a, b));
    line.append(mark(sign, LEFT + 6, HEIGHT + 18 * k + 2), svg("text", { x: LEFT + 18, y: HEIGHT + 18 * k + 6 }, title));
    root.append(line);
  });
  return root;
}

function mark(sign, x, y) {
  if (sign === "circle") return svg("circle", { cx: x, cy: y, r: 3.2 });
  if (sign === "square") return svg("rect", { x: x - 3, y: y - 3, width: 6, height: 6 });
  return svg("path", { class: "cross", d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6` });
}

/** The same numbers as a table. */
function figures(history) {
  const cell = (value) => el("td", {}, Number.isFinite(value) ? percent(value) : "");
  return el("details", {}, el("summary", {}, "Numbers"), el("table", { class: "figures" },
    el("thead", {}, el("tr", {}, ["sentences", "words", "UAS", "LAS", "ECE", "s"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, history.map((entry) => el("tr", {}, el("td", {}, entry.sentences), el("td", {}, entry.words), cell(entry.uas), cell(entry.las), cell(entry.ece),
      el("td", {}, Number.isFinite(entry.seconds) ? entry.seconds.toFixed(1) : ""))))));
}
