// Creating elements. Treebank text only ever becomes a text node: no function here parses HTML.

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

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A button. */
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** Replace the children of an element. */
export function show(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Text that may break after "|", as in FEATS. */
export function breakable(text) {
  return text.split("|").flatMap((part, k) => (k ? ["|", el("wbr"), part] : [part]));
}

/** "1 sentence", "5,000 sentences". */
export const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

/** 0.973 → "97 %"; "100 %" only from 0.9995 on, and "< 1 %" for everything below, as alternatives are folded. */
export function percent(p) {
  if (p === null || p === undefined) return "";
  if (p >= 0.9995) return "100 %";
  if (p >= 0.985) return `${(Math.floor(p * 1000) / 10).toFixed(1)} %`;
  return p < 0.01 ? "< 1 %" : `${Math.round(p * 100)} %`;
}

const liveRegion = () => document.getElementById("live");
const messageLine = () => document.getElementById("message");
let hideTimer = 0; // 0: the message stays
let shown = 0; // number of the message shown last

/** Announce something to screen readers only, through the live region. */
export function say(text) {
  const region = liveRegion();
  region.textContent = text === region.textContent ? `${text}\u00a0` : text;
}

/** Show a message at the foot of the page for a while, and announce it. `kind`: "", "good" or "bad". One with buttons stays. */
export function tell(text, kind = "", ...buttons) {
  display(text, kind, buttons);
  if (!buttons.length) hideTimer = setTimeout(hide, kind === "bad" ? 12000 : 4000);
}

/** Show a message until its cause is gone: the returned function removes it, unless another message has replaced it. */
export function tellUntil(text, kind = "", ...buttons) {
  const mark = display(text, kind, buttons);
  return () => mark === shown && hide();
}

/** Remove a temporary message early, because it is out of date. */
export function dismiss() {
  if (hideTimer) hide();
}

function display(text, kind, buttons) {
  const line = messageLine(), focused = line.contains(document.activeElement);
  show(line, el("span", {}, text), ...buttons, button("×", () => hide(), { "aria-label": "Close this message", class: "plain" }));
  line.className = `message ${kind}`;
  line.hidden = false;
  if (focused) document.getElementById("tree").focus({ preventScroll: true }); // the button that had the focus is gone
  say(text);
  clearTimeout(hideTimer);
  hideTimer = 0;
  return ++shown;
}

function hide() {
  const line = messageLine();
  if (line.contains(document.activeElement)) document.getElementById("tree").focus({ preventScroll: true });
  line.hidden = true;
  clearTimeout(hideTimer);
  hideTimer = 0;
}

/** The text that this browser stores under a name, or "". */
export function recalled(name) {
  try {
    return localStorage.getItem(name) ?? "";
  } catch {
    return ""; // storage may be disabled
  }
}

/** Store a text under a name in this browser. */
export function recall(name, text) {
  try {
    localStorage.setItem(name, text);
  } catch {
    // Storage may be disabled.
  }
}
