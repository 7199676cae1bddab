// From a key to what it does. Digits are heads, letters begin a label, all else stands in actions.js. Keys that are pressed while another
// sentence is on its way are meant for that one: they wait for it.

import { popupOpen, typed } from "./popups.js";

const NAMED = { " ": "Space", Spacebar: "Space", Esc: "Escape", Del: "Delete" };

/** A key as actions.js spells it: "Shift+N", "Ctrl+Z", "ArrowLeft", "?". Letters of other scripts count by their place on the keyboard. */
function spell(event) {
  let key = NAMED[event.key] ?? event.key;
  const graph = event.getModifierState?.("AltGraph") ?? false;
  const command = (event.ctrlKey || event.metaKey) && !graph;
  const letter = /^Key([A-Z])$/.exec(event.code ?? "");
  if (key.length === 1 && letter && !/^[\x20-\x7e]$/.test(key)) key = letter[1].toLowerCase();
  const isLetter = /^[a-z]$/i.test(key);
  if (isLetter) key = key.toUpperCase();
  const shift = event.shiftKey && (isLetter || key.length > 1);
  return `${command ? "Ctrl+" : ""}${event.altKey && !graph ? "Alt+" : ""}${shift ? "Shift+" : ""}${isLetter && !shift && !command && !event.altKey ? key.toLowerCase() : key}`;
}

/** How a key is written on the help card. */
export function written(key) {
  const signs = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", PageDown: "PgDn", PageUp: "PgUp", Escape: "Esc" };
  return key.split(/\+(?=.)/).map((part) => signs[part] ?? part).join(" ");
}

export class Keys {
  constructor(list, editor) {
    this.editor = editor;
    this.byKey = new Map(list.flatMap((action) => action.keys.map((key) => [key, action])));
    this.held = []; // keys that wait
    editor.state.on("settled", () => this.#release());
  }

  /** What a key does while the tree has the focus; true if it did something. */
  press(event) {
    if (event.isComposing) return false;
    if (!this.held.length && !this.editor.state.moving) return this.#run(event);
    const key = spell(event), known = /^[0-9a-z]$/.test(key) || this.byKey.has(key);
    if (known) this.held.push(event);
    return known;
  }

  /** What waited is done, in its order; a dialog that asks something ends it. */
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
    if (/^[0-9a-z]$/.test(key) && !editor.state.sentence) return true; // there is no word
    if (/^[0-9]$/.test(key)) return editor.digit(key), true;
    if (/^[a-z]$/.test(key)) return editor.finishDigits(), editor.label(key), true;
    const action = this.byKey.get(key);
    if (!action) return false;
    if (editor.digits && !["accept", "open", "give-up"].includes(action.id)) editor.finishDigits();
    action.run();
    return true;
  }

  /** What a key does anywhere on the page: those with Ctrl, and F6, F1. */
  anywhere(event) {
    const key = spell(event);
    if (!/^(Ctrl\+(S|Z|Y|K|Shift\+Z)|(Shift\+)?F[16])$/.test(key)) return false;
    const typing = event.target.closest?.("input, textarea");
    if (typing && /^Ctrl\+(Z|Y|Shift\+Z)$/.test(key)) return false;
    this.byKey.get(key)?.run();
    return this.byKey.has(key);
  }
}
