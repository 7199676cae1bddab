// Inconsistencies, in the Checks panel: the same words with different analyses and the places of each; one key steps through the places.

import { button, el, say, show, tell } from "./dom.js";
import { focusTree } from "./popups.js";

const PAGE = 50; // groups fetched at a time
const SHOWN = 8; // places of an analysis that are listed before "more"

const NAMES = { arc: "arc", upos: "UPOS", lemma: "lemma" };

/** The places to step through: those of rarer analyses first, then one of the most frequent analysis for comparison. */
function stops(group) {
  const [most, ...rarer] = group.variants;
  return [...rarer.reverse().flatMap((variant) => variant.places), ...most.places.slice(0, 1)];
}

export class Consistency {
  constructor(box, state) {
    Object.assign(this, { state, groups: [], total: 0, listed: 0, version: null, at: { group: 0, place: -1 }, buttons: new Map() });
    this.start = button("Find inconsistencies", () => this.find(), { title: "The same words with different analyses, and forms with several lemmas" });
    this.line = el("p", { class: "soft line", role: "status" });
    this.list = el("ol", { class: "items" });
    this.more = button("Show more", () => this.#load(), { class: "more", hidden: true });
    box.append(el("section", { id: "consistency", "aria-label": "Inconsistencies" }, el("p", { class: "buttons" }, this.start), this.line, this.list, this.more));
    state.on("view", (changes) => changes.side === "checks" && this.refresh());
    state.on("changed", () => this.#stale());
  }

  /** Compare the file with itself. */
  async find() {
    this.start.disabled = true;
    this.line.textContent = "Looking for inconsistencies …";
    try {
      await this.state.api.post("consistency");
    } catch (refusal) {
      this.start.disabled = false;
      this.line.textContent = refusal.message;
      return;
    }
    await this.refresh();
  }

  /** Handle a server-sent event. */
  heard(event) {
    if (event.kind === "consistency") this.refresh();
    else if (event.kind === "changed") this.#stale();
  }

  #stale() {
    if (this.version !== null) this.#summary(true);
  }

  #summary(stale) {
    const found = this.total ? `${this.total} ${this.total === 1 ? "inconsistency" : "inconsistencies"}.` : "No inconsistencies found.";
    this.line.textContent = stale ? `${found} The file has changed since.` : found;
  }

  /** Show the results of the last comparison, or that one is running. */
  async refresh() {
    let answer;
    try {
      answer = await this.#fetch(0);
    } catch (refusal) {
      this.line.textContent = refusal.message;
      return;
    }
    this.start.disabled = !answer.ready;
    if (!answer.ready) return void (this.line.textContent = "Looking for inconsistencies …"); // an event announces the end
    if (answer.error) return void (this.line.textContent = `The comparison failed: ${answer.error}.`);
    if (answer.version === null) return;
    if (answer.version !== this.version) {
      this.at.place = -1; // the group of the last place, or the one that has taken its position
      this.groups = [];
      this.buttons.clear();
      show(this.list);
      this.version = answer.version;
      this.#add(answer);
    }
    this.#summary(answer.stale);
  }

  #fetch(from) {
    return this.state.api.get("consistency", { from, count: PAGE });
  }

  #add(answer) {
    Object.assign(this, { total: answer.total, listed: answer.listed });
    const first = this.groups.length;
    this.groups.push(...answer.groups);
    this.list.append(...answer.groups.map((group, k) => this.#group(group, first + k)));
    this.more.hidden = this.groups.length >= this.listed;
  }

  async #load() {
    const version = this.version, from = this.groups.length;
    try {
      const answer = await this.#fetch(from);
      if (answer.version === version && this.groups.length === from) this.#add(answer);
    } catch (refusal) {
      tell(refusal.message, "bad");
    }
  }

  #group(group, number) {
    const words = [group.before.join(" "), " ", el("b", {}, group.words.join(" ")), " ", group.after.join(" ")];
    return el("li", {}, el("p", { class: "group-words" }, el("span", { class: "badge warning" }, NAMES[group.kind]), " ", el("bdi", {}, words)),
      group.variants.map((variant) => this.#variant(variant, number)));
  }

  #variant(variant, number) {
    const line = el("div", { class: "variant" }, el("span", { class: "soft" }, `${variant.count} ×`), el("bdi", {}, variant.analysis));
    const add = (places) => line.append(...places.map((place) => this.#place(place, number)));
    const rest = variant.places.length - SHOWN;
    add(variant.places.slice(0, SHOWN));
    if (rest > 0) {
      const more = button(`${rest} more`, () => {
        more.remove();
        add(variant.places.slice(SHOWN));
      }, { class: "link" });
      line.append(more);
    }
    return line;
  }

  #place(place, number) {
    const [sentence, first, last] = place;
    const made = button(String(sentence + 1), () => this.#go(number, place), {
      class: "place", title: first === last ? `Sentence ${sentence + 1}, word ${first}` : `Sentence ${sentence + 1}, words ${first} to ${last}`,
    });
    this.buttons.set(place, made);
    return made;
  }

  /** Open a place with its words selected. */
  async #go(number, place) {
    const group = this.groups[number], [sentence, first, last] = place;
    this.at = { group: number, place: stops(group).indexOf(place) };
    for (const other of this.list.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
    this.buttons.get(place)?.setAttribute("aria-current", "true");
    this.buttons.get(place)?.scrollIntoView({ block: "nearest" });
    try {
      await this.state.open(sentence, String(first));
    } catch (refusal) {
      return tell(refusal.message, "bad");
    }
    if (last !== first && this.state.row(String(last))) this.state.select(String(last), { extend: true });
    focusTree();
    const variant = group.variants.find((candidate) => candidate.places.includes(place));
    return say(`Sentence ${sentence + 1}, ${group.words.join(" ")}: ${variant.analysis}, ${variant.count} of ${group.variants.reduce((sum, { count }) => sum + count, 0)}.`);
  }

  /** Go to the next place; the first call compares the file. */
  async next() {
    if (this.version === null) {
      await this.find();
      if (this.version === null) return tell("The comparison is still running; press ; again when it has finished.");
    }
    let { group, place } = this.at;
    place += 1;
    while (group < this.listed) {
      if (group >= this.groups.length) await this.#load();
      if (group >= this.groups.length) break;
      const places = stops(this.groups[group]);
      if (place < places.length) return this.#go(group, places[place]);
      [group, place] = [group + 1, 0]; // places of sentences that were removed are gone
    }
    this.at = { group: 0, place: -1 };
    return tell(this.total ? "That was the last inconsistency. Press ; to start again." : "No inconsistencies found.");
  }
}
