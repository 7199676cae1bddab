// The help card, made of the table of actions.

import { button, el } from "./dom.js";
import { written } from "./keys.js";
import { dialog } from "./popups.js";

const TYPED = [
  ["0 … 9", "number of the head; 0 is the root. It is decided as soon as the number is complete"],
  ["a … z", "first letters of the label, the most probable first; Enter decides arc and label"],
];
const MOUSE = [
  ["drag", "from a word to its head; to the top for the root"],
  ["click, click", "on the selected word, then on its head"],
  ["click a label", "to choose another one"],
  ["right click", "on a word or an arc: everything that can be done with it"],
  ["Ctrl wheel", "larger, smaller"],
];

const keyCell = (keys) => el("dt", {}, keys.map((key, k) => [k ? " or " : "", el("kbd", {}, key)]));

/** Show the card. */
export function help(list) {
  return dialog("Keys", (close) => {
    const part = (title, rows) => el("section", {}, el("h3", {}, title), el("dl", {}, rows.flatMap(([keys, text]) => [keyCell(keys), el("dd", {}, text)])));
    const groups = [...new Set(list.map((action) => action.group))];
    const typed = part("Type", TYPED.map(([key, text]) => [[key], text]));
    const sections = groups.map((name) => part(name, list.filter((action) => action.group === name && action.keys.length).map((action) => [action.keys.slice(0, 2).map(written), action.title])));
    const rest = list.filter((action) => !action.keys.length).map((action) => action.title).join(", ");
    return [
      button("Close", () => close(), { class: "main close", autofocus: true }),
      el("p", { class: "soft" }, "Solid arcs are decided, dashed ones proposed: the paler, the less sure. The tree must have the focus; F6 goes there."),
      el("div", { class: "card" }, typed, ...sections, part("Mouse", MOUSE.map(([key, text]) => [[key], text])),
        el("section", {}, el("h3", {}, "In the list of commands (:)"), el("p", {}, `${rest}.`))),
    ];
  }, { class: "help", id: "help" });
}
