// Edits as the API takes them, and what they do to a sentence on the screen before the server has answered.

export const setField = (row, column, value) => ({ kind: "set-field", row, column, value });

/** What a parser wrote into MISC about its proposals: it goes away when a person decides. */
const OF_PARSERS = ["HeadProb", "DeprelProb", "UposProb", "Alternatives"];

/** MISC without what a parser said of its proposal. */
export function withoutDoubts(misc) {
  const kept = misc.split("|").filter((part) => !OF_PARSERS.includes(part.split("=")[0]));
  return kept.length ? kept.join("|") : "_";
}

/** The edits that decide head and label of a row; `null` leaves one as it is. */
export function decide(row, head, label) {
  const edits = [];
  if (head !== null && String(head) !== row.head) edits.push(setField(row.id, "head", String(head)));
  if (label !== null && label !== row.deprel) edits.push(setField(row.id, "deprel", label));
  const misc = withoutDoubts(row.misc);
  if (misc !== row.misc) edits.push(setField(row.id, "misc", misc));
  return edits;
}

/** The edits that open a row again: no head, no label. */
export function undecide(row) {
  const edits = decide(row, "_", "_");
  return edits;
}

/** decided, proposed or open, by what the row says. */
export function stateOf(row) {
  if (row.kind !== "word") return row.kind;
  if (row.head === "_") return "open";
  return row.misc.split("|").some((part) => part.startsWith("HeadProb=")) ? "proposed" : "decided";
}

/** The sentence after some edits, as far as fields of rows go; the rest is seen when the server answers. */
export function edited(sentence, edits) {
  const fields = edits.filter((edit) => edit.kind === "set-field");
  if (!fields.length) return sentence;
  const rows = sentence.rows.map((row) => {
    const own = fields.filter((edit) => edit.row === row.id);
    if (!own.length) return row;
    const changed = { ...row, ...Object.fromEntries(own.map((edit) => [edit.column, edit.value])) };
    return { ...changed, state: stateOf(changed) };
  });
  return { ...sentence, rows };
}

/** The edits that accept the proposals of some words (ids). */
export function accepting(sentence, ids) {
  return sentence.rows
    .filter((row) => ids.includes(row.id) && row.kind === "word")
    .flatMap((row) => {
      const thought = sentence.thoughts?.words?.[row.id];
      if (!thought) return decide(row, null, null);
      return decide(row, thought.head, thought.label);
    });
}

/** What a finding's or a mass edit's edits do, in words. */
export function inWords(edit) {
  if (edit.kind === "set-field") return `${edit.row} ${edit.column.toUpperCase()} → ${edit.value}`;
  const rest = Object.entries(edit).filter(([name]) => name !== "kind");
  return `${edit.kind} ${rest.map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" ") : value}`).join(", ")}`;
}
