// Popups: a picker with completion, a text prompt, a menu, and modal dialogs.

import { button, el, show } from "./dom.js";
import { latinKey, readByPosition } from "./positions.js";

const MARGIN = 8;
let open = null;

/** Close the open popup, if any; `back`: return the focus to the tree. */
export function closePopup(back = true) {
  if (!open) return;
  const { box, done } = open;
  open = null;
  box.remove();
  if (back) document.getElementById("tree").focus({ preventScroll: true });
  done?.();
}

/** Return the focus to the tree, unless a popup or dialog has it. */
export function focusTree() {
  if (!open && !document.querySelector("dialog[open]")) document.getElementById("tree").focus({ preventScroll: true });
}

export const popupOpen = () => open !== null;

/** Deliver a key that was pressed before the popup opened. */
export function typed(event) {
  const input = open.box.querySelector("input:not([type=checkbox])");
  const letter = input?.dataset.free === undefined && input?.getAttribute("role") === "combobox" ? latinKey(event) : event.key;
  if (input && letter.length === 1 && !event.ctrlKey && !event.metaKey) {
    input.setRangeText(letter, input.selectionStart, input.selectionEnd, "end");
    input.dispatchEvent(new Event("input"));
  } else {
    const { key, code, ctrlKey, metaKey, shiftKey, altKey } = event;
    (input ?? document.activeElement).dispatchEvent(new KeyboardEvent("keydown", { key, code, ctrlKey, metaKey, shiftKey, altKey, bubbles: true, cancelable: true }));
  }
}

/** Position a box below or above a rectangle, or beside it if it is higher than both, inside the window. */
function place(box, at) {
  box.style.left = box.style.top = "0"; // the width depends on the position
  const size = box.getBoundingClientRect();
  const below = at.bottom + 6 + size.height < window.innerHeight, above = at.top - size.height - 6 >= MARGIN;
  const right = at.right + 6 + size.width < window.innerWidth - MARGIN, left = at.left - size.width - 6 >= MARGIN;
  const centred = at.left + at.width / 2 - size.width / 2;
  const inside = (wanted, length, window) => Math.max(MARGIN, Math.min(wanted, window - length - MARGIN));
  const beside = !below && !above && (right || left);
  box.style.left = `${inside(!beside ? centred : right ? at.right + 6 : at.left - size.width - 6, size.width, window.innerWidth)}px`;
  box.style.top = `${beside ? inside(at.top, size.height, window.innerHeight) : Math.max(MARGIN, below ? at.bottom + 6 : at.top - size.height - 6)}px`;
}

function popup(at, attributes, done, ...children) {
  closePopup(false);
  const box = el("div", { ...attributes, class: `popup ${attributes.class ?? ""}` }, ...children);
  open = { box, done };
  document.querySelector("main").append(box); // in a landmark
  place(box, at);
  return box;
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.box.contains(event.target)) closePopup(false);
});

/**
 * Pick a value by its first letters. `find(typed)` returns the matching values, best first; `note(value)` a note shown next to it;
 * `picked(value, {alone})` is called with the choice (`alone`: Ctrl was held). A typed value that is not in the list can be picked too; it
 * comes last or, with `free`, first: then it is a word of the language and not a label. Returns {redraw}, for values that arrive later.
 */
