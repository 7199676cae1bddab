// The demo page: parses what is typed with the WebAssembly module and draws its trees. build.py puts module, model and drawing into parse/.

const byId = (id) => document.getElementById(id);
const input = byId("demo-text"), trees = byId("demo-trees"), problem = byId("demo-problem");
const status = document.querySelector(".demo-status"), examples = document.querySelector(".demo-examples");
const EXAMPLES = [
  "I saw the man with a telescope.",
  "The letter that she sent from Prague arrived yesterday, but nobody's read it.",
  "We don't know what they wanted. Was it the old clock or the new one?",
];
const LONGEST = 20000; // characters: the tab stays responsive

function element(name, text = "", attributes = {}) {
  const node = document.createElement(name);
  node.textContent = text;
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  return node;
}

const percent = (p) => (p >= 0.9995 ? "100 %" : p < 0.001 ? "< 0.1 %" : `${(100 * p).toFixed(1)} %`);

function showProblem(message) {
  problem.textContent = message;
  problem.hidden = !message;
}

/** What tree.js draws, of a parsed sentence. */
function pictureOf(sentence, { crossing, kindOf }) {
  const { words } = sentence, crosses = crossing(words.map((word) => word.head - 1));
  return {
    rtl: false,
    place: new Map(words.map((word, at) => [String(word.id), at])),
    items: words.map((word) => ({
      id: String(word.id), form: word.form, kind: "word", state: "decided", marks: [], spoken: word.form,
      cells: [{ name: "upos", lines: [word.upos ?? ""], note: "", proposed: false }],
    })),
    arcs: words.map((word, at) => {
      const head = String(word.head), label = word.label ?? "";
      return {
        row: String(word.id), head, label, kind: kindOf(head, label, crosses.has(at)), state: "decided", labelState: "decided",
        probability: word.head_probability, labelProbability: word.label_probability, spoken: spokenArc(word, words),
      };
    }),
    tokens: sentence.tokens.map((token) => ({ ...token, first: token.id.split("-")[0], last: token.id.split("-")[1] })),
    enhanced: [],
  };
}

const headOf = (word, words) => (word.head ? words[word.head - 1].form : "root");
const spokenArc = (word, words) => `${word.form}: ${word.label ?? "?"} of ${headOf(word, words)}, ${percent(word.label_probability)}`;

const COLUMNS = [
  ["", (word) => word.id], ["Word", (word) => word.form], ["Relation", (word) => word.label], ["Head", headOf],
  ["P(head)", (word) => percent(word.head_probability)], ["P(head, relation)", (word) => percent(word.label_probability)],
  ["UPOS", (word) => word.upos], ["Lemma", (word) => word.lemma],
  ["Features", (word) => Object.entries(word.feats ?? {}).map((pair) => pair.join("=")).join(", ")],
];
const SMALLEST = 0.75; // a tree shrinks that far before it scrolls

function tableOf(words) {
  const table = element("table"), body = element("tbody"), head = element("tr");
  head.append(...COLUMNS.map(([title]) => element("th", title, { scope: "col" })));
  for (const word of words) {
    const row = element("tr");
    row.append(...COLUMNS.map(([, value]) => element("td", value(word, words) ?? "")));
    body.append(row);
  }
  const top = element("thead");
  top.append(head);
  table.append(top, body);
  return table;
}

function figureOf(sentence, Drawing, drawnBy, open) {
  const figure = element("figure", "", { class: "demo-tree" }), scroll = element("div", "", { class: "demo-scroll", tabindex: "0" });
  const drawing = new Drawing();
  const draw = () => {
    const picture = pictureOf(sentence, drawnBy), room = scroll.clientWidth;
    drawing.draw(picture, { room });
    if (room && drawing.width > room) drawing.draw(picture, { room, zoom: Math.max(SMALLEST, room / drawing.width) });
    drawing.root.setAttribute("role", "img");
    drawing.root.setAttribute("aria-label", `Dependency tree: ${sentence.words.map((word) => spokenArc(word, sentence.words)).join("; ")}`);
  };
  const details = element("details"), caption = element("figcaption", sentence.text), wide = element("div", "", { class: "demo-scroll", tabindex: "0" });
  caption.append(element("span", ` probability of the tree: ${percent(sentence.probability)}`));
  details.append(element("summary", "Words and probabilities"), wide);
  details.open = open;
  wide.append(tableOf(sentence.words));
  scroll.append(drawing.root);
  figure.append(caption, scroll, details);
  return { figure, draw };
}

async function start() {
  const began = performance.now();
  const [{ load }, { Drawing }, drawnBy] = await Promise.all([import("./parse/arcwise.js"), import("./parse/tree.js"), import("./parse/kinds.js")]);
  const parser = await load({ model: new URL("parse/en-web.arcwise.gz", import.meta.url) });
  const ready = performance.now() - began;
  let figures = [], timer = 0;
  const parse = () => {
    const text = input.value.slice(0, LONGEST), open = trees.querySelector("details")?.open ?? false;
    const before = performance.now(), { sentences } = parser.parse(text), took = performance.now() - before;
    figures = sentences.map((sentence) => figureOf(sentence, Drawing, drawnBy, open));
    trees.replaceChildren(...figures.map(({ figure }) => figure));
    figures.forEach(({ draw }) => draw());
    const words = sentences.reduce((sum, sentence) => sum + sentence.words.length, 0);
    status.textContent = words ? `${words} words parsed in ${took < 10 ? took.toFixed(1) : took.toFixed(0)} ms; the parser was ready after ${(ready / 1000).toFixed(1)} s.` : "Type a sentence.";
    if (input.value.length > LONGEST) status.textContent += ` The first ${LONGEST} characters are parsed.`;
  };
  const parseSafely = () => {
    try {
      parse();
      showProblem("");
    } catch (error) {
      showProblem(error.message);
    }
  };
  for (const [at, example] of EXAMPLES.entries()) {
    const button = element("button", `Example ${at + 1}`, { type: "button", title: example });
    button.addEventListener("click", () => {
      input.value = example;
      parseSafely();
    });
    examples.append(button);
  }
  input.disabled = false;
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(parseSafely, 120);
  });
  byId("demo").addEventListener("submit", (event) => event.preventDefault());
  let width = trees.clientWidth;
  new ResizeObserver(() => {
    if (trees.clientWidth !== width) figures.forEach(({ draw }) => draw());
    width = trees.clientWidth;
  }).observe(trees);
  parseSafely();
  document.documentElement.dataset.parser = "ready";
}

start().catch((error) => {
  status.hidden = true;
  const missing = error instanceof TypeError ? " If this copy of the site was built without the WebAssembly module: make web-module site." : "";
  showProblem(`The parser could not be loaded: ${error.message}.${missing}`);
});
