// Everything that can be done, once: its keys, its name and what it runs. Keys, the help card, the menus and the list of commands are made of it.

/** Of those of a sentence or word, what can be done in a file that has none. */
const WITHOUT = new Set(["insert", "undo", "redo", "save", "theme", "vertical", "zoom-in", "zoom-out", "give-up"]);

/**
 * `page` has state, editor, shape and views. Groups are the parts of the help card. `word`: it belongs to a word and stands in its menu.
 * `keys`: as keys.js spells them; the first one is shown. Letters without Shift are not here: they begin a label.
 */
export function actions(page) {
  const { state, editor, shape } = page;
  const list = [];
  const group = (name, ...rows) => rows.forEach(([id, keys, title, run, more = {}]) => list.push({ id, keys, title, run: WITHOUT.has(id) || name === "Work" ? run : () => state.sentence && run(), group: name, ...more }));
  group("Move",
    ["left", ["ArrowLeft"], "word to the left", () => (editor.choosing ? editor.moveHead(-1) : editor.move(-1))],
    ["right", ["ArrowRight"], "word to the right", () => (editor.choosing ? editor.moveHead(1) : editor.move(1))],
    ["first", ["Home"], "first word", () => editor.end(false)],
    ["last", ["End"], "last word", () => editor.end(true)],
    ["extend-left", ["Shift+ArrowLeft"], "select one more word to the left", () => editor.move(-1, { extend: true })],
    ["extend-right", ["Shift+ArrowRight"], "select one more word to the right", () => editor.move(1, { extend: true })],
    ["least-sure", ["Tab"], "open word that the parser is least sure of", () => editor.leastSure()],
    ["back", ["Shift+Tab"], "back to where Tab came from", () => editor.back()],
    ["next", ["Shift+N", "PageDown"], "next sentence (of the worklist, if one is followed)", () => page.step(1)],
    ["previous", ["Shift+P", "PageUp"], "previous sentence", () => page.step(-1)],
    ["goto", ["Shift+G"], "go to a sentence by number or sent_id", () => page.goTo()],
    ["problem", ["!"], "next word with a finding, a doubt or a note", () => page.nextMark()]);
  group("Decide",
    ["accept", ["Enter"], "accept what is shown, on to the next open word", () => editor.accept(), { word: true }],
    ["alternative", ["ArrowDown"], "next alternative arc", () => editor.alternative(1)],
    ["alternative-back", ["ArrowUp"], "the alternative before", () => editor.alternative(-1)],
    ["accept-sure", ["+", "="], "accept all that are sure enough", () => editor.acceptAll(state.view.threshold)],
    ["accept-sentence", ["Ctrl+Enter"], "accept the whole sentence", () => editor.acceptAll(0)],
    ["open", ["Backspace", "Delete"], "take the decision back: open again", () => editor.open(), { word: true }],
    ["head", ["Space"], "choose the head with ← →, then Enter", () => (editor.choosing ? editor.confirmHead() : editor.chooseHead()), { word: true }],
    ["label", [], "choose the label", () => editor.label(""), { word: true }],
    ["root", [], "make it the root", () => editor.setHead(state.row(), "0"), { word: true }],
    ["give-up", ["Escape"], "give up what was begun", () => page.giveUp()]);
  group("Change",
    ["upos", ["Shift+T"], "tag (UPOS)", () => editor.tag("upos"), { word: true }],
    ["accept-tags", ["Shift+Y"], "accept the proposed tags of the sentence", () => editor.acceptTags()],
    ["xpos", ["Shift+X"], "tag of the treebank (XPOS)", () => editor.tag("xpos"), { word: true }],
    ["feats", ["Shift+F"], "features (FEATS)", () => editor.askField("feats", "Name=Value|Name=Value"), { word: true }],
    ["lemma", ["Shift+L"], "lemma", () => editor.askField("lemma"), { word: true }],
    ["form", ["Shift+W"], "form of the word", () => editor.askField("form"), { word: true }],
    ["misc", ["Shift+I"], "MISC", () => editor.askField("misc", "Name=Value|Name=Value"), { word: true }],
    ["deps", ["Shift+D"], "enhanced arcs (DEPS)", () => editor.askField("deps", "head:label|head:label, for instance 4:nsubj|6:conj"), { word: true }],
    ["split", ["Shift+S"], "split the word (or the sentence)", () => shape.splitWord(), { word: true }],
    ["join", ["Shift+J"], "join with the next word (or sentence)", () => shape.joinWords(), { word: true }],
    ["multiword", ["Shift+M"], "multiword token", () => shape.multiword(), { word: true }],
    ["split-sentence", [], "split the sentence before this word", () => shape.splitSentence(), { word: true }],
    ["join-sentences", [], "join the sentence with the next one", () => shape.joinSentences()],
    ["remove-sentence", [], "remove the sentence", () => shape.removeSentence()],
    ["insert", [], "insert sentences before this one", () => shape.insert()],
    ["add-empty", [], "empty node after this word", () => shape.addEmpty(), { word: true }],
    ["remove-empty", [], "remove this empty node", () => shape.removeEmpty()],
    ["note", ["Shift+C"], "note on the word, its arc or the sentence", () => shape.note(state.selected), { word: true }],
    ["repair", ["."], "repair the finding of the word or sentence", () => page.repair()],
    ["undo", ["Shift+U", "Ctrl+Z"], "undo", () => page.back("undo")],
    ["redo", ["Shift+R", "Ctrl+Y", "Ctrl+Shift+Z"], "redo", () => page.back("redo")],
    ["save", ["Ctrl+S"], "write the file now", () => page.save()]);
  group("See",
    ["second", ["Shift+V"], "second-best tree, and back", () => page.toggleSecond()],
    ["table", ["Shift+E"], "table with all columns", () => page.toggle("table")],
    ["enhanced", ["Shift+H"], "enhanced graph below the words", () => page.toggle("enhanced")],
    ["zoom-in", ["]"], "larger", () => page.zoom(1.15)],
    ["zoom-out", ["["], "smaller", () => page.zoom(1 / 1.15)],
    ["fit", ["Shift+Z"], "whole tree on the screen, and back", () => page.fit()],
    ["vertical", [], "words from top to bottom, and back", () => page.toggle("vertical")],
    ["theme", [], "dark, light, as the system", () => page.theme()],
    ["print", ["Ctrl+P"], "print the sentence", () => window.print()]);
  group("Work",
    ["worklist", ["Shift+O"], "worklist: what next", () => page.side("worklist")],
    ["search", ["/"], "search and mass edit", () => page.side("search")],
    ["checks", ["Shift+K"], "check the whole file", () => page.side("checks")],
    ["training", ["Shift+A"], "training", () => page.side("training")],
    ["compare", ["Shift+B"], "the other file beside", () => page.side("compare")],
    ["notes", [], "notes and comments of the sentence", () => page.side("notes")],
    ["pane", ["F6"], "to the next part of the page", () => page.nextPart(1)],
    ["pane-back", ["Shift+F6"], "to the part before", () => page.nextPart(-1)],
    ["commands", [":", "Ctrl+K"], "list of all commands", () => page.commands()],
    ["help", ["?", "F1"], "this card", () => page.help()]);
  return list;
}
