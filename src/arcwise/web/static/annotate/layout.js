// Layout of words and arcs: the same rules as arcwise/visual/svg.py, with measured text widths.
// Lengths are SVG units. `along` runs with the words, `up` away from them; tree.js converts both to x and y.

export const WORD_SIZE = 17;
export const SMALL_SIZE = 12;
export const LEVEL = 25;
export const MARGIN = 24;
export const CORNER = 9;
/** Distances along the words: between arcs at a word, and between words. In the vertical layout also between columns, and the least between arcs. */
export const ACROSS = { port: 7, gap: 18 };
export const DOWN = { port: 4, gap: 4, between: 14, level: 46 };
/** The same where the window is too narrow for these. */
export const NARROWER = new Map([[ACROSS, { port: 6, gap: 7 }], [DOWN, { port: 4, gap: 4, between: 8, level: 14 }]]);

const FONTS = "Inter, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', Arial, sans-serif";
const ruler = document.createElement("canvas").getContext("2d");
const widths = new Map();

/** The width of a text; cached, because words and labels recur. */
export function textWidth(text, size, weight = 400) {
  const key = `${size}/${weight}/${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    if (widths.size > 20000) widths.clear();
    ruler.font = `${weight} ${size}px ${FONTS}`;
    width = ruler.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/** The level of each arc, 1 the lowest: above every shorter arc that overlaps it. `arcs`: {head, modifier}, indices of words. */
function arcLevels(arcs) {
  const spans = arcs.map((arc) => [Math.min(arc.head, arc.modifier), Math.max(arc.head, arc.modifier)]);
  const order = arcs.map((_, k) => k);
  order.sort((a, b) => spans[a][1] - spans[a][0] - (spans[b][1] - spans[b][0]) || arcs[a].modifier - arcs[b].modifier);
  const levels = new Array(arcs.length).fill(0);
  const done = [];
  for (const k of order) {
    const [left, right] = spans[k];
    let below = 0;
    for (const shorter of done) {
      if (spans[shorter][0] < right && left < spans[shorter][1]) below = Math.max(below, levels[shorter]);
    }
    levels[k] = below + 1;
    done.push(k);
  }
  return levels;
}

/**
 * Offsets from the middle of a word at which its arcs attach. From left to right: arcs to the left, shortest first; the stem from above;
 * arcs to the right, longest first. Returns for each arc [at its head, at its modifier], and for each word the offset of its stem.
 */
function ports(count, arcs, stems, port) {
  const at = Array.from({ length: count }, () => []);
  arcs.forEach((arc, k) => {
    at[arc.head].push([arc.modifier, k, 0]);
    at[arc.modifier].push([arc.head, k, 1]);
  });
  const offsets = arcs.map(() => [0, 0]);
  const ofStems = new Array(count).fill(0), slotsOf = new Array(count).fill(0);
  for (let word = 0; word < count; word++) {
    const left = at[word].filter(([other]) => other < word).sort((a, b) => b[0] - a[0]);
    const right = at[word].filter(([other]) => other > word).sort((a, b) => b[0] - a[0]);
    const slots = [...left, ...(stems[word] ? [null] : []), ...right];
    slotsOf[word] = slots.length;
    slots.forEach((slot, place) => {
      const offset = port * (place - (slots.length - 1) / 2);
      if (slot === null) ofStems[word] = offset;
      else offsets[slot[1]][slot[2]] = offset;
    });
  }
  return { offsets, ofStems, slotsOf };
}

/**
 * The layout of a tree. `items`: {width, stem: width of the label of an arc from above, or null}; `arcs`: {head, modifier, label width},
 * by indices 0..n−1. `mirrored`: words run from right to left. `before`: the previous layout of the same words; words never move closer
 * together than they were, so that edits do not shift words while there is room. The last argument: ACROSS or DOWN, or what NARROWER has for it.
 */
export function layout(items, arcs, mirrored, before = null, { port, gap } = ACROSS) {
  const n = items.length;
  const levels = arcLevels(arcs);
  const { offsets, ofStems, slotsOf } = ports(n, arcs, items.map((item) => item.stem !== null), port);
  const half = items.map((item, m) => Math.max(item.width / 2, (item.stem ?? 0) / 2, port * (1 + slotsOf[m] / 2), before?.half[m] ?? 0));
  const endingAt = Array.from({ length: n }, () => []);
  arcs.forEach((arc, k) => endingAt[Math.max(arc.head, arc.modifier)].push(k));
  const middle = new Array(n).fill(0);
  for (let m = 0; m < n; m++) {
    const apart = m === 0 ? MARGIN + half[0] : half[m - 1] + gap + half[m];
    middle[m] = (m === 0 ? 0 : middle[m - 1]) + Math.max(apart, before?.apart[m] ?? 0);
    for (const k of endingAt[m]) {
      const arc = arcs[k], start = Math.min(arc.head, arc.modifier);
      const [atStart, atEnd] = arc.head === start ? offsets[k] : [offsets[k][1], offsets[k][0]];
      middle[m] = Math.max(middle[m], middle[start] + atStart + arc.width + 2 * CORNER + 6 - atEnd);
    }
  }
  const length = n ? middle[n - 1] + half[n - 1] + MARGIN : 2 * MARGIN;
  const place = (at) => (mirrored ? length - at : at);
  return {
    length,
    levels: Math.max(0, ...levels, before?.levels ?? 0),
    half,
    apart: middle.map((at, m) => at - (m === 0 ? 0 : middle[m - 1])),
    words: items.map((_, m) => ({ middle: place(middle[m]), half: half[m], stem: place(middle[m] + ofStems[m]) })),
    arcs: arcs.map((arc, k) => ({
      level: levels[k],
      head: place(middle[arc.head] + offsets[k][0]),
      modifier: place(middle[arc.modifier] + offsets[k][1]),
    })),
  };
}

/**
 * Where the labels of vertical arcs stand along them, so that none covers another: in the middle, or as near as there is room.
 * `arcs`: {ends, up, width: of the label}; `height`: of a label.
 */
export function labelPlaces(arcs, height) {
  const at = arcs.map(({ ends }) => (ends[0] + ends[1]) / 2), placed = [];
  const length = ({ ends }) => Math.abs(ends[1] - ends[0]);
  const order = arcs.map((_, k) => k).sort((a, b) => length(arcs[a]) - length(arcs[b])); // a short arc has little choice
  for (const k of order) {
    const { up, width } = arcs[k], middle = at[k], most = (length(arcs[k]) - height) / 2;
    const isFree = (along) => placed.every((other) => Math.abs(at[other] - along) >= height || Math.abs(arcs[other].up - up) >= (arcs[other].width + width) / 2);
    for (let aside = 0; aside <= Math.max(0, most); aside += 3) {
      const free = [middle - aside, middle + aside].find(isFree);
      if (free === undefined) continue;
      at[k] = free;
      break;
    }
    placed.push(k);
  }
  return at;
}
