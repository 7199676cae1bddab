// The tree view: redraws when the sentence changes, marks the selection, and handles the mouse.

import { button, percent, svg, tellUntil } from "./dom.js";
import { Drawing } from "./tree.js";
import { picture } from "./picture.js";

const READABLE = 0.5; // zoom below which text is hard to read
const HINT = 8000; // milliseconds after which a hint goes
const LOWEST = 200; // pixels of height that a tree always gets
const FAR = 6; // pixels that the mouse must move to start a drag

export class Canvas {
  /** `box`: the scrolling element; `menu(position)`: opens the menu of the word. */
  constructor(box, state, editor, menu) {
    Object.assign(this, { box, state, editor, menu, drawn: new Drawing(), drag: null, planned: false, revealing: false });
    box.append(this.drawn.root);
    state.on("sentence", () => this.draw());
    state.on("selection", () => this.mark());
    state.on("view", () => this.draw());
    this.width = Infinity; // of the box; measured only on changes, because reading it forces a layout
    new ResizeObserver(() => this.#resized()).observe(box);
    box.addEventListener("pointerdown", (event) => this.#down(event));
    box.addEventListener("pointermove", (event) => this.#moved(event));
    box.addEventListener("pointerup", (event) => this.#up(event));
    box.addEventListener("pointercancel", () => this.#stop());
    box.addEventListener("contextmenu", (event) => this.#context(event));
    box.addEventListener("scroll", () => this.#plan());
    box.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
  }

  draw() {
    const { state, box } = this;
    box.classList.toggle("blank", !state.sentence);
    if (!state.sentence) return;
    performance.mark("arcwise-draw");
    const view = state.view;
    const what = picture(state.sentence, { preview: state.preview, second: state.second, enhanced: view.enhanced, guessed: (id, head) => state.guess(id, head), names: view.rows, generated: state.generated.suggestions });
    this.drawn.draw(what, { vertical: view.vertical, zoom: view.zoom, passing: state.preview !== null || state.second, room: this.width / view.zoom });
    box.classList.toggle("tall", view.vertical); // shrinks, so that the selected word stays on the screen below it
    box.classList.toggle("second", state.second);
    box.classList.toggle("choosing", this.editor.choosing !== null);
    const direction = what.rtl && !view.vertical ? "rtl" : "ltr";
    if (box.dir !== direction) box.dir = direction; // setting it would restyle the whole subtree
    this.mark();
    performance.measure("arcwise-draw", "arcwise-draw");
  }

  #resized() {
    const width = this.box.clientWidth;
    if (width === this.width) return;
    this.width = width;
    if (this.state.sentence) this.draw();
  }

  /** Mark the selected words and scroll the selection into view. */
  mark() {
    const { state, box } = this;
    for (const word of box.querySelectorAll(".word.selected, .word.ranged, .word.head")) {
      word.classList.remove("selected", "ranged", "head");
      word.setAttribute("aria-selected", "false");
    }
    for (const arc of box.querySelectorAll(".arc.mine")) arc.classList.remove("mine");
    const find = (id) => document.getElementById(`word-${id}`);
    for (const row of state.range) {
      find(row.id)?.classList.add(row.id === state.selected ? "selected" : "ranged");
      find(row.id)?.setAttribute("aria-selected", "true");
    }
    box.querySelector(`.arc[data-arc="${CSS.escape(state.selected ?? "")}"]`)?.classList.add("mine");
    const head = state.preview?.head ?? this.editor.arc()?.head;
    if (head) find(head)?.classList.add("head");
    box.setAttribute("aria-activedescendant", find(state.selected) ? `word-${state.selected}` : "");
    this.revealing = true;
    this.#plan();
  }

  /** Scroll in the next frame, when positions are known. */
  #plan() {
    if (this.planned) return;
    this.planned = true;
    requestAnimationFrame(() => {
      this.planned = false;
      if (this.revealing) this.#reveal();
      this.revealing = false;
      this.#follow();
    });
  }

  #follow() {
    if (!this.drawn.long.length) return;
    const { box, state } = this, vertical = state.view.vertical, zoom = state.view.zoom;
    const tree = this.drawn.root.getBoundingClientRect(), visible = box.getBoundingClientRect();
    const start = vertical ? visible.top - tree.top : visible.left - tree.left;
    this.drawn.follow(start / zoom, (start + (vertical ? box.clientHeight : box.clientWidth)) / zoom, vertical);
  }

  /** Scroll the selected word into view. */
  #reveal() {
    const spot = this.drawn.spots.get(this.state.selected);
    if (!spot) return;
    const { box } = this, zoom = this.state.view.zoom;
    const svgBox = this.drawn.root;
    const left = spot[0] * zoom + svgBox.getBoundingClientRect().left - box.getBoundingClientRect().left;
    const room = Math.min(140, box.clientWidth / 4);
    if (this.state.view.vertical) box.scrollLeft = 0; // words are at the left, with arcs to their right
    else if (left < room) box.scrollLeft += left - room * 2;
    else if (left > box.clientWidth - room) box.scrollLeft += left - box.clientWidth + room * 2;
    const top = spot[1] * zoom + svgBox.getBoundingClientRect().top - box.getBoundingClientRect().top;
    if (top > box.clientHeight - 60) box.scrollTop += top - box.clientHeight + 90;
    else if (top < 0) box.scrollTop += top - 60;
    if (document.documentElement.scrollHeight > window.innerHeight) this.#bringIntoWindow();
  }

  /** In a small window the page itself scrolls: bring the selected word and the part below it into the window. */
  #bringIntoWindow() {
    const word = document.getElementById(`word-${this.state.selected}`)?.getBoundingClientRect();
    if (!word) return;
    if (word.top < 0) window.scrollBy(0, word.top - 8);
    else if (word.bottom > window.innerHeight) window.scrollBy(0, word.bottom - window.innerHeight + 8);
  }

  #word(event) {
    const under = document.elementFromPoint(event.clientX, event.clientY);
    return under?.closest?.("[data-row]")?.dataset.row ?? null;
  }

  #down(event) {
    if (event.button !== 0 || this.state.moving) return;
    const { state, editor } = this;
    const arc = event.target.closest("[data-arc]")?.dataset.arc, word = event.target.closest("[data-row]")?.dataset.row;
    this.box.focus({ preventScroll: true });
    if (word) {
      event.preventDefault();
      if (editor.choosing) return void (editor.choosing.row === word || state.row(word)?.kind !== "word" ? editor.rest() : editor.confirmHead(word));
      if (event.shiftKey) return void editor.select(word, { extend: true });
      this.drag = { row: word, x: event.clientX, y: event.clientY, line: null, column: event.target.closest("[data-column]")?.dataset.column };
      if (word !== state.selected) editor.select(word);
    } else if (arc && !editor.choosing) {
      event.preventDefault();
      if (arc !== state.selected) editor.select(arc);
      this.drag = { label: arc };
    } else editor.rest(); // a click elsewhere cancels choosing a head
  }

