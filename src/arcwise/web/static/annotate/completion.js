// Which labels and tags are offered, and in which order, while one types their first letters.

/** The universal relations and parts of speech, the more frequent in most treebanks first: for files that do not have them yet. */
const RELATIONS = ("punct case nsubj det nmod advmod obj obl root conj amod cc aux mark cop acl advcl compound flat xcomp ccomp nummod appos "
  + "parataxis fixed iobj expl discourse csubj dep list vocative orphan dislocated goeswith reparandum clf").split(" ");
const TAGS = "NOUN PUNCT VERB ADP PRON DET ADJ ADV PROPN AUX CCONJ SCONJ PART NUM X INTJ SYM".split(" ");

/** The values of a column: those of the file by frequency, those the model knows, then the universal ones. */
export function inventory(document, column) {
  const own = document?.inventory?.[column] ?? [];
  const universal = { deprel: RELATIONS, upos: TAGS }[column] ?? [];
  const model = { deprel: document?.model?.labels, upos: document?.model?.upos }[column] ?? [];
  let end = own.length; // the server lists universal values that the file does not have at the end, by alphabet
  while (end > 0 && universal.includes(own[end - 1]) && (end === own.length || own[end - 1] < own[end])) end--;
  return [...new Set([...own.slice(0, end), ...universal.filter((value) => own.slice(end).includes(value)), ...model, ...universal])];
}

/** How probable each label is for a word with a head (a string; null: any), from the alternatives that were thought of. */
export function labelWeights(thought, head) {
  const weights = new Map();
  if (!thought) return weights;
  const pairs = [...thought.alternatives, [thought.head, thought.label, thought.label_probability ?? 0]];
  for (const own of [true, false]) {
    for (const [other, label, p] of pairs) {
      const fits = head === null || String(other) === String(head);
      if (fits !== own || !label || weights.has(label)) continue;
      weights.set(label, own ? 1 + (p ?? 0) : (p ?? 0)); // labels of this head come before those of others
    }
  }
  return weights;
}

/**
 * The values that fit what was typed: those that begin with it, then those that contain it; the more probable first, then the more frequent.
 * What is in the list exactly as typed stands first.
 */
export function completions(typed, values, weights = new Map(), most = 12) {
  const lower = typed.toLowerCase();
  const ranked = values.map((value, k) => ({ value, k, weight: weights.get(value) ?? 0 }));
  const rank = (value) => {
    const own = value.toLowerCase();
    if (own === lower && lower) return 0;
    return own.startsWith(lower) ? 1 : own.includes(lower) ? 2 : 3;
  };
  return ranked
    .map((one) => ({ ...one, rank: rank(one.value) }))
    .filter((one) => one.rank < 3)
    .sort((a, b) => a.rank - b.rank || b.weight - a.weight || a.k - b.k)
    .slice(0, most)
    .map((one) => one.value);
}
