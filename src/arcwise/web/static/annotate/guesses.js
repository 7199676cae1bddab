// Without a parser: the label that words like this one had most often, by tag, tag of the head and side, in the sentences this window has
// seen; where none is like it, what the tag says in most treebanks. A guess decides nothing: it is shown as a proposal, and Enter takes it.

const BY_TAG = {
  ADJ: "amod", ADP: "case", ADV: "advmod", AUX: "aux", CCONJ: "cc", DET: "det", INTJ: "discourse", NUM: "nummod", PART: "advmod", PRON: "nsubj", PUNCT: "punct", SCONJ: "mark",
};

/** From the finest to the coarsest: what words are likened by. */
function likeness(row, head) {
  const side = Number(head.id) < Number(row.id) ? "after" : "before";
  return [`${row.upos} ${head.upos} ${side} ${row.form.toLowerCase()}`, `${row.upos} ${head.upos} ${side}`, `${row.upos} ${side}`];
}

export class Guesses {
  #sentences = new Map(); // number → [[likeness, label], …]
  #counts = new Map(); // likeness → label → count

  /** Learn from the decided arcs of a sentence; what it said before is forgotten. */
  learn(sentence) {
    this.#add(this.#sentences.get(sentence.number) ?? [], -1);
    const byId = new Map(sentence.rows.map((row) => [row.id, row])), found = [];
    for (const row of sentence.rows) {
      const head = byId.get(row.head);
      if (row.kind !== "word" || row.state !== "decided" || row.deprel === "_" || !head) continue;
      for (const like of likeness(row, head)) found.push([like, row.deprel]);
    }
    this.#sentences.set(sentence.number, found);
    this.#add(found, 1);
  }

  #add(pairs, by) {
    for (const [like, label] of pairs) {
      const counts = this.#counts.get(like) ?? new Map();
      counts.set(label, (counts.get(label) ?? 0) + by);
      this.#counts.set(like, counts);
    }
  }

  forget() {
    this.#sentences.clear();
    this.#counts.clear();
  }

  /** The label to propose for a row with a head (a row), or "". */
  label(row, head) {
    for (const like of likeness(row, head)) {
      const best = [...(this.#counts.get(like) ?? [])].filter(([, count]) => count > 0).sort((a, b) => b[1] - a[1])[0];
      if (best) return best[0];
    }
    if (["NOUN", "PROPN"].includes(row.upos)) {
      if (["NOUN", "PROPN"].includes(head.upos)) return "nmod";
      return Number(head.id) < Number(row.id) ? "obj" : "nsubj";
    }
    return BY_TAG[row.upos] ?? "";
  }
}