  #moved(event) {
    const { drag } = this;
    if (!drag?.row || (!drag.line && Math.hypot(event.clientX - drag.x, event.clientY - drag.y) < FAR)) return;
    const root = this.drawn.root, at = this.#inside(event), from = this.drawn.spots.get(drag.row);
    if (!drag.line) {
      if (this.state.row(drag.row)?.kind !== "word") return;
      drag.line = svg("path", { class: "dragged" });
      root.append(drag.line);
      this.box.setPointerCapture?.(event.pointerId);
      this.box.classList.add("dragging");
    }
    const lift = Math.min(60, Math.abs(at[0] - from[0]) / 2 + 20);
    drag.line.setAttribute("d", `M${from[0]} ${from[1]}C${from[0]} ${from[1] - lift} ${at[0]} ${at[1] - lift} ${at[0]} ${at[1]}`);
    const over = this.#word(event);
    for (const word of root.querySelectorAll(".word.target")) word.classList.remove("target");
    if (over && over !== drag.row) document.getElementById(`word-${over}`)?.classList.add("target");
  }

  #up(event) {
    const { drag, editor, state } = this;
    this.#stop();
    if (!drag) return;
    if (drag.label) return void editor.label("", drag.label);
    if (!drag.line) return void (drag.column && editor.editRow(drag.column, drag.row));
    const over = this.#word(event), row = state.row(drag.row);
    if (!row) return;
    if (over && over !== drag.row && state.row(over)?.kind === "word") editor.setHead(row, over);
    else if (!over && this.#aboveWords(event)) editor.setHead(row, "0");
  }

  /** Whether the pointer is in the drop zone of the root, the upper part of the tree. */
  #aboveWords(event) {
    const [x, y] = this.#inside(event);
    return this.state.view.vertical ? x > this.drawn.width * 0.75 : y < Math.max(30, this.drawn.floor * 0.25);
  }

  #inside(event) {
    const tree = this.drawn.root.getBoundingClientRect(), zoom = this.state.view.zoom;
    return [(event.clientX - tree.left) / zoom, (event.clientY - tree.top) / zoom];
  }

  #stop() {
    this.drag?.line?.remove();
    for (const word of this.box.querySelectorAll(".word.target")) word.classList.remove("target");
    this.box.classList.remove("dragging");
    this.drag = null;
  }

  #context(event) {
    const id = event.target.closest("[data-row]")?.dataset.row ?? event.target.closest("[data-arc]")?.dataset.arc;
    if (!id) return;
    event.preventDefault();
    if (!this.state.range.some((row) => row.id === id)) this.editor.select(id);
    this.menu({ left: event.clientX, right: event.clientX, width: 0, top: event.clientY, bottom: event.clientY });
  }

  #wheel(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.zoomBy(event.deltaY < 0 ? 1.1 : 1 / 1.1);
  }

  zoomBy(factor) {
    this.state.look({ zoom: Math.max(0.1, Math.min(3, this.state.view.zoom * factor)) });
  }

  /** The height that the box can have while the parts around it stay on the screen. */
  #tallest() {
    const { box } = this, work = box.parentElement, style = getComputedStyle(work);
    const parts = [...work.children].filter((part) => part !== box && part.offsetHeight > 1);
    const others = parts.reduce((sum, part) => sum + part.offsetHeight + (Number.parseFloat(style.rowGap) || 0), 0);
    const room = style.overflowY === "visible" ? Infinity : work.clientHeight - others - 6; // its padding
    return Math.max(LOWEST, Math.min(Number.parseFloat(getComputedStyle(box).maxHeight) || window.innerHeight, room));
  }

  /** Zoom so that the tree fits the window, or back to its natural size. */
  fit() {
    const { drawn, box, state } = this;
    const most = this.#tallest(), edge = 6;
    const fitting = Math.min(1, (box.clientWidth - edge) / drawn.width, (most - edge) / drawn.height);
    const back = Math.abs(state.view.zoom - fitting) < 0.001;
    state.look({ zoom: back ? 1 : fitting });
    if (back || fitting >= READABLE) return;
    const gone = tellUntil(`The whole tree at ${percent(fitting)} of its size; Shift Z goes back.${state.view.vertical ? "" : " The vertical layout keeps words readable."}`, "", ...(state.view.vertical ? [] : [button("Vertical layout", () => {
      gone();
      state.look({ vertical: true, zoom: 1 });
    })]));
    setTimeout(gone, HINT);
  }
}
