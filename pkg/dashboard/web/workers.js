// The table of workers. Of thousands of rows only those in sight are in the document; the table says how
// many there are and which ones these are, for screen readers.

import { byId, element, setAttribute, setText } from "./dom.js";
import { clock, plural, rate, whole } from "./format.js";

// Rows beyond the edges of what is in sight.
const margin = 6;

const stateOf = worker => worker.quarantined ? "quarantined" : over ? "done" : worker.paused ? "paused" : worker.held > 0 ? "searching" : "idle";
const marks = { quarantined: "✕", searching: "▸", idle: "○", paused: "‖", done: "✓" };
const reasonOf = worker => stateOf(worker) === "paused" ? `: ${worker.paused}` : "";

// The columns: value is what they sort by, text what they show, unit what is said beside it where the
// table has no headings. Those with numbers sort from the largest. Those that are live are of a run that counts.
const columns = [
  { id: "name", title: "Name", width: "minmax(8rem, 3fr)", value: worker => worker.name },
  { id: "state", title: "State", width: "minmax(8.8rem, 1fr)", value: stateOf, text: worker => `${marks[stateOf(worker)]} ${stateOf(worker)}${reasonOf(worker)}` },
  { id: "rate", title: "Rate", width: "minmax(5.6rem, 1fr)", numeric: true, live: true, value: worker => worker.rate, text: worker => rate(worker.rate) },
  { id: "threads", title: "Threads", width: "minmax(5.2rem, 1fr)", numeric: true, unit: "thread", value: worker => worker.threads },
  { id: "held", title: "Searches", width: "minmax(5.8rem, 1fr)", numeric: true, live: true, unit: "search", value: worker => worker.held },
  { id: "oldest", title: "Longest", width: "minmax(5.2rem, 1fr)", numeric: true, live: true, value: worker => worker.oldest_s, text: worker => worker.held > 0 ? clock(worker.oldest_s) : "–" },
  { id: "tasks", title: "Tasks", width: "minmax(5rem, 1fr)", numeric: true, unit: "task", value: worker => worker.tasks ?? 0, optional: "tasks" },
  { id: "kernel", title: "Kernel", width: "minmax(6.2rem, 1fr)", value: worker => worker.kernel },
];

let all = [], rows = [], used = [];
let sort = { id: "name", descending: false };
let answer = null;
let over = false; // the run has ended

export function showWorkers(workers, ended) {
  [answer, over] = [workers, ended];
  all = workers.workers ?? [];
  byId("workers-panel").hidden = false;
  const present = columns.filter(column => !(over && column.live) &&
    (!column.optional || all.some(worker => worker[column.optional] !== undefined)));
  if (present.length !== used.length) {
    used = present;
    buildHead();
  }
  arrange();
}

function buildHead() {
  byId("workers-head").replaceChildren(...used.map((column, i) => {
    const button = element("button", { type: "button", "data-sort": column.id }, column.title,
      element("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => sortBy(column));
    return element("th", { role: "columnheader", scope: "col", class: `c-${column.id}`, "aria-colindex": i + 1 }, button);
  }));
  setAttribute(byId("workers"), "aria-colcount", used.length);
  byId("workers").style.setProperty("--wide", used.map(column => column.width).join(" "));
}

function sortBy(column) {
  const again = sort.id === column.id;
  sort = { id: column.id, descending: again ? !sort.descending : column.numeric === true };
  byId("workers-scroll").scrollTop = 0;
  arrange();
}

const collator = new Intl.Collator("en", { numeric: true });

// arrange filters and sorts, then draws.
function arrange() {
  const words = byId("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = worker => {
    const text = [worker.name, stateOf(worker) + reasonOf(worker), worker.kernel, worker.key ?? ""].join("\n").toLowerCase();
    return words.every(word => text.includes(word));
  };
  rows = words.length > 0 ? all.filter(matches) : [...all];
  const column = used.find(one => one.id === sort.id) ?? columns[0];
  const sign = sort.descending ? -1 : 1;
  const compare = column.numeric ? (a, b) => column.value(a) - column.value(b)
    : (a, b) => collator.compare(column.value(a), column.value(b));
  rows.sort((a, b) => sign * compare(a, b) || collator.compare(a.name, b.name));
  used.forEach((one, i) => {
    setAttribute(byId("workers-head").children[i], "aria-sort",
      one !== column ? "none" : sort.descending ? "descending" : "ascending");
  });
  setText(byId("workers-title"), answer ? `Workers: ${whole(all.length + (answer.left_out ?? 0))}` : "Workers");
  setText(byId("workers-note"), note(words.length > 0));
  setAttribute(byId("workers"), "aria-rowcount", rows.length + 1);
  draw();
}

function note(filtered) {
  const parts = [];
  if (filtered) parts.push(`${whole(rows.length)} of ${plural(all.length, "worker")} match.`);
  if (answer?.left_out > 0) {
    parts.push(`${plural(answer.left_out, "worker")} ${answer.left_out === 1 ? "is" : "are"} not listed: ` +
      `this page hears of ${whole(all.length)} only. The coordinator's own page lists all.`);
  }
  const quarantined = all.filter(worker => worker.quarantined).length;
  if (quarantined > 0) parts.push(`${whole(quarantined)} quarantined.`);
  if (parts.length === 0 && all.length === 0) parts.push("No workers are connected.");
  return parts.join(" ");
}

// draw puts the rows in sight into the document, and reuses those that are there.
function draw() {
  const body = byId("workers-rows"), scroll = byId("workers-scroll");
  const height = rowHeight();
  body.style.height = `${rows.length * height}px`;
  const first = Math.max(0, Math.floor(scroll.scrollTop / height) - margin);
  const last = Math.min(rows.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / height) + margin);
  while (body.children.length > last - first) body.lastChild.remove();
  while (body.children.length < last - first) body.append(element("tr", { role: "row" }));
  for (let i = first; i < last; i++) fillRow(body.children[i - first], rows[i], i, i * height);
}

const rowHeight = () => parseFloat(getComputedStyle(byId("workers")).getPropertyValue("--row"));

function fillRow(row, worker, i, top) {
  setAttribute(row, "aria-rowindex", i + 2); // after the headings
  setAttribute(row, "data-state", stateOf(worker));
  row.classList.toggle("odd", i % 2 === 1);
  row.style.transform = `translateY(${top}px)`;
  if (row.children.length !== used.length) {
    row.replaceChildren(...used.map((column, c) => element("td", { role: "cell", class: `c-${column.id}`, "aria-colindex": c + 1 },
      element("span"), column.unit ? element("span", { class: "unit" }) : null)));
  }
  used.forEach((column, c) => {
    const cell = row.children[c];
    const value = column.value(worker);
    setText(cell.firstChild, column.text ? column.text(worker) : column.numeric ? whole(value) : value);
    if (column.unit) setText(cell.lastChild, ` ${plural(value, column.unit).split(" ")[1]}`);
    if (column.id === "state") setAttribute(cell, "title", value + reasonOf(worker));
    if (column.id === "name") setAttribute(cell, "title", worker.key ? `${value}, key ${worker.key}` : value);
  });
}

export function startWorkers() {
  let asked = false;
  const soon = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      if (answer) draw();
    });
  };
  byId("workers-scroll").addEventListener("scroll", soon, { passive: true });
  new ResizeObserver(soon).observe(byId("workers-scroll"));
  byId("filter").addEventListener("input", () => {
    byId("workers-scroll").scrollTop = 0;
    arrange();
  });
}