export function pick({ at, title, typed = "", find, note = () => "", picked, hint = "", free = false }) {
  const input = el("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "picks", "aria-autocomplete": "list", "aria-label": title,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", size: 16, "data-free": free, dir: "auto",
  });
  const list = el("ul", { id: "picks", role: "listbox", "aria-label": title });
  let values = [], chosen = 0;
  const draw = () => {
    const text = input.value.trim();
    values = find(text);
    const isNew = text && !values.includes(text);
    if (isNew) values = free ? [text, ...values] : [...values, text];
    chosen = Math.max(0, Math.min(chosen, values.length - 1));
    show(list, values.map((value, k) => el("li", {
      role: "option", id: `pick-${k}`, "aria-selected": k === chosen ? "true" : "false", onclick: (event) => take(k, event.ctrlKey),
    }, el("span", {}, value), el("small", {}, isNew && value === text ? "new" : note(value)))));
    input.setAttribute("aria-activedescendant", values.length ? `pick-${chosen}` : "");
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const take = (k, alone = false) => {
    const value = values[k];
    closePopup();
    if (value) picked(value, { alone });
  };
  input.value = typed;
  input.addEventListener("input", () => {
    chosen = 0;
    draw();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 6, PageUp: -6 };
    if (event.key in steps) {
      chosen = Math.max(0, Math.min(values.length - 1, chosen + steps[event.key]));
      draw();
    } else if (event.key === "Enter" || event.key === "Tab") take(chosen, event.ctrlKey || event.metaKey);
    else if (event.key === "Escape" || (event.key === "Backspace" && input.value === "")) closePopup();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  if (!free) readByPosition(input, () => find(""));
  const box = popup(at, { class: "picker", role: "dialog", "aria-label": title }, null,
    el("label", {}, title, input), list, hint && el("p", { class: "soft" }, hint));
  draw();
  place(box, at); // with its list
  input.focus();
  return { redraw: () => input.isConnected && draw() };
}

/**
 * Prompt for one line of text. `entered(text)` is called with it; `choices`: further buttons, {text, run(typed)}. `hint`: a line below the
 * field, or a function of what is typed; `error`: why the last input was rejected. `values`: the values of a column that is written in Latin letters;
 * keys are then read by their position.
 */
export function ask({ at, title, value = "", hint = "", error = "", entered, choices = [], caret = null, values = null }) {
  const input = el("input", { type: "text", "aria-label": title, autocomplete: "off", spellcheck: "false", size: Math.max(20, Math.min(60, value.length + 4)), dir: "auto" });
  input.value = value;
  const enter = () => {
    const text = input.value;
    closePopup();
    entered(text);
  };
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter") enter();
    else if (event.key === "Escape") closePopup();
    else {
      event.stopPropagation();
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
  const run = (choice) => () => {
    const text = input.value;
    closePopup();
    choice.run(text);
  };
  const line = el("p", { class: "soft", role: "status" });
  const describe = () => {
    line.textContent = typeof hint === "function" ? hint(input.value) : hint;
    line.hidden = !line.textContent;
  };
  if (values) readByPosition(input, () => values);
  input.addEventListener("input", describe);
  describe();
  const box = popup(at, { class: "asker", role: "dialog", "aria-label": title }, null,
    el("label", {}, title, input), error && el("p", { class: "bad", role: "alert" }, error), line,
    el("p", { class: "buttons" }, button("OK", enter, { class: "main" }), choices.map((choice) => button(choice.text, run(choice)))));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      closePopup();
      event.stopPropagation();
    }
  });
  input.focus();
  if (caret === null) input.select();
  else input.setSelectionRange(caret, caret);
}

/** A popup of any content: `build(close)` returns its children. Escape closes it; `first` has the focus, else its first control. */
export function panel(at, title, build, first = null) {
  const box = popup(at, { class: "panel", role: "dialog", "aria-label": title }, null, el("h2", {}, title), ...[build(() => closePopup())].flat(Infinity));
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") closePopup();
    event.stopPropagation();
  });
  (first ?? box.querySelector("input, button"))?.focus();
}

/** A menu of `entries`: {title, key, run, off, first: whether it starts a group, pressed: whether it is on}. */
export function menu({ at, title, entries }) {
  const items = entries.map((entry) => el("button", {
    type: "button", role: "menuitem", disabled: entry.off, class: entry.first ? "first" : null,
    onclick: () => {
      closePopup();
      entry.run();
    },
  }, el("span", {}, entry.pressed === true ? "✓ " : "", entry.title), el("kbd", {}, entry.key ?? "")));
  const box = popup(at, { class: "menu", role: "menu", "aria-label": title }, null, items);
  box.addEventListener("keydown", (event) => {
    const usable = items.filter((item) => !item.disabled);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) usable[(usable.indexOf(document.activeElement) + step + usable.length) % usable.length].focus();
    else if (event.key === "Escape" || event.key === "Tab") closePopup();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  items.find((item) => !item.disabled)?.focus();
}

/** A modal dialog; `build(close)` returns its children. Resolves with the argument of `close`, or null on Escape. */
export function dialog(title, build, attributes = {}) {
  return new Promise((done) => {
    const box = el("dialog", { "aria-label": title, ...attributes });
    let answer = null;
    const close = (value = null) => {
      answer = value;
      box.close();
    };
    box.addEventListener("close", () => {
      box.remove();
      focusTree(); // this event comes late: a popup may have opened since
      done(answer);
    });
    box.addEventListener("keydown", (event) => event.stopPropagation());
    box.append(el("h2", {}, title), ...[build(close)].flat());
    document.body.append(box);
    box.showModal();
  });
}
