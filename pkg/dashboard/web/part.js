// A part of a run that is large, and so asked for once, and then only while it is in sight: its workers, its
// classes.

import { get } from "./api.js";

const retry = 5_000; // milliseconds

// Part asks for a part of the run when it has changed, with one request at a time and pauses in between. show takes
// the answer and returns the pause in milliseconds. anchor is the element that has to be near the window;
// null is always in sight.
export class Part {
  #path;
  #show;
  #wanted = false;
  #known = false; // it was answered
  #near;
  #busy = false;

  constructor(path, anchor, show) {
    [this.#path, this.#show, this.#near] = [path, show, anchor === null];
    if (anchor) {
      new IntersectionObserver(entries => {
        this.#near = entries.at(-1).isIntersecting;
        this.#next();
      }, { rootMargin: "300px" }).observe(anchor);
    }
    document.addEventListener("visibilitychange", () => this.#next());
  }

  // ask says that the part has changed.
  ask() {
    this.#wanted = true;
    this.#next();
  }

  async #next() {
    if (!this.#wanted || (this.#known && !this.#near) || this.#busy || document.hidden) return;
    [this.#wanted, this.#busy] = [false, true];
    let pause = retry;
    try {
      const answer = await get(this.#path);
      this.#known = true;
      pause = this.#show(answer);
    } catch {
      this.#wanted = true; // the feed says what is wrong with the server
    }
    setTimeout(() => {
      this.#busy = false;
      this.#next();
    }, pause);
  }
}
