// The editor of FEATS: the attributes and values that occur in this treebank with the word's UPOS; and the prompt for a lemma.

import { button, el, percent, show } from "./dom.js";
import { pick, panel, closePopup } from "./popups.js";
import { readByPosition } from "./positions.js";
import { suggestedTag } from "./rows.js";

const EMPTY = { features: [], lemmas: [] };

/** The treebank's values for a form and a UPOS; empty if the server does not respond. */
async function seenValues(state, row, upos) {
  try {
    return await state.api.get("values", { form: row.form, upos });
  } catch {
    return EMPTY;
  }
}

const uposOf = (state, row) => suggestedTag(row, state.thought(row.id), "upos")?.value ?? (row.upos === "_" ? "" : row.upos);

/** Features with one of them set, or removed with an empty value. The others keep their order; a new one is inserted alphabetically. */
function withFeature(pairs, name, value) {
  const at = pairs.findIndex(([other]) => other === name);
  if (at >= 0) return value ? pairs.map((pair, k) => (k === at ? [name, value] : pair)) : pairs.filter((_, k) => k !== at);
  if (!value) return pairs;
  const lower = name.toLowerCase(), before = (other) => other.toLowerCase() < lower;
  const sorted = pairs.every(([other], k) => k === 0 || pairs[k - 1][0].toLowerCase() <= other.toLowerCase());
  const place = sorted ? pairs.filter(([other]) => before(other)).length : pairs.length;
  return [...pairs.slice(0, place), [name, value], ...pairs.slice(place)];
}

const pairsOf = (text) => text.split("|").filter((part) => part && part !== "_").map((part) => {
  const equals = part.indexOf("=");
  return equals < 0 ? [part, ""] : [part.slice(0, equals), part.slice(equals + 1)];
});
const written = (pairs) => pairs.map(([name, value]) => (value ? `${name}=${value}` : name)).join("|");

