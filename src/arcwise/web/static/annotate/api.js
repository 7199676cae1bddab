// The JSON API of the server (docs/reference/annotate-api.md), and its events.

import { recalled } from "./dom.js";

/** A failed request: `status` is 0 without a response; `body` is the JSON of the response. */
class RequestError extends Error {
  constructor(status, body) {
    super(body?.error ?? (status ? `The server answered ${status}.` : "The server is not responding."));
    this.status = status;
    this.body = body;
  }
}

const AGAIN = 2000; // milliseconds until the page reconnects after a rejection

export class Api {
  /** `token`: from the address of the page; `page`: an ID of this window, by which it recognises its own changes among the events. */
  constructor(token, page) {
    this.token = token;
    this.page = page;
    this.annotator = recalled("arcwise-annotator"); // recorded in the journal with each edit
  }

  async #ask(path, options = {}) {
    let answer;
    try {
      answer = await fetch(`/api/${path}`, { ...options, headers: { "X-Arcwise-Token": this.token, "X-Arcwise-Page": this.page, "X-Arcwise-Annotator": encodeURIComponent(this.annotator), ...options.headers } });
    } catch {
      throw new RequestError(0, null);
    }
    let body = null;
    try {
      body = await answer.json();
    } catch {
      if (answer.ok) throw new RequestError(answer.status, { error: "The server's answer is not valid JSON." });
    }
    if (!answer.ok) throw new RequestError(answer.status, body);
    return body;
  }

  get(path, query = {}) {
    const parameters = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = new URLSearchParams(parameters).toString();
    return this.#ask(text ? `${path}?${text}` : path);
  }

  post(path, body = {}) {
    return this.#ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  }

  document() { return this.get("document"); }
  sentence(number) { return this.get(`sentence/${number}`); }
  sentences(query) { return this.get("sentences", query); }
  would(number, edits) { return this.post(`sentence/${number}/would`, { edits }); }
  save() { return this.post("save"); }
  mergeChanges() { return this.post("take-in"); }
  massEdit(query, changes, what) { return this.post("mass-edit", { query, changes, ...what }); }
  train(cancel = false) { return this.post("train", { cancel }); }
  training() { return this.get("train"); }
  differences(query) { return this.get("differences", query); }
  adjudicate(choice) { return this.post("adjudicate", choice); }
  validate(query) { return this.get("validate", query); }
  mute(rule, muted) { return this.post("mute", { rule, muted }); }
  judge(sentence, row, verdict) { return this.post("verdict", { sentence, row, verdict }); }
  doubts(query) { return this.get("doubts", query); }

  /**
   * Call `heard` with each server-sent event; `connected(true | false)` reports the connection. The browser reconnects by itself, unless
   * the server refused it (restarted at another address, say): then this tries again.
   */
  listen(heard, connected) {
    const source = new EventSource(`/api/events?token=${encodeURIComponent(this.token)}`);
    source.onopen = () => connected(true);
    source.onerror = () => {
      connected(false);
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.listen(heard, connected), AGAIN);
    };
    source.onmessage = (message) => {
      let event;
      try {
        event = JSON.parse(message.data);
      } catch {
        return;
      }
      heard(event);
    };
  }
}
