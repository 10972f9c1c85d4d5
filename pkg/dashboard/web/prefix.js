// The board of a prefix that a worker is searching.

import { prefix as drawPrefix } from "./boards.js";
import { byId, setText } from "./dom.js";
import { plural, whole } from "./format.js";

// showPrefix takes the classes too, if they are known: the squares that the prefix's class does not
// allow are marked.
export function showPrefix(run, classes) {
  const { prefix } = run;
  const shown = prefix !== undefined && run.state === "running";
  byId("prefix-panel").hidden = !shown;
  if (!shown) return;
  const allow = classes?.classes.find(one => one.index === prefix.class)?.allow;
  byId("prefix-closed").hidden = allow === undefined;
  const free = run.n - prefix.row;
  setText(byId("prefix-text"), `Task ${whole(prefix.task)}${prefix.worker ? `, on ${prefix.worker}` : ""}: ` +
    `${plural(prefix.row, "queen")} placed, ${plural(free, "row")} to search.`);
  const box = byId("prefix-board");
  const text = JSON.stringify([prefix, allow]);
  if (box.dataset.shown === text) return;
  box.dataset.shown = text;
  const title = `Board of side ${run.n} with queens on columns ${prefix.queens.join(", ")} of the first rows, counted from 0`;
  box.replaceChildren(drawPrefix(run.n, prefix, allow, title));
}
