// The legend: what lines and colours of arcs mean.

import { button, el, svg } from "./dom.js";
import { panel } from "./popups.js";

const LINES = [
  ["decided other", "annotated"], ["proposed other", "suggested: the paler and thinner, the less certain"], ["unknown", "neither annotated nor suggested"], ["preview other", "preview: Enter annotates it"],
];
const COLOURS = [["core", "core argument (nsubj, obj, ccomp …)"], ["function", "function word (det, case, aux, punct …)"], ["other", "other relation"], ["crossing", "crosses another arc"], ["root", "root"]];

const sample = (kind) => svg("svg", { class: "arcwise", width: 54, height: 14, viewBox: "0 0 54 14", "aria-hidden": "true" },
  svg("g", { class: `arc ${kind}` }, svg("path", { class: "line", d: "M2 12V8Q2 3 8 3H46Q52 3 52 8V12" })));

/** Show the legend as a popup. */
export function legend(at) {
  panel(at, "Legend", (close) => [
    el("dl", { class: "legend" }, [...LINES, ...COLOURS.map(([kind, text]) => [`decided ${kind}`, text])].map(([kind, text]) => [el("dt", {}, sample(kind)), el("dd", {}, text)])),
    el("p", { class: "soft" }, "A label in italics is a suggestion; below 95 %, its probability stands beside it."),
    el("p", { class: "buttons" }, button("Close", close, { class: "main" })),
  ]);
}