/** Edit FEATS of a row; `value` and `error`: the rejected value and the reason. */
export function editFeatures(state, editor, id, { value = null, error = "" } = {}) {
  const row = state.row(id) ?? state.sentence?.rows.find((candidate) => candidate.id === id);
  if (!row) return;
  const upos = uposOf(state, row), suggestion = suggestedTag(row, state.thought(id), "feats");
  let pairs = pairsOf(value ?? row.feats), features = [], chosen = 0, matches = [];
  const title = `FEATS of ${row.id} ${row.form}${upos ? ` (${upos})` : ""}`;
  const input = el("input", {
    type: "text", role: "combobox", "aria-expanded": "true", "aria-controls": "features", "aria-autocomplete": "list", "aria-label": title,
    autocomplete: "off", autocapitalize: "off", spellcheck: "false", size: 24, placeholder: "Name=Value, or its first letters",
  });
  const now = el("div", { class: "chips", role: "group", "aria-label": "Features of the word" }), list = el("div", { id: "features", role: "listbox", "aria-label": title });
  const problem = el("p", { class: "bad", role: "alert" }, error);
  const set = (name, feature) => {
    pairs = withFeature(pairs, name, feature);
    input.value = "";
    chosen = 0;
    draw();
    input.focus();
  };
  const toggle = ([name, feature]) => set(name, pairs.some((pair) => pair[0] === name && pair[1] === feature) ? "" : feature);
  const save = () => {
    const text = written(pairs) || "_";
    closePopup();
    editor.field(id, "feats", text, (message) => editFeatures(state, editor, id, { value: text, error: message }));
  };
  /** The features that match the typed text, best first; a complete new one matches itself. */
  const find = (text) => {
    const typed = text.trim().toLowerCase();
    if (!typed) return [];
    const rank = ([name, feature]) => {
      const pair = `${name}=${feature}`.toLowerCase();
      return pair === typed ? 0 : feature.toLowerCase().startsWith(typed) ? 1 : pair.startsWith(typed) ? 2 : pair.includes(typed) ? 3 : 4;
    };
    const ranked = features.flatMap(([name, values]) => values.map((feature) => [name, feature])).filter((pair) => rank(pair) < 4).sort((a, b) => rank(a) - rank(b));
    const [own] = pairsOf(text.trim());
    return own[1] && !ranked.some((pair) => rank(pair) === 0) ? [...ranked, own] : ranked;
  };
  /** Set the highlighted match; false if there is none. */
  const take = () => {
    if (!input.value.trim()) return true;
    if (!matches.length) return void (problem.textContent = `${input.value.trim()}: type Name=Value.`);
    set(...matches[chosen]);
    return true;
  };
  const draw = () => {
    const typed = input.value.trim();
    matches = find(typed);
    chosen = Math.max(0, Math.min(chosen, matches.length - 1));
    const names = typed ? [...new Set(matches.map(([name]) => name))] : features.map(([name]) => name);
    const has = (name, feature) => pairs.some((pair) => pair[0] === name && pair[1] === feature);
    show(now, pairs.length ? pairs.map(([name, feature]) => button(`${name}=${feature} ×`, () => set(name, ""), { "aria-label": `Remove ${name}=${feature}` })) : el("span", { class: "soft" }, "no features"));
    show(list, names.map((name) => el("div", { class: "feature", role: "group", "aria-label": name }, el("span", {}, name), (typed ? matches.filter((pair) => pair[0] === name).map((pair) => pair[1]) : features.find((entry) => entry[0] === name)[1]).map((feature) => {
      const highlighted = matches[chosen]?.[0] === name && matches[chosen][1] === feature;
      return el("button", { type: "button", role: "option", tabindex: "-1", "aria-selected": String(has(name, feature)), class: highlighted ? "highlighted" : null, id: highlighted ? "feature-highlighted" : null, onclick: () => toggle([name, feature]) }, feature);
    }))), !features.length && !typed ? el("p", { class: "soft" }, "No features with this UPOS in the treebank yet: type Name=Value.") : null);
    input.setAttribute("aria-activedescendant", matches.length ? "feature-highlighted" : "");
    list.querySelector(".highlighted")?.scrollIntoView({ block: "nearest" });
  };
  input.addEventListener("input", () => {
    chosen = 0;
    problem.textContent = "";
    const parts = input.value.split("|");
    if (parts.length > 1) {
      input.value = parts.pop();
      for (const [name, feature] of parts.flatMap((part) => find(part).slice(0, 1))) pairs = withFeature(pairs, name, feature);
    }
    draw();
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      chosen = Math.max(0, Math.min(matches.length - 1, chosen + step));
      draw();
    } else if (event.key === "Enter") take() && save();
    else if (event.key === "Tab" && input.value.trim()) take();
    else if (event.key === "Backspace" && !input.value && pairs.length) set(pairs.at(-1)[0], "");
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  readByPosition(input, () => features.flatMap(([name, values]) => [name, ...values]));
  panel(editor.spot(id), title, () => [
    now, input, problem, list,
    el("p", { class: "buttons" }, button("Save", () => take() && save(), { class: "main", title: "Save (Enter)" }),
      suggestion ? button(`Use suggestion ${suggestion.value} ${percent(suggestion.p)}`, () => { pairs = pairsOf(suggestion.value); draw(); input.focus(); }) : null, button("Cancel", () => closePopup())),
    el("p", { class: "soft" }, "Tab or | adds what you typed, Enter adds it and saves, Backspace removes the last."),
  ], input);
  draw();
  seenValues(state, row, upos).then((answer) => {
    features = answer.features;
    if (input.isConnected) draw();
  });
}

/** Prompt for the lemma of a row; offers the suggestion, then lemmas of the same form and UPOS, then of the form. */
export function editLemma(state, editor, id, typed = "") {
  const row = state.row(id);
  if (!row) return;
  const upos = uposOf(state, row), suggestion = suggestedTag(row, state.thought(id), "lemma"), counts = new Map();
  const offered = () => [...new Set([suggestion?.value, row.lemma === "_" ? null : row.lemma, ...counts.keys(), row.form.toLowerCase(), row.form].filter(Boolean))];
  const picker = pick({
    at: editor.spot(id), title: `LEMMA of ${row.id} ${row.form}`, typed, free: true,
    find: (text) => offered().filter((lemma) => lemma.toLowerCase().startsWith(text.toLowerCase())),
    note: (lemma) => (lemma === suggestion?.value ? `suggested ${percent(suggestion.p)}` : lemma === row.lemma ? "current" : counts.has(lemma) ? `${counts.get(lemma)} ×` : ""),
    picked: (lemma) => editor.field(id, "lemma", lemma, (message) => editor.askField("lemma", "", { id, value: lemma, error: message })),
  });
  seenValues(state, row, upos).then((answer) => {
    for (const [lemma, count] of answer.lemmas) counts.set(lemma, count);
    picker.redraw();
  });
}
