// The rows below the words: tags, lemma, gloss and transliteration, annotated or suggested; and their selection.

import { button, el, percent } from "./dom.js";
import { setField } from "./edits.js";
import { panel } from "./popups.js";

/** The columns that a tagger suggests, in the order in which the page lists them. */
export const TAG_COLUMNS = ["upos", "xpos", "feats", "lemma"];

/** The rows available below the words: id → name. */
export const ROWS = { upos: "UPOS", xpos: "XPOS", feats: "FEATS", lemma: "LEMMA", gloss: "Gloss", translit: "Transliteration" };

/** Rows stored in MISC: row → its key. */
const MISC_KEYS = { gloss: "Gloss", translit: "Translit" };

const known = (value) => value !== undefined && value !== null && value !== "_" && value !== "";

/** The value of a key of MISC, or "". */
function miscValue(misc, key) {
  return misc.split("|").find((pair) => pair.startsWith(`${key}=`))?.slice(key.length + 1) ?? "";
}

/** MISC with another value of a key; an empty value removes it. Other attributes stay as they are. */
function withMisc(misc, key, value) {
  const pairs = misc === "_" ? [] : misc.split("|"), at = pairs.findIndex((pair) => pair.startsWith(`${key}=`));
  if (at >= 0) pairs.splice(at, 1, ...(value ? [`${key}=${value}`] : []));
  else if (value) pairs.push(`${key}=${value}`);
  return pairs.join("|") || "_";
}

/** The value of a row below a word in the file, or "". */
export function valueOf(row, name) {
  const value = name in MISC_KEYS ? miscValue(row.misc, MISC_KEYS[name]) : row[name];
  return known(value) ? value : "";
}

/** The edit that sets the value of a row below a word. */
export function rowEdit(row, name, value) {
  return name in MISC_KEYS ? setField(row.id, "misc", withMisc(row.misc, MISC_KEYS[name], value.trim())) : setField(row.id, name, value.trim() || "_");
}

/**
 * The suggested value of a column: the model's where the file has none, or a UPOS that MISC marks as a suggestion: {value, p}, where p is null
 * without a probability; else null.
 */
export function suggestedTag(row, thought, column) {
  if (row.kind !== "word" || !TAG_COLUMNS.includes(column)) return null;
  if (column === "upos" && row.upos_state === "proposed") return { value: row.upos, p: Number.parseFloat(miscValue(row.misc, "UposProb")) || null };
  const value = row[column] === "_" ? thought?.tags?.[column] : null;
  return known(value) ? { value, p: thought.tag_probabilities?.[column] ?? null } : null;
}

/** The suggested tags of a word: [{id, form, column, value, p}]. */
export function suggestedTags(row, thought, columns = TAG_COLUMNS) {
  return columns.flatMap((column) => {
    const suggestion = suggestedTag(row, thought, column);
    return suggestion ? [{ id: row.id, form: row.form, column, ...suggestion }] : [];
  });
}

/** The cells below a word: {name, lines, proposed, note}. FEATS has one line per feature. */
export function cellsOf(row, thought, names) {
  return names.map((name) => {
    const suggestion = suggestedTag(row, thought, name), value = suggestion?.value ?? valueOf(row, name);
    const note = suggestion && suggestion.p !== null && suggestion.p < 0.95 ? percent(suggestion.p).replace(" %", "%").replace("< ", "<") : "";
    return { name, lines: name === "feats" ? value.split("|").filter(Boolean) : [value], proposed: suggestion !== null, note };
  });
}

/** Choose the rows below the words. */
export function chooseRows(at, state) {
  const boxes = Object.entries(ROWS).map(([name, title]) => {
    const box = el("input", { type: "checkbox", checked: state.view.rows.includes(name) });
    box.addEventListener("change", () => state.look({ rows: Object.keys(ROWS).filter((row) => (row === name ? box.checked : state.view.rows.includes(row))) }));
    return el("label", { class: "check" }, box, name in MISC_KEYS ? `${title} (MISC ${MISC_KEYS[name]}=)` : title);
  });
  panel(at, "Rows below the words", (close) => [boxes, el("p", { class: "buttons" }, button("Close", close, { class: "main" }))]);
}
