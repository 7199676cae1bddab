// The JSON API of the server (docs/reference/annotate-api.md), and its events.

/** An answer that is no success: `status` 0 if there was no answer at all, `body` what the server said. */
class Refused extends Error {
  constructor(status, body) {
    super(body?.error ?? (status ? `The server answered ${status}.` : "The server does not answer."));
    this.status = status;
    this.body = body;
  }
}

export class Api {
  /** `token`: from the address of the page; `page`: a name of this window, so that it knows its own changes among the events. */
  constructor(token, page) {
    this.token = token;
    this.page = page;
  }

  async #ask(path, options = {}) {
    let answer;
    try {
      answer = await fetch(`/api/${path}`, { ...options, headers: { "X-Arcwise-Token": this.token, "X-Arcwise-Page": this.page, ...options.headers } });
    } catch {
      throw new Refused(0, null);
    }
    let body = null;
    try {
      body = await answer.json();
    } catch {
      if (answer.ok) throw new Refused(answer.status, { error: "The server's answer could not be read." });
    }
    if (!answer.ok) throw new Refused(answer.status, body);
    return body;
  }

  get(path, query = {}) {
    const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = new URLSearchParams(given).toString();
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
  takeIn() { return this.post("take-in"); }
  search(query, from, count) { return this.post("search", { query, from, count }); }
  massEdit(query, changes, apply) { return this.post("mass-edit", { query, changes, apply }); }
  train(cancel = false) { return this.post("train", { cancel }); }
  training() { return this.get("train"); }
  differences(query) { return this.get("differences", query); }
  adjudicate(choice) { return this.post("adjudicate", choice); }
  validate(query) { return this.get("validate", query); }

  /** Call `heard` with each event of the server; the browser connects again by itself. `connected(true | false)` says how it stands. */
  listen(heard, connected) {
    const source = new EventSource(`/api/events?token=${encodeURIComponent(this.token)}`);
    source.onopen = () => connected(true);
    source.onerror = () => connected(false);
    source.onmessage = (message) => {
      let event;
      try {
        event = JSON.parse(message.data);
      } catch {
        return;
      }
      heard(event);
    };
    return source;
  }
}
