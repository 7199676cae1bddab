// The content of the tree view, without drawing: the arc of each word, its probability, and marks.

import { percent } from "./dom.js";
import { depsOf, labelDecided } from "./edits.js";
import { crossing, kindOf } from "./kinds.js";
import { ROWS, cellsOf } from "./rows.js";

const known = (value) => value !== undefined && value !== null && value !== "_" && value !== "";

/** A label, or "" where there is none. */
const named = (label) => (known(label) ? label : "");

/** The displayed names of the states of an arc. */
export const STATE_NAMES = { decided: "annotated", proposed: "suggested", open: "unannotated", preview: "preview" };

/**
 * The arc shown for a word: {head: "0"…|null, label, state: decided|proposed|open, labelState: decided|proposed, probability (of the head),
 * labelProbability (of head and label)}. `guessed(id, head)`: a label where there is no parser.
 */
export function arcOf(row, thought, guessed = () => "") {
  const hasLabel = labelDecided(row);
  if (row.state === "decided") {
    const guess = hasLabel ? null : labelFor(row, thought, guessed);
    const open = guess !== null && guess[0] !== "";
    return {
      head: row.head, label: hasLabel ? row.deprel : guess[0], state: "decided", labelState: hasLabel || !open ? "decided" : "proposed",
      probability: null, labelProbability: hasLabel ? null : guess[1],
    };
  }
  if (thought && Number.isInteger(thought.head) && thought.head >= 0) {
    return {
      head: String(thought.head), label: hasLabel ? row.deprel : named(thought.label), state: "proposed", labelState: hasLabel ? "decided" : "proposed",
      probability: thought.probability ?? null, labelProbability: thought.label_probability ?? null,
    };
  }
  const label = known(row.deprel) ? row.deprel : "";
  if (row.state === "proposed") {
    return {
      head: row.head, label, state: "proposed", labelState: hasLabel ? "decided" : "proposed",
      probability: row.head_probability ?? null, labelProbability: row.label_probability ?? null,
    };
  }
  return { head: null, label, state: "open", labelState: hasLabel ? "decided" : "open", probability: null, labelProbability: null };
}

/** The arc of a word in the second-best tree, without probabilities where it differs from `arc`; `second` null: `arc` itself. */
export function inTree(arc, id, second) {
  if (!second) return arc;
  const head = String(second.heads[id]), label = second.labels?.[id] ?? arc.label;
  return head === arc.head && label === arc.label ? arc : { ...arc, head, label, differs: true, probability: null, labelProbability: null };
}

/** The suggested label for an annotated head: [label, its probability]. Suggestions for other heads do not count. */
function labelFor(row, thought, guessed) {
  if (!thought) return known(row.deprel) ? [row.deprel, row.label_probability ?? null] : [guessed(row.id, row.head), null];
  if (String(thought.head) === row.head) return [named(thought.label), thought.label_probability ?? null];
  const labels = thought.alternatives.filter(([head]) => String(head) === row.head);
  if (!labels.length) return ["", null];
  const total = labels.reduce((sum, [, , p]) => sum + (p ?? 0), 0);
  return [named(labels[0][1]), total > 0 ? labels[0][2] / total : null];
}

/** The rows below a word, for screen readers: "NOUN, NN suggested". */
function spokenCells(cells) {
  const shown = cells.filter((cell) => cell.lines.some(Boolean)), suggested = shown.filter((cell) => cell.proposed);
  const text = shown.map((cell) => [cell.lines.join("|"), cell.note].filter(Boolean).join(" ")).join(", ");
  if (!suggested.length) return text;
  return `${text}${suggested.length === shown.length ? "" : `, ${suggested.map((cell) => ROWS[cell.name]).join(" ")}`} suggested`;
}

/** A description for screen readers: "3 dogs, NOUN, head 4 bark, nsubj, 97 %, suggested"; `names`: the rows below the word. */
export function spoken(row, arc, thought, formOf, names = ["upos"]) {
  const tag = spokenCells(cellsOf(row, thought, names.includes("upos") ? names : [...names, "upos"]));
  const head = arc.head === null ? "no head" : arc.head === "0" ? "head 0 root" : `head ${arc.head} ${formOf(arc.head)}`;
  const p = arc.labelProbability ?? arc.probability;
  const parts = [`${row.id} ${row.form}`, tag || "no UPOS", head, arc.label, p === null ? "" : percent(p), STATE_NAMES[arc.state]];
  if (arc.state === "decided" && arc.labelState === "proposed") parts.push("label suggested");
  return parts.filter(Boolean).join(", ");
}

