// The table of all actions: keys, title and function. Key bindings, the help card, menus and the command palette are generated from it.

/** Actions of a sentence or word that also work in a file without sentences. */
const WITHOUT_SENTENCE = new Set(["insert", "append", "undo", "redo", "save", "theme", "vertical", "zoom-in", "zoom-out", "give-up"]);

/**
 * `page` has state, editor, shape and views. Groups are the sections of the help card. `word`: the action appears in the word's menu.
 * `keys`: as spelled in keys.js; the first one is shown. Letters without Shift are not listed: they start a label.
 */
export function actions(page) {
  const { state, editor, shape, acceptance } = page;
  const list = [];
  const group = (name, ...rows) => rows.forEach(([id, keys, title, run, more = {}]) => list.push({ id, keys, title, run: WITHOUT_SENTENCE.has(id) || name === "Panels" ? run : () => state.sentence && run(), group: name, ...more }));
  group("Navigate",
    ["left", ["ArrowLeft"], "Word to the left", () => (editor.choosing ? editor.moveHead(-1) : editor.move(-1))],
    ["right", ["ArrowRight"], "Word to the right", () => (editor.choosing ? editor.moveHead(1) : editor.move(1))],
    ["first", ["Home"], "First word", () => editor.end(false)],
    ["last", ["End"], "Last word", () => editor.end(true)],
    ["extend-left", ["Shift+ArrowLeft"], "Extend the selection to the left", () => editor.move(-1, { extend: true })],
    ["extend-right", ["Shift+ArrowRight"], "Extend the selection to the right", () => editor.move(1, { extend: true })],
    ["least-sure", ["Tab"], "Unannotated word with the least certain suggestion", () => editor.leastSure()],
    ["back", ["Shift+Tab"], "Back to the word before Tab", () => editor.back()],
    ["next", ["Shift+N", "PageDown"], "Next sentence (of the worklist or search, if one is active)", () => page.step(1)],
    ["previous", ["Shift+P", "PageUp"], "Previous sentence", () => page.step(-1)],
    ["goto", ["Shift+G"], "Go to sentence by number or sent_id", () => page.goTo()],
    ["problem", ["!"], "Next word with a finding, suspicious annotation or note", () => page.nextMark()],
    ["inconsistency", [";"], "Next place of an inconsistency", () => page.views.consistency.next()]);
  group("Annotate",
    ["accept", ["Enter"], "Accept the arc shown and go to the next unannotated word", () => editor.accept(), { word: true }],
    ["alternative", ["ArrowDown"], "Next alternative arc", () => editor.alternative(1)],
    ["alternative-back", ["ArrowUp"], "Previous alternative arc", () => editor.alternative(-1)],
    ["accept-sure", ["+", "="], "Accept all suggestions above the threshold", () => editor.acceptAll(state.view.threshold)],
    ["accept-sentence", ["Ctrl+Enter"], "Accept all suggestions of the sentence", () => editor.acceptAll(0)],
    ["accept-above", ["Shift+Q"], "Accept suggestions of all columns above a threshold", () => acceptance.above()],
    ["open", ["Backspace", "Delete"], "Clear annotation", () => editor.open(), { word: true }],
    ["head", ["Space"], "Choose the head (← → and Enter, or a click)", () => (editor.choosing ? editor.confirmHead() : editor.chooseHead()), { word: true }],
    ["label", [], "Choose the label", () => editor.label(""), { word: true }],
    ["root", [], "Make root", () => editor.setHead(state.row(), "0"), { word: true }],
    ["give-up", ["Escape"], "Cancel", () => page.giveUp()]);
  group("Edit",
    ["upos", ["Shift+T"], "Tag (UPOS)", () => editor.tag("upos"), { word: true }],
    ["accept-tags", ["Shift+Y"], "Accept the visible suggested tags of the sentence", () => acceptance.sentence()],
    ["accept-word", ["Alt+Enter"], "Accept the suggested tags of the word", () => acceptance.word(), { word: true }],
    ["xpos", ["Shift+X"], "Treebank-specific tag (XPOS)", () => editor.tag("xpos"), { word: true }],
    ["feats", ["Shift+F"], "Features (FEATS)", () => editor.editRow("feats"), { word: true }],
    ["lemma", ["Shift+L"], "Lemma", () => editor.editRow("lemma"), { word: true }],
    ["form", ["Shift+W"], "Word form", () => editor.askField("form", "Changes the text of the sentence, too, unless the word is part of a multiword token."), { word: true }],
    ["misc", ["Shift+I"], "MISC", () => editor.askField("misc", "Name=Value|Name=Value"), { word: true }],
    ["deps", ["Shift+D"], "Enhanced dependencies (DEPS)", () => editor.askField("deps", "head:label|head:label, for example 4:nsubj|6:conj"), { word: true }],
    ["accept-deps-word", ["Alt+Shift+Enter"], "Accept the suggested enhanced dependencies of the word", () => state.generated.word(), { word: true }],
    ["accept-deps", ["Ctrl+Shift+Enter"], "Accept the suggested enhanced dependencies of the sentence", () => state.generated.sentence()],
    ["split", ["Shift+S"], "Split word (or sentence)", () => shape.splitWord(), { word: true }],
    ["join", ["Shift+J"], "Join with the next word (or sentence)", () => shape.joinWords(), { word: true }],
    ["multiword", ["Shift+M"], "Multiword token", () => shape.multiword(), { word: true }],
    ["retokenize", [], "Tokenize the sentence again", () => shape.retokenize()],
    ["split-sentence", [], "Split sentence before this word", () => shape.splitSentence(), { word: true }],
    ["join-sentences", [], "Join sentence with the next one", () => shape.joinSentences()],
    ["remove-sentence", [], "Remove sentence", () => shape.removeSentence()],
    ["insert", [], "Insert sentences before this one", () => shape.insert()],
    ["append", [], "Add sentences at the end", () => shape.insert({ atEnd: true })],
    ["add-empty", [], "Add empty node after this word", () => shape.addEmpty(), { word: true }],
    ["remove-empty", [], "Remove this empty node", () => shape.removeEmpty()],
    ["note", ["Shift+C"], "Note on the word, its arc or the sentence", () => shape.note(state.selected), { word: true }],
    ["repair", ["."], "Apply the suggested fix of a finding", () => page.repair()],
    ["theirs", [","], "Settle a merge conflict: take theirs (. keeps mine)", () => page.theirs()],
    ["annotator", [], "Annotator's name", () => page.annotator()],
    ["guidelines", [], "UD guidelines for the label", () => page.guidelines(), { word: true }],
    ["undo", ["Shift+U", "Ctrl+Z"], "Undo", () => page.back("undo")],
    ["redo", ["Shift+R", "Ctrl+Y", "Ctrl+Shift+Z"], "Redo", () => page.back("redo")],
    ["save", ["Ctrl+S"], "Save to file now", () => page.save()]);
  group("View",
    ["second", ["Shift+V"], "Second-best tree", () => page.toggleSecond()],
    ["table", ["Shift+E"], "Table of all columns", () => page.toggle("table")],
    ["enhanced", ["Shift+H"], "Enhanced graph", () => page.toggle("enhanced")],
    ["rows", [], "Rows below the words", () => page.rows()],
    ["zoom-in", ["]"], "Zoom in", () => page.zoom(1.15)],
    ["zoom-out", ["["], "Zoom out", () => page.zoom(1 / 1.15)],
    ["fit", ["Shift+Z"], "Fit tree to window", () => page.fit()],
    ["vertical", [], "Vertical layout", () => page.toggle("vertical")],
    ["theme", [], "Theme: dark, light or system", () => page.theme()],
    ["copy-picture", [], "Copy the tree as a picture", () => page.picture("copy")],
    ["save-picture", [], "Save the tree as a picture (SVG)", () => page.picture("save")],
    ["print", ["Ctrl+P"], "Print the sentence", () => window.print()]);
  group("Panels",
    ["files", [], "Files of the project", () => state.document.is_project && page.side("files")],
    ["worklist", ["Shift+O"], "Worklist", () => page.side("worklist")],
    ["search", ["/"], "Search and mass edit", () => page.side("search")],
    ["checks", ["Shift+K"], "Check the whole file", () => page.side("checks")],
    ["training", ["Shift+A"], "Training", () => page.side("training")],
    ["compare", ["Shift+B"], "Compare with other file", () => page.side("compare")],
    ["notes", [], "Notes and comments", () => page.side("notes")],
    ["pane", ["F6"], "Move the focus to the next part of the page", () => page.nextPart(1)],
    ["pane-back", ["Shift+F6"], "Move the focus to the previous part of the page", () => page.nextPart(-1)],
    ["legend", [], "Legend: lines and colours of arcs", () => page.legend()],
    ["more", [], "Menu of rare commands", () => page.more()],
    ["commands", [":", "Ctrl+K"], "All commands", () => page.commands()],
    ["help", ["?", "F1"], "Keyboard shortcuts", () => page.help()]);
  return list;
}
