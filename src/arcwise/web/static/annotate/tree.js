// Draws a picture (picture.js) as SVG in the style of `arcwise show --html`: words in a line, arcs above, tags below.
// In the vertical layout each word has its own line, with its tags to the right and the arcs to the right of those.

import { svg, percent } from "./dom.js";
import { ACROSS, CORNER, DOWN, LEVEL, MARGIN, NARROWER, SMALL_SIZE, WORD_SIZE, labelPlaces, layout, textWidth } from "./layout.js";

const ROW = SMALL_SIZE + 5;
const LINE = 22; // height of a word in the vertical layout

/** The probability shown next to a label, if it is below 95 %. */
function probabilityText(arc) {
  const p = arc.labelProbability ?? arc.probability;
  return p === null || p === undefined || p >= 0.95 ? "" : percent(p).replace(" %", "%").replace("< ", "<");
}

function labelWidth(arc) {
  const note = probabilityText(arc);
  return textWidth(arc.label, SMALL_SIZE, 600) + (note ? textWidth(` ${note}`, SMALL_SIZE) : 0);
}

/** Converts (along, up) coordinates to x and y for either layout. */
class Paper {
  constructor(places, floor, below, vertical, gap) {
    this.vertical = vertical;
    this.gap = gap;
    this.floor = floor;
    this.below = below;
    this.width = vertical ? floor + below : places.length;
    this.height = vertical ? places.length : floor + below;
  }

  at(along, up) {
    return this.vertical ? [this.below + up, along] : [along, this.floor - up];
  }

  point(along, up) {
    return this.at(along, up).map((value) => value.toFixed(1)).join(" ");
  }

  text(attributes, along, up, text) {
    return textAt(attributes, ...this.at(along, up), text);
  }

  /** A rectangle of this width and height on the screen, around a point. */
  rect(attributes, along, up, width, height) {
    const [x, y] = this.at(along, up);
    return svg("rect", { ...attributes, x: (x - width / 2).toFixed(1), y: (y - height / 2).toFixed(1), width: width.toFixed(1), height: height.toFixed(1) });
  }
}

function textAt(attributes, x, y, text) {
  return svg("text", { ...attributes, x: x.toFixed(1), y: y.toFixed(1), "dominant-baseline": "central" }, text);
}

function linePath(paper, from, to, level, tip) {
  const turn = Math.sign(to - from) * Math.min(CORNER, Math.abs(to - from) / 2);
  const p = (along, up) => paper.point(along, up);
  const side = Math.sign(level), corner = CORNER * side;
  return `M${p(from, tip.from)}L${p(from, level - corner)}Q${p(from, level)} ${p(from + turn, level)}`
    + `L${p(to - turn, level)}Q${p(to, level)} ${p(to, level - corner)}L${p(to, tip.to)}`;
}

function tipPath(paper, along, up, side = 1) {
  const p = (a, u) => paper.point(along + a, up + side * u);
  return `M${p(0, -1)}L${p(-4, 6.5)}Q${p(0, 4.5)} ${p(4, 6.5)}Z`;
}

/** Opacity and line width of a suggestion by its probability; null: as in the style sheet. */
function paleness(arc) {
  if (arc.state !== "proposed") return [null, null];
  const p = Math.round(50 * (arc.probability ?? 1)) / 50; // invisibly small steps, so that fewer arcs are redrawn
  return [(0.4 + 0.6 * p).toFixed(2), (0.9 + 1.2 * p).toFixed(2)];
}

function arcGroup(paper, arc, path, tip, labelAt, onPaper) {
  const [pale, width] = paleness(arc);
  const group = svg("g", {
    class: `arc ${arc.kind} ${arc.state}${arc.labelState === "proposed" ? " open-label" : ""}${arc.differs ? " differs" : ""}`,
    "data-arc": arc.row, role: "button", "aria-label": `Arc: ${arc.spoken}`,
  }, svg("title", {}, arc.spoken));
  if (arc.kind === "crossing") group.append(svg("path", { class: "halo", d: path }));
  group.append(svg("path", { class: "reach", d: path }), svg("path", { class: "line", d: path, opacity: pale, "stroke-width": width }));
  if (tip) group.append(svg("path", { class: "tip", d: tip, opacity: pale }));
  const note = probabilityText(arc), shown = arc.kind === "unknown" ? arc.label || "?" : arc.label;
  if (shown || note) {
    const weight = arc.state === "proposed" || arc.labelState === "proposed" ? 500 : 600; // as in tree.css
    const wide = textWidth(shown, SMALL_SIZE, weight) + (note ? textWidth(` ${note}`, SMALL_SIZE) : 0);
    const [x, y] = paper.at(...labelAt), seam = x - wide / 2 + textWidth(shown, SMALL_SIZE, weight);
    group.append(svg("g", { class: "name" }, paper.rect({ class: onPaper ? "paper" : "paper clear" }, ...labelAt, wide + 6, SMALL_SIZE + 4),
      textAt({ class: "label", "text-anchor": "end", direction: "ltr" }, seam, y, shown),
      note && " ", note && textAt({ class: "doubt", "text-anchor": "start", direction: "ltr" }, seam + 0.3 * SMALL_SIZE, y, note)));
  }
  return group;
}

