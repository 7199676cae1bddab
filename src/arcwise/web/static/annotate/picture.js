// What is drawn of a sentence: which arc each word shows, how sure it is, what is marked. No drawing here.

import { percent } from "./dom.js";
import { depsOf, labelDecided } from "./edits.js";

const CORE = new Set(["nsubj", "obj", "iobj", "dobj", "csubj", "ccomp", "xcomp", "nsubjpass", "csubjpass", "obl:arg"]);
const FUNCTION = new Set(["det", "case", "aux", "auxpass", "cop", "mark", "cc", "punct", "clf"]);

const known = (value) => value !== undefined && value !== null && value !== "_" && value !== "";

/** A label, or "" where there is none. */
const named = (label) => (known(label) ? label : "");

/** The probability that stands in MISC, e.g. of HeadProb; null if there is none. */
function inMisc(row, name) {
  const part = row.misc.split("|").find((one) => one.startsWith(`${name}=`));
  const value = part ? Number(part.slice(name.length + 1)) : NaN;
  return Number.isFinite(value) ? value : null;
}

/**
 * The arc that a word shows: {head: "0"…|null, label, state: decided|proposed|open, labelState: decided|proposed, probability (of the head),
 * labelProbability (of head and label)}. `guessed(id, head)`: a label where no parser thinks.
 */
export function arcOf(row, thought, guessed = () => "") {
  const given = labelDecided(row);
  if (row.state === "decided") {
    const guess = given ? null : labelFor(row, thought, guessed);
    const open = guess !== null && guess[0] !== "";
    return {
      head: row.head, label: given ? row.deprel : guess[0], state: "decided", labelState: given || !open ? "decided" : "proposed",
      probability: null, labelProbability: given ? null : guess[1],
    };
  }
  if (thought && Number.isInteger(thought.head) && thought.head >= 0) {
    return {
      head: String(thought.head), label: given ? row.deprel : named(thought.label), state: "proposed", labelState: given ? "decided" : "proposed",
      probability: thought.probability ?? null, labelProbability: thought.label_probability ?? null,
    };
  }
  const label = known(row.deprel) ? row.deprel : "";
  if (row.state === "proposed") {
    const [probability, labelProbability] = [inMisc(row, "HeadProb"), inMisc(row, "DeprelProb")];
    return { head: row.head, label, state: "proposed", labelState: given ? "decided" : "proposed", probability, labelProbability };
  }
  return { head: null, label, state: "open", labelState: given ? "decided" : "open", probability: null, labelProbability: null };
}

/** The label proposed for a head that is decided: [label, its probability]. What was thought of another head does not count. */
function labelFor(row, thought, guessed) {
  if (!thought) return known(row.deprel) ? [row.deprel, inMisc(row, "DeprelProb")] : [guessed(row.id, row.head), null];
  if (String(thought.head) === row.head) return [named(thought.label), thought.label_probability ?? null];
  const own = thought.alternatives.filter(([head]) => String(head) === row.head);
  if (!own.length) return ["", null];
  const all = own.reduce((sum, [, , p]) => sum + (p ?? 0), 0);
  return [named(own[0][1]), all > 0 ? own[0][2] / all : null];
}

/** Words whose arc is not projective: some word between is not below the head. `heads`: place → place of the head, −1 the root, null open. */
function crossing(heads) {
  const found = new Set();
  const below = (word, head) => {
    for (let steps = 0; word !== null && word >= 0 && steps <= heads.length; steps++) {
      if (word === head) return true;
      word = heads[word];
    }
    return false;
  };
  heads.forEach((head, modifier) => {
    if (head === null || head < 0) return;
    for (let k = Math.min(head, modifier) + 1; k < Math.max(head, modifier); k++) {
      if (heads[k] !== null && !below(k, head)) {
        found.add(modifier);
        break;
      }
    }
  });
  return found;
}

function kindOf(head, label, crosses) {
  if (head === null) return "unknown";
  if (head === "0") return "root";
  if (crosses) return "crossing";
  const lower = label.toLowerCase(), short = lower.split(":")[0];
  if (CORE.has(lower) || CORE.has(short)) return "core";
  return FUNCTION.has(lower) || FUNCTION.has(short) ? "function" : "other";
}

/** A word in words, for those who listen: "3 dogs, head 4 bark, nsubj, 97 %, proposed". */
export function spoken(row, arc, formOf) {
  const head = arc.head === null ? "no head" : arc.head === "0" ? "head 0 root" : `head ${arc.head} ${formOf(arc.head)}`;
  const p = arc.labelProbability ?? arc.probability;
  const parts = [`${row.id} ${row.form}`, head, arc.label, p === null ? "" : percent(p), arc.state];
  if (arc.state === "decided" && arc.labelState === "proposed") parts.push("label proposed");
  return parts.filter(Boolean).join(", ");
}