/** The findings of a sentence, except that an unannotated word lacks a head or label. */
export function findingsOf(sentence) {
  const open = new Set(sentence.rows.filter((row) => row.kind === "word" && row.deprel === "_").map((row) => row.id));
  const headless = new Set(sentence.rows.filter((row) => row.kind === "word" && row.head === "_").map((row) => row.id));
  return (sentence.findings ?? []).filter(({ column, row }) => !(column?.toLowerCase() === "deprel" && open.has(row)) && !(column?.toLowerCase() === "head" && headless.has(row)));
}

/** The row of a note: 3 for "3" and for the arc "5>3"; null for a note on the sentence. */
export const noteRow = (on) => (on ? on.slice(on.indexOf(">") + 1) : null);

/** The marks of each row: id → [{sign, name, description}]. */
export function marksOf(sentence) {
  const marks = new Map();
  const add = (row, mark) => row && marks.set(row, [...(marks.get(row) ?? []), mark]);
  for (const finding of findingsOf(sentence)) add(finding.row, finding.rule === "merge-conflict" ? { sign: "⇄", name: "conflict", description: finding.message } : { sign: "!", name: finding.warning ? "warning" : "finding", description: finding.message });
  for (const word of sentence.doubts ?? []) add(word.row, { sign: "?", name: "doubt", description: "suspicious annotation" });
  for (const note of sentence.notes ?? []) add(noteRow(note.on), { sign: "✎", name: "note", description: note.text });
  for (const row of Object.keys(sentence.beside?.rows ?? {})) add(row, { sign: "≠", name: "beside", description: "differs from the other file" });
  return marks;
}

/**
 * Everything that the tree view draws. `preview`: {row, head, label}, not annotated; `second`: the second-best tree; `enhanced`: with DEPS;
 * `names`: the rows below the words; `generated`: suggested enhanced arcs. */
export function picture(sentence, { preview = null, second = false, enhanced = false, guessed = undefined, names = ["upos"], generated = [] } = {}) {
  const rows = sentence.rows.filter((row) => row.kind !== "multiword");
  const place = new Map(rows.map((row, k) => [row.id, k]));
  const formOf = (id) => rows[place.get(id)]?.form ?? "";
  const best = second ? sentence.thoughts?.second_best : null;
  const arcs = rows.filter((row) => row.kind === "word").map((row) => {
    let arc = inTree(arcOf(row, sentence.thoughts?.words?.[row.id], guessed), row.id, best);
    if (preview && preview.row === row.id) {
      arc = {
        ...arc, head: preview.head ?? arc.head, label: preview.label ?? arc.label, state: "preview", labelState: "preview",
        probability: null, labelProbability: preview.probability ?? null,
      };
    }
    return { ...arc, row: row.id, spoken: spoken(row, arc, sentence.thoughts?.words?.[row.id], formOf) };
  });
  const heads = new Array(rows.length).fill(null);
  for (const arc of arcs) if (arc.head !== null) heads[place.get(arc.row)] = arc.head === "0" ? -1 : (place.get(arc.head) ?? null);
  const crosses = crossing(heads);
  for (const arc of arcs) {
    if (arc.head !== null && arc.head !== "0" && (!place.has(arc.head) || arc.head === arc.row)) arc.head = null; // the head is not a word of the sentence
    arc.kind = kindOf(arc.head, arc.label, crosses.has(place.get(arc.row)));
  }
  const marks = marksOf(sentence), suggested = new Map(generated.map((word) => [word.id, word.arcs]));
  const arcOfRow = new Map(arcs.map((arc) => [arc.row, arc])), thoughtOf = (row) => sentence.thoughts?.words?.[row.id];
  const name = (row, cells) => (arcOfRow.has(row.id) ? spoken(row, arcOfRow.get(row.id), thoughtOf(row), formOf, names) : [`${row.id} ${row.form}`, spokenCells(cells), "empty node"].filter(Boolean).join(", "));
  return {
    rtl: sentence.direction === "rtl",
    place,
    arcs,
    items: rows.map((row) => {
      const cells = cellsOf(row, thoughtOf(row), names), ofRow = marks.get(row.id) ?? [];
      return {
        id: row.id, form: row.form, cells, kind: row.kind, state: row.state, marks: ofRow,
        spoken: [name(row, cells), ...ofRow.map((mark) => `${mark.name}: ${mark.description}`)].join(", "),
      };
    }),
    tokens: sentence.rows.filter((row) => row.kind === "multiword").map((row) => {
      const [first, last] = row.id.split("-");
      return { id: row.id, first, last, form: row.form };
    }).filter((token) => place.has(token.first) && place.has(token.last)),
    enhanced: enhanced ? rows.flatMap((row) => [
      ...depsOf(row.deps).map(([head, label]) => ({ head, label })), ...(suggested.get(row.id) ?? []).map(({ head, label, rule, description }) => ({ head, label, rule, description })),
    ].map((arc) => ({ ...arc, row: row.id, extra: arc.head !== row.head || arc.label !== row.deprel }))).filter((arc) => arc.head === "0" || place.has(arc.head)) : [],
  };
}