/** The positions of the rows below the words: {lines: of each row, total, and for the vertical layout the edges of each column}. */
function tableOf(items, vertical, between) {
  const count = items[0]?.cells.length ?? 0, indices = Array.from({ length: count }, (_, k) => k);
  const lines = indices.map((k) => (vertical ? 1 : Math.max(1, ...items.map((item) => item.cells[k].lines.length))));
  const widest = (widths) => Math.max(0, ...widths);
  const columns = [widest(items.map(numberWidth)), widest(items.map((item) => textWidth(item.form, WORD_SIZE, 500))),
    ...indices.map((k) => widest(items.map((item) => cellWidth(item.cells[k], true))))];
  const ends = [];
  for (const width of columns) ends.push((ends.at(-1) ?? MARGIN / 2 - between) + (width || -between) + between);
  return { lines, total: lines.reduce((sum, height) => sum + height, 0), columns: columns.map((width, k) => ({ left: ends[k] - width, right: ends[k] })), length: ends.at(-1) + between };
}

const numberWidth = (item) => textWidth(item.id, SMALL_SIZE) + 12 * item.marks.length;
const cellText = (cell) => cell.lines.join("|");

function cellWidth(cell, vertical) {
  const texts = vertical ? [cellText(cell)] : cell.lines, note = cell.note ? textWidth(` ${cell.note}`, SMALL_SIZE) : 0;
  return Math.max(0, ...texts.map((text, k) => textWidth(text, SMALL_SIZE) * 1.05 + (k === texts.length - 1 ? note : 0)));
}

/** A line of a cell; `note`: its probability. */
function cellLine(cell, text, note, x, y, anchor = null) {
  const line = textAt({ class: `tag ${cell.name}${cell.proposed ? " proposed" : ""}`, "data-column": cell.name, "text-anchor": anchor }, x, y, text);
  if (note) line.append(" ", svg("tspan", { class: "doubt" }, note)); // the space outside, as in the accessible name
  return line;
}

/** The element of a word. Its parts are in the order of its accessible name, separated by text that is not drawn. */
function wordGroup(paper, item, word, table, rtl) {
  const group = svg("g", {
    class: `word ${item.kind} ${item.state}`, id: `word-${item.id}`, "data-row": item.id, role: "option", "aria-selected": "false", "aria-label": item.spoken,
  }, svg("title", {}, item.spoken));
  const number = (x, y, anchor = null) => {
    const text = textAt({ class: "number", direction: "ltr", "text-anchor": anchor }, x, y, item.id);
    for (const [k, mark] of item.marks.entries()) {
      if (item.marks.findIndex((other) => other.sign === mark.sign) === k) text.append(svg("tspan", { class: `mark ${mark.name}`, dx: "4" }, mark.sign));
    }
    return text;
  };
  if (paper.vertical) {
    const start = paper.below - table.length, [, y] = paper.at(word.middle, 0), anchor = rtl ? "end" : "start";
    const at = (k) => start + table.columns[k][rtl ? "right" : "left"]; // texts begin at the same edge of their column
    group.append(svg("rect", { class: "place", rx: 5, x: start, y: (y - LINE / 2).toFixed(1), width: table.length - 4, height: LINE }), number(at(0), y, anchor), " ", textAt({ class: "form", "text-anchor": anchor }, at(1), y, item.form),
      ...item.cells.flatMap((cell, k) => (cell.lines.length ? [" ", cellLine(cell, cellText(cell), cell.note, at(k + 2), y, anchor)] : [])));
    return group;
  }
  const wide = Math.max(2 * word.half, 20) + Math.max(6, paper.gap - 8), depth = (table.total + 1) * ROW, [x, floor] = paper.at(word.middle, 0);
  group.append(paper.rect({ class: "place", rx: 7 }, word.middle, -(WORD_SIZE / 2 + depth) / 2 - 7, wide, WORD_SIZE + depth + 6));
  group.append(number(x, floor + 14 + depth), " ", textAt({ class: "form" }, x, floor + 14, item.form));
  let y = floor + 17;
  item.cells.forEach((cell, k) => {
    cell.lines.forEach((text, line) => group.append(line ? "|" : " ", cellLine(cell, text, line === cell.lines.length - 1 ? cell.note : "", x, y + (line + 1) * ROW)));
    y += table.lines[k] * ROW;
  });
  return group;
}

