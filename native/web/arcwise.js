// arcwise in a web page: raw text to dependency trees with confidences, without a server.
//
//   import { load } from "./arcwise.js";
//   const parser = await load({ model: "en-web.arcwise.gz" });
//   parser.parse("Birds sing.").sentences[0].words[0]
//   // {id: 1, form: "Birds", lemma: "bird", upos: "NOUN", …, head: 2, label: "nsubj", head_probability: 0.98, …}

/** Fetch the bytes of a file from a URL, a Response (or a Promise of one) or bytes, and decompress them if they are gzipped. */
async function bytesOf(source) {
  const given = await source;
  let bytes = given;
  if (typeof given === "string" || given instanceof URL || given instanceof Response) {
    const response = given instanceof Response ? given : await fetch(given);
    if (!response.ok) throw new Error(`${response.url}: ${response.status} ${response.statusText}`);
    bytes = await response.arrayBuffer();
  }
  const view = ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes);
  if (view[0] !== 0x1f || view[1] !== 0x8b) return view;
  const unpacked = new Response(view).body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
}

/** Stubs of the WASI system calls that the C++ library imports: no files, no clock, no output. */
const systemCalls = new Proxy({}, { get: (_, name) => (name === "proc_exit" ? (code) => { throw new Error(`arcwise: exit ${code}`); } : () => 52) });

/** A pipeline from raw text to trees, in memory. */
export class Parser {
  #functions;
  #pipeline = 0;

  /** Use `load`. `instance`: of the module; `model`: the bytes of a model file. */
  constructor(instance, model) {
    this.#functions = instance.exports;
    this.#functions._initialize();
    this.#pipeline = this.#functions.arcwise_open(this.#copy(model), model.length);
  }

  /**
   * Parse a text: {sentences: [{text, probability, entropy, tokens, words}]}.
   *
   * `probability`: of the tree; `entropy`: of all trees, in bits; `tokens`: multiword tokens, {id: "2-3", form, start, end}. A word has id,
   * form, lemma, upos, xpos, feats, head (0: the root), label, head_probability, label_probability (of head and label), upos_probability,
   * and start and end, in code points of the text.
   */
  parse(text) {
    if (typeof text !== "string") throw new TypeError(`text: found ${typeof text}, expected a string`);
    if (!this.#pipeline) throw new Error("arcwise: the parser was closed");
    const bytes = new TextEncoder().encode(text);
    const size = this.#functions.arcwise_parse(this.#pipeline, this.#copy(bytes), bytes.length);
    const start = this.#functions.arcwise_answer(this.#pipeline);
    return JSON.parse(new TextDecoder().decode(new Uint8Array(this.#functions.memory.buffer, start, size)));
  }

  /** Free the model's memory. */
  close() {
    if (this.#pipeline) this.#functions.arcwise_close(this.#pipeline);
    this.#pipeline = 0;
  }

  #copy(bytes) {
    const place = this.#functions.arcwise_allocate(bytes.length);
    if (!place && bytes.length) throw new Error("arcwise: out of memory");
    new Uint8Array(this.#functions.memory.buffer).set(bytes, place);
    return place;
  }
}

/**
 * Load the module and a model, and return a `Parser`.
 *
 * `model` and `module`: a URL, a Response or bytes, gzipped or not; the module defaults to arcwise.wasm next to this file.
 */
export async function load({ model, module = new URL("arcwise.wasm", import.meta.url) }) {
  if (model === undefined) throw new TypeError("model: expected the address or the bytes of a model file");
  let memory;
  const fail = (message, size) => {
    throw new Error(`arcwise: ${new TextDecoder().decode(new Uint8Array(memory.buffer, message, size))}`);
  };
  const imports = { arcwise: { fail }, wasi_snapshot_preview1: systemCalls };
  const [code, file] = await Promise.all([bytesOf(module), bytesOf(model)]);
  const { instance } = await WebAssembly.instantiate(code, imports);
  memory = instance.exports.memory;
  return new Parser(instance, file);
}