/** The findings of a sentence. That an open word has no head or label is no finding: it is open. */
export function findingsOf(sentence) {
  const open = new Set(sentence.rows.filter((row) => row.kind === "word" && row.deprel === "_").map((row) => row.id));
  const headless = new Set(sentence.rows.filter((row) => row.kind === "word" && row.head === "_").map((row) => row.id));
  return (sentence.findings ?? []).filter((one) => !(one.column?.toLowerCase() === "deprel" && open.has(one.row)) && !(one.column?.toLowerCase() === "head" && headless.has(one.row)));
}

/** The row that a note stands at: of "3" and of the arc "5>3" it is 3; a note on the sentence has none. */
export const noteRow = (on) => (on ? on.slice(on.indexOf(">") + 1) : null);

/** What is wrong, doubtful or noted at each row: id → [{sign, name, told}]. */
export function marksOf(sentence) {
  const marks = new Map();
  const add = (row, mark) => row && marks.set(row, [...(marks.get(row) ?? []), mark]);
  for (const one of findingsOf(sentence)) add(one.row, { sign: "!", name: "finding", told: one.message });
  for (const one of sentence.doubts ?? []) add(one.row, { sign: "?", name: "doubt", told: "improbable for parsers that never saw it" });
  for (const one of sentence.notes ?? []) add(noteRow(one.on), { sign: "✎", name: "note", told: one.text });
  for (const row of Object.keys(sentence.beside?.rows ?? {})) add(row, { sign: "≠", name: "beside", told: "differs from the other file" });
  return marks;
}

/** Everything that is drawn. `preview`: {row, head, label} not yet decided; `second`: show the second-best tree; `enhanced`: show DEPS. */
export function picture(sentence, { preview = null, second = false, enhanced = false, guessed = undefined } = {}) {
  const rows = sentence.rows.filter((row) => row.kind !== "multiword");
  const place = new Map(rows.map((row, k) => [row.id, k]));
  const formOf = (id) => rows[place.get(id)]?.form ?? "";
  const best = second ? sentence.thoughts?.second_best : null;
  const arcs = rows.filter((row) => row.kind === "word").map((row) => {
    let arc = arcOf(row, sentence.thoughts?.words?.[row.id], guessed);
    if (best) {
      const head = String(best.heads[row.id]), label = best.labels?.[row.id] ?? arc.label;
      const differs = head !== arc.head || label !== arc.label;
      arc = differs ? { ...arc, head, label, differs, probability: null, labelProbability: null } : arc;
    }
    if (preview && preview.row === row.id) {
      arc = {
        ...arc, head: preview.head ?? arc.head, label: preview.label ?? arc.label, state: "preview", labelState: "preview",
        probability: null, labelProbability: preview.probability ?? null,
      };
    }
    return { ...arc, row: row.id, spoken: spoken(row, arc, formOf) };
  });
  const heads = new Array(rows.length).fill(null);
  for (const arc of arcs) if (arc.head !== null) heads[place.get(arc.row)] = arc.head === "0" ? -1 : (place.get(arc.head) ?? null);
  const crosses = crossing(heads);
  for (const arc of arcs) {
    if (arc.head !== null && arc.head !== "0" && (!place.has(arc.head) || arc.head === arc.row)) arc.head = null; // a head that is not there
    arc.kind = kindOf(arc.head, arc.label, crosses.has(place.get(arc.row)));
  }
  const marks = marksOf(sentence);
  const spokenOf = new Map(arcs.map((arc) => [arc.row, arc.spoken]));
  return {
    rtl: sentence.direction === "rtl",
    place,
    arcs,
    items: rows.map((row) => ({
      id: row.id, form: row.form, tag: known(row.upos) ? row.upos : (sentence.thoughts?.words?.[row.id]?.tags?.upos ?? ""), tagProposed: !known(row.upos), kind: row.kind, state: row.state,
      marks: marks.get(row.id) ?? [],
      spoken: [spokenOf.get(row.id) ?? `${row.id} ${row.form}, empty node`, ...(marks.get(row.id) ?? []).map((m) => `${m.name}: ${m.told}`)].join(", "),
    })),
    tokens: sentence.rows.filter((row) => row.kind === "multiword").map((row) => {
      const [first, last] = row.id.split("-");
      return { id: row.id, first, last, form: row.form };
    }).filter((token) => place.has(token.first) && place.has(token.last)),
    enhanced: enhanced ? rows.flatMap((row) => depsOf(row.deps).map(([head, label]) => ({
      head, label, row: row.id, extra: head !== row.head || label !== row.deprel,
    }))).filter((arc) => arc.head === "0" || place.has(arc.head)) : [],
  };
}
