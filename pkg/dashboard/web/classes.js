// The map of the classes: a tile for each, with its board and the shares of its tasks, and a larger board
// of the one that is pointed at or chosen. One tile is in the order of the Tab key; arrows move among them.

import { largeClass, smallClass } from "./boards.js";
import { byId, element, setAttribute, setList, setText } from "./dom.js";
import { plural, share, whole } from "./format.js";

let shown = null; // the classes
let selected = 0, pointed = null;
let tiles = [];

export function showClasses(classes) {
  const same = shown !== null && sameBoards(shown, classes);
  shown = classes;
  const many = classes.classes.length > 1; // one class alone is the board
  byId("classes-panel").hidden = !many;
  if (!many) return;
  if (!same) build();
  update();
}

const sameBoards = (a, b) => a.n === b.n && a.classes.length === b.classes.length &&
  a.classes.every((one, i) => one.weight === b.classes[i].weight && String(one.allow) === String(b.classes[i].allow));

function build() {
  selected = Math.max(0, shown.classes.findIndex(one => one.in_flight > 0));
  pointed = null;
  tiles = shown.classes.map((one, i) => element("div", { role: "option", class: "tile", "data-class": i },
    smallClass(shown.n, one.allow),
    element("div", { class: "shares", "aria-hidden": "true" },
      ...["done", "disputed", "in_flight"].map(state => element("div", { class: state }))),
    element("span", { class: "caption", "aria-hidden": "true" })));
  byId("classes").replaceChildren(...tiles);
  setAttribute(byId("classes"), "data-many", shown.classes.length > 8 ? "" : null);
}

function update() {
  const { classes } = shown;
  const counted = classes.some(one => one.done !== undefined);
  byId("classes-legend").hidden = !counted;
  setText(byId("classes-note"), note(classes, counted));
  classes.forEach((one, i) => {
    const tile = tiles[i];
    ["done", "disputed", "in_flight"].forEach((state, part) => {
      tile.children[1].children[part].style.width = `${100 * (one[state] ?? 0) / Math.max(1, one.tasks)}%`;
    });
    tile.children[1].hidden = !counted;
    setAttribute(tile, "data-state", stateOf(one));
    setText(tile.children[2], share(one.work));
    setAttribute(tile, "aria-label", label(one, i));
  });
  showSelection();
}

// stateOf is empty where the states of the tasks are not known.
function stateOf({ tasks, done, in_flight: inFlight }) {
  if (done === undefined) return "";
  return done === tasks ? "complete" : done > 0 || inFlight > 0 ? "begun" : "waiting";
}

function note(classes, counted) {
  const complete = classes.filter(one => one.done === one.tasks).length;
  const text = "Symmetry cuts the board into classes: boards with fewer squares, whose solutions have a weight.";
  return counted ? `${text} ${whole(complete)} of ${whole(classes.length)} are complete.` : text;
}

const label = (one, i) => `Class ${number(i)}, ${share(one.work)} of the work` +
  (one.done === undefined ? "" : `, ${whole(one.done)} of ${plural(one.tasks, "task")} done`);

function showSelection() {
  tiles.forEach((tile, i) => {
    setAttribute(tile, "aria-selected", i === selected);
    setAttribute(tile, "tabindex", i === selected ? 0 : -1);
  });
  const i = pointed ?? selected, one = shown.classes[i];
  setText(byId("class-name"), `Class ${number(i)}`);
  const box = byId("class-board");
  if (box.dataset.shown !== `${shown.n} ${one.allow}`) {
    box.dataset.shown = `${shown.n} ${one.allow}`;
    box.replaceChildren(largeClass(shown.n, one.allow, `The squares that class ${number(i)} allows, on a board of side ${shown.n}`));
  }
  setList(byId("class-facts"), facts(one));
}

function facts(one) {
  const left = one.done === undefined ? undefined : one.tasks - one.done - (one.in_flight ?? 0) - (one.disputed ?? 0);
  return [
    ["weight", whole(one.weight), { note: `Each of its solutions counts for ${plural(one.weight, "solution")} of the board.` }],
    ["work", `${share(one.work)} of the run`],
    ["tasks", whole(one.tasks)],
    ["done", one.done === undefined ? "" : `${whole(one.done)}, ${share(one.done / Math.max(1, one.tasks))}`],
    ["in flight", one.in_flight === undefined ? "" : whole(one.in_flight)],
    ["waiting", left === undefined ? "" : whole(Math.max(0, left))],
    ["disputed", one.disputed > 0 ? whole(one.disputed) : "", { tone: "bad" }],
  ];
}

// number returns the number of a class in the manifest, from 1. Classes without tasks are not in the list.
const number = i => (shown.classes[i].index ?? i) + 1;

function select(i, focus) {
  selected = Math.max(0, Math.min(i, tiles.length - 1));
  pointed = null;
  showSelection();
  if (focus) tiles[selected].focus();
}

// perRow returns how many tiles are beside each other.
function perRow() {
  const second = tiles.findIndex(tile => tile.offsetTop > tiles[0].offsetTop);
  return second < 0 ? tiles.length : second;
}

const moves = {
  ArrowRight: () => 1, ArrowLeft: () => -1, ArrowDown: perRow, ArrowUp: () => -perRow(),
  Home: () => -Infinity, End: () => Infinity,
};

export function startClasses() {
  const map = byId("classes");
  const at = event => event.target.closest?.(".tile")?.dataset.class;
  map.addEventListener("click", event => at(event) !== undefined && select(Number(at(event)), true));
  map.addEventListener("pointerover", event => {
    if (event.pointerType !== "mouse" || at(event) === undefined) return;
    pointed = Number(at(event));
    showSelection();
  });
  map.addEventListener("pointerleave", () => {
    pointed = null;
    if (shown) showSelection();
  });
  map.addEventListener("keydown", event => {
    const move = moves[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    select(selected + move(), true);
  });
}
