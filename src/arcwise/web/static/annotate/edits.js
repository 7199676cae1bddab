// Edits in the format of the API: creating them, drawing them before the server responds, and describing their effects.

export const setField = (row, column, value) => ({ kind: "set-field", row, column, value });

/** Keys that the server removes from MISC when an annotator sets the column (arcwise.treebanks.edits). */
const PARSER_KEYS = { head: ["HeadProb", "Alternatives"], deprel: ["DeprelProb"], upos: ["UposProb"] };

/** Fields of a row that describe the annotation state of HEAD, DEPREL and UPOS; the server computes them from the file. */
const STATE_FIELDS = { head: ["state", "head_probability"], deprel: ["label_state", "label_probability"], upos: ["upos_state", "upos_probability"] };

/** Whether the label is annotated, not only suggested. */
export const labelDecided = (row) => row.label_state === "decided";

/** Whether a word is annotated, as the server counts it: its head and its label and, in a file that has UPOS tags, its UPOS. */
export const isDone = (row, needsUpos) => row.state === "decided" && labelDecided(row) && (!needsUpos || row.upos_state === "decided");

/** The edits that annotate head and label of a row; `null` leaves one unchanged. */
export function decide(row, head, label) {
  const edits = [];
  if (head !== null && (String(head) !== row.head || row.state === "proposed")) edits.push(setField(row.id, "head", String(head)));
  if (label !== null && (label !== row.deprel || !labelDecided(row))) edits.push(setField(row.id, "deprel", label));
  return edits;
}

/** The edits that set the head only. Clears a label that was only suggested, because it was suggested for another head. */
export function decideHead(row, head) {
  return decide(row, head, labelDecided(row) || row.deprel === "_" ? null : "_");
}

/** The edits that clear head and label of a row. */
export function undecide(row) {
  return decide(row, "_", "_").filter((edit) => row[edit.column] !== "_");
}

/** The row after its fields were set. */
function withFields(row, edits) {
  const changed = { ...row };
  for (const { column, value } of edits) {
    changed[column] = value;
    const [state, probability] = row.kind === "word" ? (STATE_FIELDS[column] ?? []) : [];
    if (state) Object.assign(changed, { [state]: value === "_" ? "open" : "decided", [probability]: null });
  }
  const removed = edits.flatMap((edit) => PARSER_KEYS[edit.column] ?? []);
  if (removed.length) changed.misc = changed.misc.split("|").filter((pair) => !removed.includes(pair.split("=")[0])).join("|") || "_";
  return changed;
}

/** The sentence after some edits of row fields; the server's response completes it. */
export function edited(sentence, edits) {
  const fields = fieldsOf(edits);
  if (!fields.length) return sentence;
  const rows = sentence.rows.map((row) => {
    const rowEdits = fields.filter((edit) => edit.row === row.id);
    return rowEdits.length ? withFields(row, rowEdits) : row;
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

/** [["4", "nsubj"], ["6", "conj"]] → "4:nsubj|6:conj". */
export const depsText = (deps) => deps.map((arc) => arc.join(":")).join("|") || "_";

/** The fields that some edits set. */
function fieldsOf(edits) {
  return edits.flatMap((edit) => (edit.kind === "set-field" ? [edit] : edit.kind === "set-deps" ? [setField(edit.row, "deps", depsText(edit.deps))] : []));
}

/** A description of an edit. */
export function inWords(edit) {
  if (edit.kind === "set-deps") return `${edit.row} DEPS → ${depsText(edit.deps)}`;
  if (edit.kind === "set-field") return `${edit.row} ${edit.column.toUpperCase()} → ${edit.value}`;
  if (edit.kind === "join-words") return `words ${edit.first} to ${edit.last} are joined`;
  if (edit.kind === "split-word") return `word ${edit.row} is split into ${edit.forms.join(" + ")}${edit.multiword ? " (multiword token)" : ""}`;
  if (edit.kind === "make-multiword") return `words ${edit.first} to ${edit.last} become a multiword token`;
  const rest = Object.entries(edit).filter(([name]) => name !== "kind");
  return `${edit.kind} ${rest.map(([name, value]) => `${name} ${Array.isArray(value) ? value.join(" ") : value}`).join(", ")}`;
}

/** The fields set by a change whose current value is neither the old nor the new value of that change. */
export function clashesOf(step, present) {
  if (step.path !== "edits") return [];
  return fieldsOf(step.body.edits).flatMap((edit) => {
    const find = (sentence) => sentence.rows.find((row) => row.id === edit.row)?.[edit.column];
    const [was, theirs] = [find(step.before), find(present)];
    return theirs === was || theirs === edit.value ? [] : [{ row: edit.row, column: edit.column, was, theirs, mine: edit.value }];
  });
}

/** Whether two versions of a sentence have different rows: words were split or joined, so that an ID may name another word. */
export function rowsDiffer(before, present) {
  return before.rows.length !== present.rows.length || before.rows.some((row, k) => row.id !== present.rows[k].id);
}

/** Which suggestions changed with a step, and why: {description, changed: Map row → explanation}. */
export function reasons(step, after) {
  const changed = new Map();
  const formOf = (id) => after.rows.find((row) => row.id === String(id))?.form ?? "";
  const name = (head, label) => `${label || "?"} of ${Number(head) === 0 ? "the root" : `${head} ${formOf(head)}`}`;
  if (after.thoughts?.changed) {
    for (const change of after.thoughts.changed) {
      changed.set(String(change.row), `was ${name(...change.was)}; changed because ${step.description}`);
    }
    return { description: step.description, changed };
  }
  for (const [id, now] of Object.entries(after.thoughts?.words ?? {})) { // the look-ahead has no "changed": this step is the only cause
    const was = step.before.thoughts?.words?.[id];
    const open = after.rows.find((row) => row.id === id)?.state !== "decided";
    if (open && was && (was.head !== now.head || was.label !== now.label)) changed.set(id, `was ${name(was.head, was.label)}; changed because ${step.description}`);
  }
  return { description: step.description, changed };
}

/** The edits that resolve a merge conflict of a field in favour of the other side; null for any other finding. */
export function theirEdits(finding) {
  if (finding.rule !== "merge-conflict" || !finding.row || !finding.repair) return null;
  const value = /^conflict\s*=\s*\S+ \S+ theirs=(.*)$/su.exec(finding.repair.edits[0].text)?.[1];
  if (value === undefined) return null;
  const set = finding.column === "deps" ? { kind: "set-deps", row: finding.row, deps: depsOf(value) } : setField(finding.row, finding.column, value || "_");
  return [set, ...finding.repair.edits];
}