function tokenGroup(paper, token, places, place, depth) {
  const edges = [token.first, token.last].flatMap((id) => {
    const word = places.words[place.get(id)];
    return [word.middle - word.half, word.middle + word.half];
  });
  const left = Math.min(...edges), right = Math.max(...edges);
  const p = (along, up) => paper.point(along, up);
  const d = `M${p(left, -depth)}L${p(left, -depth - 3)}Q${p(left, -depth - 6)} ${p(left + 3, -depth - 6)}`
    + `L${p(right - 3, -depth - 6)}Q${p(right, -depth - 6)} ${p(right, -depth - 3)}L${p(right, -depth)}`;
  return svg("g", { class: "token", "data-token": token.id, role: "img", "aria-label": `multiword token ${token.id} ${token.form}` },
    svg("path", { class: "brace", d }),
    paper.text({ class: "token-form" }, (left + right) / 2, -depth - (paper.vertical ? 10 + textWidth(token.form, SMALL_SIZE) / 2 : 15), token.form));
}

/** Arcs of the enhanced graph, below the words. */
function enhancedGroups(paper, graph, place, places, depth, step, rtl, distances) {
  const between = graph.filter((arc) => arc.head !== "0" && arc.head !== arc.row);
  const graphLayout = layout(places.words.map((word) => ({ width: 2 * word.half, stem: null })),
    between.map((arc) => ({ head: place.get(arc.head), modifier: place.get(arc.row), width: 0 })), rtl, null, distances);
  const groups = between.map((arc, k) => {
    const attached = (id, at) => places.words[place.get(id)].middle + at - graphLayout.words[place.get(id)].middle; // each arc at a point of its own
    const head = attached(arc.head, graphLayout.arcs[k].head), modifier = attached(arc.row, graphLayout.arcs[k].modifier);
    const level = -depth - step * graphLayout.arcs[k].level - 4;
    const path = linePath(paper, head, modifier, level, { from: -depth, to: -depth - 5 });
    const by = arc.rule ? `, suggested by the rule ${arc.rule}` : "";
    const group = svg("g", { class: `deps${arc.extra ? " extra" : ""}${arc.rule ? " proposed" : ""}`, role: "img", "aria-label": `enhanced: ${arc.row} from ${arc.head}, ${arc.label}${by}` },
      svg("title", {}, `${arc.row} ← ${arc.head} ${arc.label}${by}${by ? `: ${arc.description}` : ""}`), svg("path", { class: "line", d: path }),
      svg("path", { class: "tip", d: tipPath(paper, modifier, -depth, -1) }));
    const middle = (head + modifier) / 2, wide = textWidth(arc.label, SMALL_SIZE) + 4;
    group.append(paper.rect({ class: "paper" }, middle, level, wide, SMALL_SIZE + 1), paper.text({ class: "label" }, middle, level, arc.label));
    return group;
  });
  return groups;
}

/** The height of the enhanced graph below the words. */
function depthOf(graph, place, step) {
  const between = graph.filter((arc) => arc.head !== "0" && arc.head !== arc.row);
  const graphLayout = layout(place.size ? Array.from(place.keys(), () => ({ width: 0, stem: null })) : [],
    between.map((arc) => ({ head: place.get(arc.head), modifier: place.get(arc.row), width: 0 })), false);
  return between.length ? step * graphLayout.levels + 22 : 0;
}

/**
 * The parts to draw: {key, layer, sign, make}. A part whose `sign` is unchanged is not redrawn. `vertical`: words run downwards;
 * `before`: the previous layout of the same words; `distances`: between words and arcs; `room`: the width of the window. Also returns the positions of the words.
 */
