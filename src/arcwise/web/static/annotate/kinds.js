// Kinds of arcs: core arguments, function words, crossing arcs. The demo page of the documentation reads this, too.

const CORE = new Set(["nsubj", "obj", "iobj", "dobj", "csubj", "ccomp", "xcomp", "nsubjpass", "csubjpass", "obl:arg"]);
const FUNCTION = new Set(["det", "case", "aux", "auxpass", "cop", "mark", "cc", "punct", "clf"]);

/** Words whose arc is non-projective: the head does not dominate every word in between. `heads`: index → index of the head, −1 root, null none. */
export function crossing(heads) {
  const words = new Set();
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
        words.add(modifier);
        break;
      }
    }
  });
  return words;
}

/** The kind of an arc, which decides its colour. `head`: an id, "0" or null. */
export function kindOf(head, label, crosses) {
  if (head === null) return "unknown";
  if (head === "0") return "root";
  if (crosses) return "crossing";
  const lower = label.toLowerCase(), short = lower.split(":")[0];
  if (CORE.has(lower) || CORE.has(short)) return "core";
  return FUNCTION.has(lower) || FUNCTION.has(short) ? "function" : "other";
}
