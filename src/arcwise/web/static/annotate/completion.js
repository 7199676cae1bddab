// Completion of labels and tags from their first letters, and label guesses without a parser.

/** The universal relations and parts of speech, most frequent first, for files that do not have them yet. */
const RELATIONS = ("punct case nsubj det nmod advmod obj obl root conj amod cc aux mark cop acl advcl compound flat xcomp ccomp nummod appos "
  + "parataxis fixed iobj expl discourse csubj dep list vocative orphan dislocated goeswith reparandum clf").split(" ");
const TAGS = "NOUN PUNCT VERB ADP PRON DET ADJ ADV PROPN AUX CCONJ SCONJ PART NUM X INTJ SYM".split(" ");
const LABEL_BY_TAG = {
  ADJ: "amod", ADP: "case", ADV: "advmod", AUX: "aux", CCONJ: "cc", DET: "det", INTJ: "discourse", NUM: "nummod", PART: "advmod", PRON: "nsubj", PUNCT: "punct", SCONJ: "mark",
};

/** The address of the guidelines for a universal relation or tag, or for a subtype of one; null for any other. `kind`: "dep" or "pos". */
export function guideline(document, kind, name) {
  const base = name?.split(":")[0], universal = { dep: RELATIONS, pos: TAGS }[kind];
  if (!document?.guidelines || !universal.includes(base)) return null;
  const file = /^aux$/iu.test(name) ? `${name}_` : name.replace(":", "-"); // files named aux do not exist on some systems
  return `${document.guidelines}${kind}/${encodeURIComponent(file)}.html`;
}

/** The values of a column: those of the file by frequency, those of the model, then the universal ones. */
export function inventory(document, column) {
  const fileValues = document?.inventory?.[column] ?? [];
  const universal = { deprel: RELATIONS, upos: TAGS }[column] ?? [];
  const model = { deprel: document?.model?.labels, upos: document?.model?.upos }[column] ?? [];
  let end = fileValues.length; // the server appends universal values that the file lacks, in alphabetical order
  while (end > 0 && universal.includes(fileValues[end - 1]) && (end === fileValues.length || fileValues[end - 1] < fileValues[end])) end--;
  return [...new Set([...fileValues.slice(0, end), ...universal.filter((value) => fileValues.slice(end).includes(value)), ...model, ...universal])];
}

/** The probability of each label of a word with a given head (a string; null: any), from its alternatives. */
export function labelWeights(thought, head) {
  const weights = new Map();
  if (!thought) return weights;
  const pairs = [...thought.alternatives, [thought.head, thought.label, thought.label_probability ?? 0]];
  for (const sameHead of [true, false]) {
    for (const [pairHead, label, p] of pairs) {
      const fits = head === null || String(pairHead) === String(head);
      if (fits !== sameHead || !label || weights.has(label)) continue;
      weights.set(label, sameHead ? 1 + (p ?? 0) : (p ?? 0)); // labels of this head come before those of other heads
    }
  }
  return weights;
}

/**
 * The values that match the typed text: an exact match, then prefixes, then substrings; within each, the more probable first, then the
 * more frequent.
 */
export function completions(typed, values, weights = new Map()) {
  const lower = typed.toLowerCase();
  const rank = (value) => {
    const candidate = value.toLowerCase();
    if (candidate === lower && lower) return 0;
    return candidate.startsWith(lower) ? 1 : candidate.includes(lower) ? 2 : 3;
  };
  return values
    .map((value, k) => ({ value, k, weight: weights.get(value) ?? 0, rank: rank(value) }))
    .filter((match) => match.rank < 3)
    .sort((a, b) => a.rank - b.rank || b.weight - a.weight || a.k - b.k)
    .map((match) => match.value);
}

/** The contexts of a word in which labels are counted, from specific to general. */
function contexts(row, head) {
  const side = Number(head.id) < Number(row.id) ? "after" : "before";
  return [`${row.upos} ${head.upos} ${side} ${row.form.toLowerCase()}`, `${row.upos} ${head.upos} ${side}`, `${row.upos} ${side}`];
}

/**
 * Label guesses where there is no parser: the most frequent label of similar words in the sentences this window has seen, else the usual
 * label of the tag. A guess is shown as a suggestion and annotates nothing until Enter accepts it.
 */
export class LabelGuesses {
  #sentences = new Map(); // number → [[context, label], …]
  #counts = new Map(); // context → label → count

  /** Count the annotated arcs of a sentence, replacing its earlier counts. */
  learn(sentence) {
    this.#add(this.#sentences.get(sentence.number) ?? [], -1);
    const byId = new Map(sentence.rows.map((row) => [row.id, row])), pairs = [];
    for (const row of sentence.rows) {
      const head = byId.get(row.head);
      if (row.kind !== "word" || row.state !== "decided" || row.deprel === "_" || !head) continue;
      for (const context of contexts(row, head)) pairs.push([context, row.deprel]);
    }
    this.#sentences.set(sentence.number, pairs);
    this.#add(pairs, 1);
  }

  #add(pairs, by) {
    for (const [context, label] of pairs) {
      const counts = this.#counts.get(context) ?? new Map();
      counts.set(label, (counts.get(label) ?? 0) + by);
      this.#counts.set(context, counts);
    }
  }

  forget() {
    this.#sentences.clear();
    this.#counts.clear();
  }

  /** The guessed label of a row below a head (both rows), or "". */
  label(row, head) {
    for (const context of contexts(row, head)) {
      const best = [...(this.#counts.get(context) ?? [])].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1])[0];
      if (best) return best[0];
    }
    if (["NOUN", "PROPN"].includes(row.upos)) {
      if (["NOUN", "PROPN"].includes(head.upos)) return "nmod";
      return Number(head.id) < Number(row.id) ? "obj" : "nsubj";
    }
    return LABEL_BY_TAG[row.upos] ?? "";
  }
}
