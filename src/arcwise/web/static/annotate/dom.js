// Making elements. Text of the treebank only ever becomes a text node: no function here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** An HTML element: `el("p", {class: "soft", onclick: f}, "text", other)`. */
export function el(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A button of the page. */
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** What is in an element, replaced. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** 0.973 → "97 %", never "100 %" for what is not certain. */
export function percent(p) {
  if (p === null || p === undefined) return "";
  if (p >= 0.9995) return "100 %";
  if (p >= 0.985) return `${(Math.floor(p * 1000) / 10).toFixed(1)} %`;
  return p < 0.005 ? "< 1 %" : `${Math.round(p * 100)} %`;
}

const speaker = () => document.getElementById("live");
const teller = () => document.getElementById("told");
let quiet = 0;

/** Say something to those who listen (a live region), and nothing to those who look. */
export function say(text) {
  const region = speaker();
  region.textContent = text === region.textContent ? `${text}\u00a0` : text;
}

/** Tell everybody: a line at the foot of the page, which goes away, and the live region. `kind`: "", "good" or "bad". */
export function tell(text, kind = "", ...buttons) {
  const line = teller();
  show(line, el("span", {}, text), ...buttons, button("×", () => hush(), { "aria-label": "Close this message", class: "plain" }));
  line.className = `told ${kind}`;
  line.hidden = false;
  say(text);
  clearTimeout(quiet);
  if (!buttons.length) quiet = setTimeout(hush, kind === "bad" ? 12000 : 4000);
}

/** Take the line away. */
function hush() {
  teller().hidden = true;
}
