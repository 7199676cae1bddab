// The Files panel: the files of a project and their annotation progress.

import { button, counted, el, show } from "./dom.js";

const SOON = 400; // milliseconds between a change and a recount

export class Files {
  constructor(box, state, shape) {
    Object.assign(this, { box, state, shape, files: [] });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("ol", { class: "items", "aria-label": "Files" });
    show(box, this.line, this.list);
    state.on("opened", () => this.#mark());
    for (const name of ["changed", "counts", "document"]) state.on(name, () => this.#later());
  }

  shown() {
    return this.refresh();
  }

  focus() {
    this.list.querySelector("button")?.focus();
  }

  #later() {
    if (!this.state.document.is_project) return;
    clearTimeout(this.again);
    this.again = setTimeout(() => this.refresh(), SOON);
  }

  async refresh() {
    try {
      this.files = (await this.state.api.get("files")).files;
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    if (this.files.some((file) => file.done === null)) this.#later();
    if (!this.box.hidden) this.draw();
  }

  draw() {
    const done = this.files.reduce((sum, file) => sum + (file.done ?? 0), 0), all = this.state.document.sentences;
    this.line.textContent = `${counted(this.files.length, "file")}, ${done.toLocaleString("en")} of ${counted(all, "sentence")} annotated (${this.state.doneMeans})`;
    show(this.list, this.files.map((file) => el("li", { "data-file": file.name },
      el("button", { type: "button", class: "item", onclick: () => this.#open(file) },
        el("bdi", { class: "text" }, file.name),
        el("span", { class: "value" }, file.done === null ? "…" : file.done === file.sentences ? `✓ ${file.sentences}` : `${file.done}/${file.sentences}`),
        el("progress", { max: Math.max(file.sentences, 1), value: file.done ?? 0, "aria-hidden": "true" })),
      button("Add", () => this.shape.insert({ file: file.name }), { class: "add", "aria-label": `Add sentences to ${file.name}`, title: `Add sentences at the end of ${file.name}` }))));
    this.#mark();
  }

  /** Go to the first unfinished sentence of a file, else to its first. */
  #open(file) {
    if (file.sentences) this.state.open(file.open ?? file.first);
  }

  #mark() {
    this.list.querySelector("[aria-current]")?.removeAttribute("aria-current");
    const file = this.state.sentence?.file;
    if (file) this.list.querySelector(`[data-file="${CSS.escape(file)}"] button`)?.setAttribute("aria-current", "true");
  }
}
