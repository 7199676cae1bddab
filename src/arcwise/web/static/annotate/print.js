// Printing: a sentence wider than the page is split between words into several lines.

import { el, show } from "./dom.js";
import { focusTree } from "./popups.js";

const PAGE = 1000; // width of a printed line in units of the tree: text is then about 11 points high

/** Where to cut the tree: [start, end] along x, in reading order. */
function pieces(words, width, mirrored) {
  const edges = words.map((word) => [word.middle - word.half, word.middle + word.half]).sort((a, b) => a[0] - b[0]);
  const cuts = [0];
  edges.forEach(([, right], k) => {
    const next = edges[k + 1];
    if (next && next[1] - cuts.at(-1) > PAGE) cuts.push((right + next[0]) / 2);
  });
  const lines = cuts.map((start, k) => [start, cuts[k + 1] ?? width]);
  return mirrored ? lines.reverse() : lines;
}

/** Prepare a wrapped copy of the tree when the page is printed. */
export function printing(state, drawn) {
  const box = document.getElementById("print");
  window.addEventListener("beforeprint", () => {
    const places = drawn.stood.places;
    const wraps = Boolean(state.sentence && places && !state.view.vertical && drawn.width > PAGE);
    document.documentElement.classList.toggle("wrapped", wraps);
    show(box, wraps ? pieces(places.words, drawn.width, state.sentence.direction === "rtl").map(([start, end]) => {
      const copy = drawn.root.cloneNode(true);
      for (const part of copy.querySelectorAll("[id]")) part.removeAttribute("id"); // ids stay unique
      copy.setAttribute("viewBox", `${start} 0 ${end - start} ${drawn.height}`);
      copy.setAttribute("width", `${Math.min(100, (100 * (end - start)) / PAGE)}%`);
      copy.removeAttribute("height");
      return el("div", { class: "printed" }, copy);
    }) : []);
  });
  window.addEventListener("afterprint", () => {
    show(box);
    document.documentElement.classList.remove("wrapped");
    if (document.activeElement === document.body) focusTree(); // it was hidden meanwhile
  });
}
