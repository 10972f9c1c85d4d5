// A part of a run that is large, and so asked for once, and then only while it is in sight: its workers, its
// classes.

import { get } from "./api.js";

// Part asks for a path when it has changed, with one request at a time and pauses in between. show takes
// the answer and returns the pause in milliseconds. anchor is the element that has to be near the window;
// null is always in sight.
export class Part {
  #path;
  #show;
  #wanted = false;
  #known = false; // it was answered
  #near;
  #busy = false;
  #timer = 0;
  #stop = new AbortController();
  #observer = null;

  constructor(path, anchor, show) {
    [this.#path, this.#show, this.#near] = [path, show, anchor === null];
    if (anchor) {
      this.#observer = new IntersectionObserver(entries => {
        this.#near = entries.at(-1).isIntersecting;
        this.#next();
      }, { rootMargin: "300px" });
      this.#observer.observe(anchor);
    }
    document.addEventListener("visibilitychange", () => this.#next(), { signal: this.#stop.signal });
  }

  // ask says that the part has changed.
  ask() {
    this.#wanted = true;
    this.#next();
  }

  close() {
    this.#stop.abort();
    this.#observer?.disconnect();
    clearTimeout(this.#timer);
  }

  async #next() {
    if (!this.#wanted || (this.#known && !this.#near) || this.#busy || document.hidden || this.#stop.signal.aborted) return;
    [this.#wanted, this.#busy] = [false, true];
    let pause = 5_000;
    // The feed says what is wrong with the server; after an error the next change asks again.
    const answer = await get(this.#path, this.#stop.signal).catch(() => null);
    if (this.#stop.signal.aborted) return;
    if (answer !== null) {
      this.#known = true;
      pause = this.#show(answer);
    }
    this.#timer = setTimeout(() => {
      this.#busy = false;
      this.#next();
    }, pause);
  }
}
