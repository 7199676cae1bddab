// The page of `arcwise serve`: a text is parsed, its trees are shown, a click on a word shows what else it may be.

const ALTERNATIVES = 8;
const byId = (id) => document.getElementById(id);
const form = byId("ask");
const problem = byId("problem");

function element(name, text = "", classes = "") {
  const made = document.createElement(name);
  made.textContent = text;
  if (classes) made.className = classes;
  return made;
}

const percent = (p) => (p === undefined ? "" : p >= 0.9995 ? "100%" : p < 0.01 ? "<1%" : `${Math.round(100 * p)}%`);

function tell(sentence) {
  problem.textContent = sentence;
  problem.hidden = !sentence;
}

async function parse(request) {
  const body = JSON.stringify({ ...request, alternatives: ALTERNATIVES, pictures: true });
  let answer;
  try {
    answer = await fetch("v1/parse", { method: "POST", headers: { "Content-Type": "application/json" }, body });
  } catch {
    throw new Error("The server cannot be reached.");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// ---- a sentence: its tree, what is fixed of it, and the word that is looked at

class SentenceView {
  constructor(sentence, number, model) {
    this.figure = byId("tree").content.cloneNode(true).firstElementChild;
    this.part = (selector) => this.figure.querySelector(selector);
    this.number = number;
    this.model = model; // that parsed it: another may be chosen in the form by now
    this.fixed = new Map(); // word → {head, label}
    this.chosen = 0;
    this.show(sentence);
  }

  show(sentence) {
    this.sentence = sentence;
    this.part(".id").textContent = String(this.number);
    this.part("bdi").textContent = sentence.text;
    this.part(".sure").textContent =
      sentence.probability === undefined ? "" : `the whole tree: ${percent(sentence.probability)}`;
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
    const others = word.alternatives ?? [];
    const isOwn = (other) => other.head === word.head && other.label === word.label;
    const own = { head: word.head, label: word.label, probability: word.label_probability };
    for (const other of others.some(isOwn) ? others : [own, ...others]) table.append(this.row(word, other, isOwn(other)));
    return table;
  }

  row(word, other, own) {
    const row = element("tr", "", own ? "own" : "");
    const head = other.head ? this.sentence.words[other.head - 1].form : "(root)";
    const bar = element("td", "", "bar");
    const meter = bar.appendChild(document.createElement("meter"));
    meter.value = other.probability ?? 0;
    meter.textContent = percent(other.probability);
    const action = element("td");
    if (!own) {
      const button = action.appendChild(element("button", "Take this"));
      button.type = "button";
      button.title = "Parse the sentence again, with this decided";
      button.addEventListener("click", () => this.fix(word.id, other));
    }
    row.append(element("td", other.label ?? ""), element("td", head), element("td", percent(other.probability), "number"), bar, action);
    return row;
  }

  // ---- decisions: the sentence is parsed again, given them

  async fix(word, { head, label }) {
    await this.decide(new Map([...this.fixed, [word, { head, label }]]));
  }

  async decide(fixed) {
    const constraint = {
      required: [...fixed].map(([word, { head }]) => [head, word]),
      labels: Object.fromEntries([...fixed].filter(([, { label }]) => label).map(([word, { label }]) => [word, label])),
    };
    try {
      const request = { model: this.model, document: { sentences: [this.sentence] }, constraints: [constraint] };
      const found = (await parse(request)).sentences[0];
      this.fixed = fixed;
      this.show(found);
      tell("");
    } catch (error) {
      tell(error.message);
    }
  }

  showFixed() {
    const line = this.part(".fixed");
    line.hidden = !this.fixed.size;
    line.replaceChildren("Decided: ");
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
  const parts = [word.upos, word.lemma && `lemma ${word.lemma}`, feats, `head ${percent(word.head_probability)}`];
  return parts.filter(Boolean).join(" · ");
}

// ---- the form

async function ask(event) {
  event?.preventDefault();
  const button = form.querySelector("button[type=submit]");
  const text = byId("text").value;
  const model = byId("model").value;
  if (!text.trim()) return tell("Type a sentence first.");
  button.disabled = true;
  try {
    const found = await parse({ text, ...(model ? { model } : {}) });
    tell("");
    const views = found.sentences.map((sentence, at) => new SentenceView(sentence, at + 1, found.model));
    byId("trees").replaceChildren(...views.map((view) => view.figure));
  } catch (error) {
    tell(error.message);
  } finally {
    button.disabled = false;
  }
}

async function listModels() {
  const { models } = await (await fetch("models")).json();
  const able = Object.keys(models).filter((name) => models[name].includes("tokenizer"));
  byId("model").replaceChildren(...able.map((name) => new Option(name, name)));
  byId("choose").hidden = able.length < 2;
}

form.addEventListener("submit", ask);
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask(event);
});
listModels().catch(() => tell("The server cannot be reached."));
