// The tree as a picture: an SVG that needs no style sheet, copied as PNG or saved as SVG.

import { el, svg, tell } from "./dom.js";

/** Style properties that the page's style sheet sets, inlined in pictures. */
const CARRIED = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "font-style", "letter-spacing", "text-anchor", "direction"];
const SCALE = 2; // pixels of a PNG per unit of the tree

/** A copy of the drawn tree with its colours and fonts, without the selection. */
function standalone(drawn) {
  const { root, width, height } = drawn, marked = [...root.querySelectorAll(".selected, .ranged, .head, .mine")].map((part) => [part, part.getAttribute("class")]);
  for (const [part] of marked) part.classList.remove("selected", "ranged", "head", "mine");
  const copy = root.cloneNode(true), originals = root.querySelectorAll("*");
  [...copy.querySelectorAll("*")].forEach((part, k) => {
    const style = getComputedStyle(originals[k]);
    if (part instanceof SVGGeometryElement || part instanceof SVGTextContentElement) for (const name of CARRIED) part.setAttribute(name, style.getPropertyValue(name));
    for (const { name } of [...part.attributes]) if (/^(id|role|data-.*|aria-.*)$/u.test(name)) part.removeAttribute(name);
  });
  for (const [part, names] of marked) part.setAttribute("class", names);
  for (const part of copy.querySelectorAll(".place, .reach, title")) part.remove();
  for (const part of copy.querySelectorAll("[class]")) part.removeAttribute("class");
  for (const name of ["role", "aria-label", "class"]) copy.removeAttribute(name);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width.toFixed(0));
  copy.setAttribute("height", height.toFixed(0));
  copy.prepend(svg("rect", { width: "100%", height: "100%", fill: getComputedStyle(root).getPropertyValue("--paper").trim() || "white" }));
  return new XMLSerializer().serializeToString(copy);
}

/** Draw an SVG as a PNG. */
async function png(text, width, height) {
  const image = new Image(), canvas = el("canvas", { width: Math.ceil(width * SCALE), height: Math.ceil(height * SCALE) });
  const address = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  try {
    image.src = address;
    await image.decode();
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  } finally {
    URL.revokeObjectURL(address);
  }
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** Save the tree as an SVG file. */
export function savePicture(drawn, name) {
  const address = URL.createObjectURL(new Blob([standalone(drawn)], { type: "image/svg+xml" }));
  el("a", { href: address, download: `${name}.svg` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Copy the tree to the clipboard as a PNG. */
export async function copyPicture(drawn) {
  try {
    const picture = png(standalone(drawn), drawn.width, drawn.height);
    await navigator.clipboard.write([new ClipboardItem({ "image/png": picture })]);
    tell("Picture copied.", "good");
  } catch (error) {
    tell(`The picture was not copied (${error.message}); save it instead.`, "bad");
  }
}
