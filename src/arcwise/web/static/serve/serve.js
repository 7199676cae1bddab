// The page of `arcwise serve`: parses a text and draws its trees; a click on a word lists alternative heads and labels.

const ALTERNATIVES = 8;
const byId = (id) => document.getElementById(id);
const form = byId("ask");
const problem = byId("problem");

function element(name, text = "", classes = "") {
  const node = document.createElement(name);
  node.textContent = text;
  if (classes) node.className = classes;
  return node;
}

const percent = (p) => (p === undefined ? "" : p >= 0.9995 ? "100%" : p < 0.01 ? "<1%" : `${Math.round(100 * p)}%`);

let served = { options: {} }; // the response of /models

function can(model, option) {
  return (served.options[model || served.default_model] ?? []).includes(option);
}

function showError(message) {
  problem.textContent = message;
  problem.hidden = !message;
}

async function parse(request) {
  const options = { ...(can(request.model, "confidence") && { confidence: true }), ...(can(request.model, "alternatives") && { alternatives: ALTERNATIVES }) };
  const body = JSON.stringify({ ...request, ...options, pictures: true });
  let answer;
  try {
    answer = await fetch("v1/parse", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  } catch {
    throw new Error("The server cannot be reached.");
  }
  const values = await answer.json();
  if (!answer.ok) throw new Error(values.error);
  return values;
}

// A sentence: its tree, the arcs that the user has fixed, and the selected word.
class SentenceView {
  constructor(sentence, number, model) {
    this.figure = byId("tree").content.cloneNode(true).firstElementChild;
    this.part = (selector) => this.figure.querySelector(selector);
    this.number = number;
    this.model = model; // the model that parsed the sentence; the form may show another by now
    this.fixed = new Map(); // word → {head, label}
    this.chosen = 0;
    this.show(sentence);
  }

  show(sentence) {
    this.sentence = sentence;
    this.part(".id").textContent = String(this.number);
    this.part("bdi").textContent = sentence.text;
    this.part(".sure").textContent =
      sentence.probability === undefined ? "" : `probability of the tree: ${percent(sentence.probability)}`;
    const parsed = new DOMParser().parseFromString(sentence.svg, "image/svg+xml").documentElement;
    this.part(".scroll").replaceChildren(document.importNode(parsed, true));
    this.part(".scroll").querySelectorAll("svg .word").forEach((word, at) => this.listen(word, at + 1));
    this.showFixed();
    this.choose(this.chosen);
  }

  listen(word, number) {
    word.setAttribute("tabindex", "0");
    word.setAttribute("role", "button");
    word.addEventListener("click", () => this.choose(number));
    word.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        this.choose(number);
      }
    });
  }

  choose(number) {
    this.chosen = number;
    this.part(".scroll").querySelectorAll("svg .word").forEach((word, at) => word.classList.toggle("chosen", at + 1 === number));
    const section = this.part("section.word");
    section.hidden = !number;
    if (!number) return;
    const word = this.sentence.words[number - 1];
    section.replaceChildren(element("h2", word.form), element("p", describe(word)), this.table(word));
  }

  table(word) {
    const table = element("table");
    const head = table.appendChild(element("tr"));
    for (const title of ["Relation", "of", "Probability", "", ""]) head.append(element("th", title));
    const alternatives = word.alternatives ?? [];
    const isCurrent = (arc) => arc.head === word.head && arc.label === word.label;
    const current = { head: word.head, label: word.label, probability: word.label_probability };
    const arcs = alternatives.some(isCurrent) ? alternatives : [current, ...alternatives];
    for (const arc of arcs) table.append(this.row(word, arc, isCurrent(arc)));
    return table;
  }

  row(word, arc, isCurrent) {
    const row = element("tr", "", isCurrent ? "own" : "");
    const head = arc.head ? this.sentence.words[arc.head - 1].form : "(root)";
    const bar = element("td", "", "bar");
    const meter = bar.appendChild(document.createElement("meter"));
    meter.value = arc.probability ?? 0;
    meter.textContent = percent(arc.probability);
    const action = element("td");
    if (!isCurrent && can(this.model, "constraints")) {
      const button = action.appendChild(element("button", "Use this"));
      button.type = "button";
      button.title = "Parse the sentence again with this arc fixed";
      button.addEventListener("click", () => this.fix(word.id, arc));
    }
    row.append(element("td", arc.label ?? ""), element("td", head), element("td", percent(arc.probability), "number"), bar, action);
    return row;
  }

  async fix(word, { head, label }) {
    await this.decide(new Map([...this.fixed, [word, { head, label }]]));
  }

  // Parses the sentence again with these arcs as constraints.
  async decide(fixed) {
    const constraint = {
      required: [...fixed].map(([word, { head }]) => [head, word]),
      labels: Object.fromEntries([...fixed].filter(([, { label }]) => label).map(([word, { label }]) => [word, label])),
    };
    try {
      const request = { model: this.model, document: { sentences: [this.sentence] }, constraints: [constraint] };
      const [sentence] = (await parse(request)).sentences;
      this.fixed = fixed;
      this.show(sentence);
      showError("");
    } catch (error) {
      showError(error.message);
    }
  }

  showFixed() {
    const line = this.part(".fixed");
    line.hidden = !this.fixed.size;
    line.replaceChildren("Fixed: ");
    for (const [word, { head, label }] of this.fixed) {
      const above = head ? `${label ?? "?"} of ${this.sentence.words[head - 1].form}` : "the root";
      line.append(element("span", `${this.sentence.words[word - 1].form} is ${above}. `));
    }
    const undo = line.appendChild(element("button", "Undo all"));
    undo.type = "button";
    undo.addEventListener("click", () => this.decide(new Map()));
  }
}

function describe(word) {
  const feats = typeof word.feats === "object" ? Object.entries(word.feats).map(([k, v]) => `${k}=${v}`).join(", ") : word.feats;
  const sure = word.head_probability !== undefined && `head ${percent(word.head_probability)}`;
  const parts = [word.upos, word.lemma && `lemma ${word.lemma}`, feats, sure];
  return parts.filter(Boolean).join(" · ");
}

async function ask(event) {
  event?.preventDefault();
  const button = form.querySelector("button[type=submit]");
  const text = byId("text").value;
  const model = byId("model").value;
  if (!text.trim()) return showError("Enter some text first.");
  button.disabled = true;
  try {
    const parsed = await parse({ text, ...(model ? { model } : {}) });
    showError("");
    const views = parsed.sentences.map((sentence, at) => new SentenceView(sentence, at + 1, parsed.model));
    byId("trees").replaceChildren(...views.map((view) => view.figure));
  } catch (error) {
    showError(error.message);
  } finally {
    button.disabled = false;
  }
}

async function listModels() {
  served = await (await fetch("models")).json();
  const pipelines = Object.keys(served.models).filter((name) => served.models[name].includes("tokenizer"));
  byId("model").replaceChildren(...pipelines.map((name) => new Option(name, name)));
  byId("choose").hidden = pipelines.length < 2;
}

form.addEventListener("submit", ask);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(event);
});
listModels().catch(() => showError("The server cannot be reached."));
