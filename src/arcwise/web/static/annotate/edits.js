// Edits as the API takes them, and what they do to a sentence on the screen before the server has answered.

export const setField = (row, column, value) => ({ kind: "set-field", row, column, value });

/** What a parser wrote into MISC about its proposals: it goes away when a person decides (as in arcwise.treebanks.edits). */
const PROPOSED = { head: ["HeadProb", "Alternatives"], deprel: ["DeprelProb"], upos: ["UposProb"] };

const misc = (row) => (row.misc === "_" ? [] : row.misc.split("|"));
const says = (row, key) => misc(row).some((part) => part.startsWith(`${key}=`));

/** decided, proposed or open, by what the row says of its head. */
function stateOf(row) {
  if (row.kind !== "word") return row.state;
  if (row.head === "_") return "open";
  return says(row, "HeadProb") ? "proposed" : "decided";
}

/** Whether a person decided the label. */
export function labelDecided(row) {
  return row.deprel !== "_" && !says(row, "DeprelProb");
}

/** The edits that decide head and label of a row; `null` leaves one as it is. */
export function decide(row, head, label) {
  const edits = [];
  if (head !== null && (String(head) !== row.head || row.state === "proposed")) edits.push(setField(row.id, "head", String(head)));
  if (label !== null && (label !== row.deprel || !labelDecided(row))) edits.push(setField(row.id, "deprel", label));
  return edits;
}

/** The edits that set the head alone: a label that nobody decided is open again, because it belonged to another head. */
export function decideHead(row, head) {
  return decide(row, head, labelDecided(row) || row.deprel === "_" ? null : "_");
}

/** The edits that open a row again: no head, no label. */
export function undecide(row) {
  return decide(row, "_", "_").filter((edit) => row[edit.column] !== "_");
}

/** The sentence after some edits, as far as fields of rows go; the rest is seen when the server answers. */
export function edited(sentence, edits) {
  const fields = edits.filter((edit) => edit.kind === "set-field");
  if (!fields.length) return sentence;
  const rows = sentence.rows.map((row) => {
    const own = fields.filter((edit) => edit.row === row.id);
    if (!own.length) return row;
    const changed = { ...row, ...Object.fromEntries(own.map((edit) => [edit.column, edit.value])) };
    const gone = own.flatMap((edit) => PROPOSED[edit.column] ?? []);
    if (gone.length) changed.misc = misc(changed).filter((part) => !gone.includes(part.split("=")[0])).join("|") || "_";
    return { ...changed, state: stateOf(changed) };
  });
  return { ...sentence, rows };
}

/** "4:nsubj|6:conj" → [["4", "nsubj"], ["6", "conj"]]. */
export function depsOf(text) {
  if (text === "_" || text === "") return [];
  return text.split("|").map((part) => {
    const colon = part.indexOf(":");
    return colon < 0 ? [part, ""] : [part.slice(0, colon), part.slice(colon + 1)];
  });
}

/** What an edit does, in words. */
export function inWords(edit) {
  if (edit.kind === "set-field") return `${edit.row} ${edit.column.toUpperCase()} → ${edit.value}`;
  const rest = Object.entries(edit).filter(([name]) => name !== "kind");
  return `${edit.kind} ${rest.map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" ") : value}`).join(", ")}`;
}