function plan(picture, vertical, before, distances, room) {
  const { items, place } = picture;
  const between = picture.arcs.filter((arc) => arc.head !== null && arc.head !== "0");
  const above = picture.arcs.filter((arc) => arc.head === null || arc.head === "0");
  const stems = new Map(above.map((arc) => [arc.row, arc]));
  const table = tableOf(items, vertical, distances.between);
  const places = layout(
    items.map((item) => ({
      width: vertical ? LINE : Math.max(textWidth(item.form, WORD_SIZE, 500), numberWidth(item), ...item.cells.map((cell) => cellWidth(cell, false))),
      stem: !stems.has(item.id) ? null : vertical ? LINE : Math.max(labelWidth(stems.get(item.id)), 8),
    })),
    between.map((arc) => ({ head: place.get(arc.head), modifier: place.get(arc.row), width: vertical ? 0 : labelWidth(arc) })),
    picture.rtl && !vertical,
    before,
    distances,
  );
  const step = vertical ? Math.max(18, ...picture.enhanced.map((arc) => textWidth(arc.label, SMALL_SIZE) + 6)) : 18;
  const tokenDepth = vertical ? table.length + 6 : 14 + (table.total + 1) * ROW + 12;
  const tokenRoom = vertical ? 20 + Math.max(0, ...picture.tokens.map((token) => textWidth(token.form, SMALL_SIZE))) : 28;
  const depsDepth = tokenDepth + (picture.tokens.length ? tokenRoom : 4);
  const below = depsDepth + depthOf(picture.enhanced, place, step) + MARGIN / 2;
  const widths = between.map(labelWidth), widest = Math.max(0, ...widths);
  const margin = vertical ? MARGIN + Math.max(widest / 2, ...above.map(labelWidth)) : MARGIN, beside = room - below - margin - 4;
  const level = vertical ? Math.max(distances.level, Math.min(widest + 8, beside / (places.levels + 1), 800 / Math.max(1, places.levels))) : Math.max(16, Math.min(LEVEL, 330 / Math.max(1, places.levels)));
  const top = level * (places.levels + 1) + 4;
  const paper = new Paper(places, top + margin, below, vertical, distances.gap);
  const parts = [], long = [];
  const part = (layer, key, sign, make) => parts.push({ layer, key: `${layer} ${key}`, sign: JSON.stringify(sign), make });
  items.forEach((item, k) => part("words", item.id, [item, places.words[k], paper.floor, paper.below, vertical ? table : table.lines], () => wordGroup(paper, item, places.words[k], table, picture.rtl)));
  const drawArc = (arc, path, tip, at, onPaper) => part("arcs", arc.row, [path, at, arc.kind, arc.state, arc.labelState, arc.differs, arc.spoken, probabilityText(arc), paleness(arc)],
    () => arcGroup(paper, arc, path, tip, at, onPaper));
  for (const arc of above) {
    const word = places.words[place.get(arc.row)];
    drawArc(arc, `M${paper.point(word.stem, top - 9)}L${paper.point(word.stem, 5)}`, tipPath(paper, word.stem, 0), [word.stem, vertical ? top - 5 + labelWidth(arc) / 2 : top], false);
  }
  const order = between.map((_, k) => k).sort((a, b) => places.arcs[b].level - places.arcs[a].level);
  const lines = places.arcs.map((at, k) => ({ ends: [at.head, at.modifier].sort((a, b) => a - b), up: level * at.level, width: widths[k] + 6 }));
  const labels = vertical ? labelPlaces(lines, SMALL_SIZE + 4) : lines.map(({ ends }) => (ends[0] + ends[1]) / 2);
  for (const k of order) {
    const at = places.arcs[k], { ends, up } = lines[k];
    drawArc(between[k], linePath(paper, at.head, at.modifier, up, { from: 0, to: 5 }), tipPath(paper, at.modifier, 0), [labels[k], up], true);
    if (ends[1] - ends[0] > 250) long.push({ key: `arcs ${between[k].row}`, ends, middle: labels[k], half: widths[k] / 2 + CORNER + 4 });
  }
  for (const token of picture.tokens) {
    const ends = [token.first, token.last].map((id) => places.words[place.get(id)]);
    part("tokens", token.id, [token, ends, paper.floor, paper.below, vertical], () => tokenGroup(paper, token, places, place, tokenDepth - (vertical ? 6 : 0)));
  }
  if (picture.enhanced.length) {
    part("deps", "all", [picture.enhanced, places.words, paper.floor, paper.below, vertical], () => svg("g", {}, enhancedGroups(paper, picture.enhanced, place, places, depsDepth, step, picture.rtl && !vertical, distances)));
  }
  const spots = new Map(items.map((item, k) => [item.id, paper.at(places.words[k].middle, 0)]));
  return { parts, places, long, spots, width: paper.width, height: paper.height, floor: paper.floor };
}

