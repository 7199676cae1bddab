// The Notes panel: notes and comments of the sentence.

import { button, el, show } from "./dom.js";
import { ask } from "./popups.js";

export class Notes {
  constructor(box, state, shape) {
    Object.assign(this, { box, state, shape, history: el("section", { class: "history" }) });
    state.on("sentence", () => !box.hidden && this.draw());
  }

  shown() {
    this.draw();
  }

  focus() {
    this.box.querySelector("button")?.focus();
  }

  draw() {
    const sentence = this.state.sentence;
    if (!sentence) return show(this.box);
    const where = (on) => (on === "" ? "sentence" : on.includes(">") ? `arc ${on}` : `word ${on}`);
    const notes = sentence.notes.map((note) => el("li", {}, el("button", { type: "button", class: "item", onclick: () => this.shape.note(note.on) },
      el("span", { class: "soft" }, where(note.on)), el("bdi", { class: "text" }, note.text))));
    const comments = sentence.comments.map((line) => el("li", {}, el("button", { type: "button", class: "item", onclick: (event) => this.#change(line, event.currentTarget) }, el("bdi", { class: "text" }, line))));
    show(this.box,
      el("h2", {}, "Notes"), el("ol", { class: "items" }, notes), button("Note on the sentence", () => this.shape.note("")),
      el("h2", {}, "Comments"), el("ol", { class: "items" }, comments), button("Add a comment", (event) => this.#add(event.currentTarget)), this.history);
    this.#fetch();
  }

  /** The latest edits of the file, with who made them. */
  async #fetch() {
    let answer;
    try {
      answer = await this.state.api.get("history", { count: 20 });
    } catch {
      return;
    }
    show(this.history, el("h2", {}, "Latest edits"), el("ol", { class: "items steps" }, answer.steps.map((step) => el("li", {}, el("bdi", {}, step.description),
      step.by ? el("small", {}, ` ${step.by}, ${new Date(step.at).toLocaleString()}`) : null))),
    answer.steps.length ? null : el("p", { class: "soft" }, "None yet."));
  }

  #change(line, place) {
    const text = line.replace(/^#\s?/u, "");
    ask({
      at: place.getBoundingClientRect(), title: "Comment", value: text,
      entered: (now) => now !== text && this.state.edit([now.trim() ? { kind: "replace-comment", text: line, new: `# ${now.trim()}` } : { kind: "remove-comment", text: line }], "a comment changed"),
      choices: [{ text: "Remove", run: () => this.state.edit([{ kind: "remove-comment", text: line }], "a comment was removed") }],
    });
  }

  #add(place) {
    ask({
      at: place.getBoundingClientRect(), title: "New comment", value: "", hint: "name = value, or any text",
      entered: (text) => text.trim() && this.state.edit([{ kind: "add-comment", text: `# ${text.trim()}` }], "a comment was added"),
    });
  }
}
