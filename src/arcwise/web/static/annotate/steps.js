// What came of a change: where another one stands in its way, and which proposals changed because of it.

/** Fields that a change sets and that are now neither what it saw nor what it wants. */
export function clashesOf(step, present) {
  if (step.path !== "edits") return [];
  return step.body.edits.filter((edit) => edit.kind === "set-field").flatMap((edit) => {
    const find = (sentence) => sentence.rows.find((row) => row.id === edit.row)?.[edit.column];
    const [was, theirs] = [find(step.before), find(present)];
    return theirs === was || theirs === edit.value ? [] : [{ row: edit.row, column: edit.column, was, theirs, mine: edit.value }];
  });
}

/** Which proposals changed with a step, and why, in words. */
export function reasons(step, after) {
  const told = new Map();
  const formOf = (id) => after.rows.find((row) => row.id === String(id))?.form ?? "";
  const name = (head, label) => `${label || "?"} of ${Number(head) === 0 ? "the root" : `${head} ${formOf(head)}`}`;
  if (after.thoughts?.changed) {
    for (const one of after.thoughts.changed) {
      told.set(String(one.row), `was ${name(...one.was)}; changed because ${step.told}`);
    }
    return { told: step.told, changed: told };
  }
  for (const [id, now] of Object.entries(after.thoughts?.words ?? {})) { // a server that does not tell: this step is the only cause
    const was = step.before.thoughts?.words?.[id];
    const open = after.rows.find((row) => row.id === id)?.state !== "decided";
    if (open && was && (was.head !== now.head || was.label !== now.label)) told.set(id, `was ${name(was.head, was.label)}; changed because ${step.told}`);
  }
  return { told: step.told, changed: told };
}