const LAYERS = {
  words: { role: "listbox", "aria-label": "Words" }, arcs: { role: "group", "aria-label": "Arcs" }, tokens: { role: "group", "aria-label": "Multiword tokens" }, deps: { role: "group", "aria-label": "Enhanced graph" },
};

/** Make these the children of an element, in this order, leaving those already in place untouched. */
function arrange(parent, children) {
  const stay = new Set(children);
  for (const child of [...parent.children]) if (!stay.has(child)) child.remove();
  let next = null;
  for (const child of [...children].reverse()) {
    if (child.parentNode !== parent || child.nextSibling !== next) parent.insertBefore(child, next);
    next = child;
  }
}

/** A drawn tree. `draw` replaces only the changed parts, so that the editor stays responsive in long sentences. */
export class Drawing {
  constructor() {
    this.root = svg("svg", { role: "group", "aria-label": "Tree" });
    this.order = ""; // keys of the parts, in order
    this.drawn = new Map(); // key → {sign, element}
    this.layers = {}; // name → element
    this.stood = { words: "", places: null, distances: null }; // layout of the last drawing without a preview
    Object.assign(this, { long: [], spots: new Map(), width: 0, height: 0, floor: 0 });
  }

  /** `room`: the width of the window, in units of the tree; `passing`: a temporary drawing (a preview), after which words may move back. */
  draw(picture, { vertical = false, zoom = 1, passing = false, room = Infinity } = {}) {
    const words = JSON.stringify([vertical, room, picture.rtl, picture.items.map((item) => [item.id, item.form, item.cells.map((cell) => cell.name)])]);
    const before = this.stood.words === words ? this.stood : null;
    let distances = before?.distances ?? (vertical ? DOWN : ACROSS), planned = plan(picture, vertical, before?.places ?? null, distances, room);
    if (NARROWER.has(distances) && planned.width > room) { // gaps shrink before the tree scrolls sideways
      distances = NARROWER.get(distances);
      planned = plan(picture, vertical, null, distances, room);
    }
    const { parts, places, ...drawn } = planned;
    if (!passing) this.stood = { words, places, distances };
    Object.assign(this, drawn);
    const { root, width, height } = this;
    const set = (name, value) => root.getAttribute(name) !== value && root.setAttribute(name, value);
    set("class", `arcwise${vertical ? " vertical" : ""}`);
    set("viewBox", `0 0 ${width.toFixed(0)} ${height.toFixed(0)}`);
    set("width", (width * zoom).toFixed(0));
    set("height", (height * zoom).toFixed(0));
    const order = parts.map((part) => part.key).join("|");
    if (order === this.order) parts.forEach((part) => this.#renew(part));
    else this.#build(parts);
    this.order = order;
  }

  #renew({ key, sign, make }) {
    const old = this.drawn.get(key);
    if (old.sign === sign) return;
    const element = make();
    old.element.replaceWith(element);
    this.drawn.set(key, { sign, element });
  }

  /** Rebuild after parts were added, removed or reordered; unchanged elements are kept. */
  #build(parts) {
    const before = this.drawn;
    this.drawn = new Map();
    const layers = Object.keys(LAYERS).map((name) => {
      const elements = parts.filter((part) => part.layer === name).map(({ key, sign, make }) => {
        const old = before.get(key), element = old?.sign === sign ? old.element : make();
        this.drawn.set(key, { sign, element });
        return element;
      });
      this.layers[name] ??= svg("g", { class: `${name}-layer`, ...LAYERS[name] });
      arrange(this.layers[name], elements);
      return this.layers[name];
    });
    arrange(this.root, layers.filter((layer) => layer.children.length));
  }

  /** Shift the labels of long arcs into the visible part of the tree, from `left` to `right` along the words. */
  follow(left, right, vertical) {
    for (const { key, ends, middle, half } of this.long) {
      const name = this.drawn.get(key).element.querySelector(".name");
      const [low, high] = [Math.max(ends[0], left) + half, Math.min(ends[1], right) - half];
      const shift = low > high || (low <= middle && middle <= high) ? 0 : Math.min(Math.max(middle, low), high) - middle;
      if (shift) name?.setAttribute("transform", vertical ? `translate(0 ${shift.toFixed(1)})` : `translate(${shift.toFixed(1)} 0)`);
      else name?.removeAttribute("transform");
    }
  }
}
