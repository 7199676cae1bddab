// Key bindings and the help card. Digits set heads, letters start a label, everything else is in actions.js. Keys pressed while another
// sentence is loading are queued for that sentence.

import { button, el } from "./dom.js";
import { dialog, popupOpen, typed } from "./popups.js";
import { latinKey } from "./positions.js";

const NAMED = { " ": "Space", Spacebar: "Space", Esc: "Escape", Del: "Delete" };

/** A key as actions.js spells it: "Shift+N", "Ctrl+Z", "ArrowLeft", "?". Letters of other scripts map by their position on the keyboard. */
function spell(event) {
  let key = NAMED[event.key] ?? latinKey(event);
  const graph = event.getModifierState?.("AltGraph") ?? false;
  const command = (event.ctrlKey || event.metaKey) && !graph;
  const isLetter = /^[a-z]$/i.test(key);
  if (isLetter) key = key.toUpperCase();
  const shift = event.shiftKey && (isLetter || key.length > 1);
  return `${command ? "Ctrl+" : ""}${event.altKey && !graph ? "Alt+" : ""}${shift ? "Shift+" : ""}${isLetter && !shift && !command && !event.altKey ? key.toLowerCase() : key}`;
}

/** A key as the help card shows it. */
export function written(key) {
  const signs = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", PageDown: "PgDn", PageUp: "PgUp", Escape: "Esc" };
  return key.split(/\+(?=.)/).map((part) => signs[part] ?? part).join(" ");
}

export class Keys {
  constructor(list, editor) {
    this.editor = editor;
    this.byKey = new Map(list.flatMap((action) => action.keys.map((key) => [key, action])));
    this.held = []; // keys queued for the next sentence
    editor.state.on("settled", () => this.#release());
  }

  /** Handle a key while the tree has the focus; true if it was used. */
  press(event) {
    if (event.isComposing) return false;
    if (!this.held.length && !this.editor.state.moving) return this.#run(event);
    const key = spell(event), known = /^[0-9a-z]$/.test(key) || this.byKey.has(key);
    if (known) this.held.push(event);
    return known;
  }

  /** Handle the queued keys in order; an open dialog discards them. */
  #release() {
    while (this.held.length && !this.editor.state.moving) {
      const event = this.held.shift();
      if (document.querySelector("dialog[open]")) this.held = [];
      else if (popupOpen()) typed(event);
      else this.#run(event);
    }
  }

  #run(event) {
    const key = spell(event), { editor } = this;
    if (/^[0-9a-z]$/.test(key) && !editor.state.sentence) return true; // there is no word to annotate
    if (/^[0-9]$/.test(key)) return editor.digit(key), true;
    if (/^[a-z]$/.test(key)) return editor.finishDigits(), editor.label(key), true;
    const action = this.byKey.get(key);
    if (!action) return false;
    if (editor.digits && !["accept", "open", "give-up"].includes(action.id)) editor.finishDigits();
    action.run();
    return true;
  }

  /** Handle a key anywhere on the page: those with Ctrl, F6 and F1. */
  anywhere(event) {
    const key = spell(event);
    if (!/^(Ctrl\+(S|Z|Y|K|Shift\+Z)|(Shift\+)?F[16])$/.test(key)) return false;
    const typing = event.target.closest?.("input, textarea");
    if (typing && /^Ctrl\+(Z|Y|Shift\+Z)$/.test(key)) return false;
    this.byKey.get(key)?.run();
    return this.byKey.has(key);
  }
}

const TYPED = [
  ["0 … 9", "number of the head; 0 is the root. It is set as soon as the number is complete"],
  ["a … z", "first letters of the label, most probable first; Enter accepts head and label"],
];
const MOUSE = [
  ["drag", "from a word to its head; to the top for the root"],
  ["Choose head", "below the tree, then click the head"],
  ["click a label", "to choose another one"],
  ["right-click", "a word or an arc: all its commands"],
  ["Ctrl wheel", "zoom"],
];

const keyCell = (keys) => el("dt", {}, keys.map((key) => el("kbd", {}, key)));

/** Show the help card with the actions. */
export function help(list) {
  return dialog("Keyboard shortcuts", (close) => {
    const section = (title, rows) => el("section", {}, el("h3", {}, title), el("dl", {}, rows.flatMap(([keys, text]) => [keyCell(keys), el("dd", {}, text)])));
    const typing = section("Type", TYPED.map(([key, text]) => [[key], text]));
    const mouse = section("Mouse", MOUSE.map(([key, text]) => [[key], text]));
    const group = (name) => section(name, list.filter((action) => action.group === name && action.keys.length).map((action) => [action.keys.slice(0, 2).map(written), action.title]));
    const unbound = list.filter((action) => !action.keys.length).map((action) => action.title).join(", ");
    return [
      button("Close", () => close(), { class: "main close", autofocus: true }),
      el("p", { class: "soft" }, "Solid arcs are annotated, dashed arcs are suggestions: the paler, the less certain. Shortcuts work while the tree has the focus; F6 moves it there."),
      el("div", { class: "card" }, typing, group("Navigate"), group("Annotate"), group("View"), mouse, group("Edit"), group("Panels"), // in this order the columns are about equally long
        el("section", {}, el("h3", {}, "In the list of commands (:)"), el("p", {}, `${unbound}.`))),
    ];
  }, { class: "help", id: "help" });
}
