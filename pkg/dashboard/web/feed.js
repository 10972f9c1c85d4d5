// A feed follows the run by its events, through whatever happens to the connection: a server that
// restarts, a phone that sleeps, a run that is resumed.

import { get, Refused } from "./api.js";

const firstRetry = 1_000, lastRetry = 15_000; // milliseconds
// After so long without an event the feed connects again: a dead connection need not say that it is dead.
const silence = 25_000;
// A new connection that brings nothing for so long is one that does not work.
const patience = 8_000;

// Feed calls on.run(object) with each state of the run, and on.link(link) when the connection changes: {state, since,
// reason}, of which the state is connecting, live, away, waiting, refused or ended, and since is when something was
// heard last.
export class Feed {
  #on;
  #source = null;
  #link = { state: "connecting", since: null };
  #heard = null; // when the last event arrived, milliseconds
  #timer = 0; // of the next attempt
  #attempts = 0;

  constructor(on) {
    this.#on = on;
    addEventListener("online", () => this.#wake());
    addEventListener("pageshow", () => this.#wake());
    document.addEventListener("visibilitychange", () => document.hidden || this.#wake());
    setInterval(() => this.#check(), 1_000);
    this.#open();
  }

  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource("api/v1/run/events");
    source.opened = Date.now();
    this.#source = source;
    source.addEventListener("run", event => this.#hear(source, JSON.parse(event.data)));
    source.addEventListener("end", () => this.#source === source && this.#end());
    source.addEventListener("error", () => this.#source === source && this.#lose());
  }

  #hear(source, object) {
    if (this.#source !== source) return;
    this.#attempts = 0;
    this.#heard = Date.now();
    this.#setLink("live");
    this.#on.run(object);
  }

  // end keeps what was received last.
  #end() {
    this.#source.close();
    this.#source = null;
    this.#setLink("ended");
  }

  // lose takes the end of a connection. A source that is closed was answered with a status.
  #lose() {
    const answered = this.#source.readyState === EventSource.CLOSED;
    this.#source.close();
    this.#source = null;
    if (!answered) this.#setLink("away");
    else if (this.#attempts > 1) this.#setLink("waiting", "it sends no events now");
    this.#retry();
  }

  #retry() {
    clearTimeout(this.#timer);
    const wait = Math.min(firstRetry * 2 ** this.#attempts++, lastRetry);
    this.#timer = setTimeout(() => this.#probe(), wait * (0.75 + Math.random() / 2));
  }

  // probe asks for the run, because an event source does not tell why it failed.
  async #probe() {
    try {
      await get("");
      this.#open();
    } catch (error) {
      if (error instanceof Refused && error.status === 401) {
        location.reload(); // the server answers with the form for the token
        return;
      }
      const refused = error instanceof Refused;
      const state = error.status === 503 ? "waiting" : "refused";
      this.#setLink(refused ? state : "away", refused ? error.message : "");
      this.#retry();
    }
  }

  // check finds connections that are dead without an error.
  #check() {
    if (!this.#source) return;
    const now = Date.now(), last = Math.max(this.#heard ?? 0, this.#source.opened);
    if (now - last < (this.#heard > this.#source.opened ? silence : patience)) return;
    if (this.#heard > this.#source.opened) this.#open();
    else {
      this.#source.close();
      this.#source = null;
      this.#probe();
    }
  }

  // wake connects again when the page is seen again, unless the connection has just brought something.
  #wake() {
    if (this.#link.state === "ended" || (this.#source && Date.now() - this.#heard < 3_000)) return;
    this.#attempts = 0;
    this.#open();
  }

  #setLink(state, reason = "") {
    if (this.#link.state === state && this.#link.reason === reason && state !== "live") return;
    this.#link = { state, reason, since: this.#heard };
    this.#on.link(this.#link);
  }
}
