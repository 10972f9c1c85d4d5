// Throughput over time: the rate, the threads on a second axis, and when workers joined and left, by uPlot, with a
// summary and a table that say the same.

import { byId, element, setAttribute, setText } from "./dom.js";
import { mark, plural, rate, time, whole } from "./format.js";

const names = ["time", "rate", "percent", "threads", "workers"];
const maxRows = 2_000; // before the history is asked for again
const tableRows = 24;
const ranges = { "5 min": 300, "1 h": 3_600, all: Infinity }; // seconds

let history = emptyHistory(); // all rows
let shown = emptyHistory(); // those of the chosen range
let range = "all";
let changes = []; // workers that joined or left in the range: {time, joined, left}
let plot = null;
let over = false; // the run has ended

function emptyHistory() { return Object.fromEntries(names.map(name => [name, []])); }

export function setHistory(columns) {
  const length = Math.min(...names.map(name => columns[name]?.length ?? 0));
  history = Object.fromEntries(names.map(name => [name, (columns[name] ?? []).slice(0, length)]));
  show();
}

// addRun adds what a run says now. It reports whether the history has become long.
export function addRun(run) {
  const at = Date.parse(run.at) / 1000;
  over = run.state !== "running";
  if (!(at > (history.time.at(-1) ?? 0)) || over) return false;
  const row = { time: at, rate: run.rate, percent: run.percent, threads: run.threads, workers: run.workers };
  for (const name of names) history[name].push(row[name]);
  show();
  return history.time.length > maxRows;
}

function show() {
  const length = history.time.length;
  byId("chart-panel").hidden = length < 2;
  if (length < 2) return;
  const span = history.time.at(-1) - history.time[0];
  for (const button of byId("ranges").children) {
    const needed = Object.values(ranges)[Object.keys(ranges).indexOf(button.value) - 1] ?? 0; // that of the shorter range
    button.hidden = span <= needed;
    setAttribute(button, "aria-pressed", button.value === range);
  }
  byId("ranges").hidden = span <= ranges["5 min"];
  const begin = Math.min(history.time.findIndex(at => at >= history.time.at(-1) - ranges[range]), length - 2);
  shown = Object.fromEntries(names.map(name => [name, history[name].slice(begin)]));
  changes = fleetChanges(shown);
  if (!plot) build();
  plot.setData([shown.time, shown.rate, shown.threads]);
  setText(byId("chart-summary"), summary());
  if (byId("chart-details").open) showTable();
  if (plot.cursor.idx === null || plot.cursor.idx === undefined) read(shown.time.length - 1);
}

// fleetChanges returns when workers joined and left. Changes that a mark can't tell apart are one.
function fleetChanges({ time: at, workers }) {
  const near = (at.at(-1) - at[0]) / 60, found = [];
  for (let i = 1; i < at.length; i++) {
    const change = Math.round(workers[i]) - Math.round(workers[i - 1]);
    if (change === 0) continue;
    const last = found.at(-1);
    if (!last || at[i] - last.time > near) found.push({ time: at[i], joined: 0, left: 0 });
    found.at(-1)[change > 0 ? "joined" : "left"] += Math.abs(change);
  }
  return found;
}

function summary() {
  const { time: at, rate: rates, threads } = shown;
  const [from, to] = [at[0], at.at(-1)];
  let area = 0, top = 0;
  rates.forEach((value, i) => {
    if (value > rates[top]) top = i;
    if (i > 0) area += (at[i] - at[i - 1]) * (value + rates[i - 1]) / 2;
  });
  const sum = which => changes.reduce((all, change) => all + change[which], 0);
  const [joined, left] = [sum("joined"), sum("left")];
  return `Since ${time(from * 1000)}: ${rate(area / (to - from))} on average, at most ${rate(rates[top])} ` +
    `at ${time(at[top] * 1000)}, ${over ? "at the end" : "now"} ${rate(rates.at(-1))} with ${plural(Math.round(threads.at(-1)), "thread")}.` +
    (joined > 0 ? ` ${plural(joined, "worker")} joined (▲).` : "") + (left > 0 ? ` ${plural(left, "worker")} left (▼).` : "");
}

// read shows the values at an index beside the heading.
function read(i) {
  const parts = [["", time(shown.time[i] * 1000)], ["rate", rate(shown.rate[i])], ["threads", plural(Math.round(shown.threads[i]), "thread")]];
  byId("chart-reading").replaceChildren(...parts.map(([series, text]) => element("span", {},
    series ? element("span", { class: `swatch s-${series}`, "aria-hidden": "true" }) : null, text)));
}

function showTable() {
  const length = shown.time.length, count = Math.min(length, tableRows);
  const picked = Array.from({ length: count }, (_, i) => count === 1 ? 0 : Math.round(i * (length - 1) / (count - 1)));
  byId("chart-rows").replaceChildren(...picked.reverse().map(i => element("tr", {},
    element("td", {}, time(shown.time[i] * 1000)),
    element("td", {}, rate(shown.rate[i])),
    element("td", {}, `${shown.percent[i].toFixed(1)}%`),
    element("td", {}, whole(Math.round(shown.threads[i]))),
    element("td", {}, whole(Math.round(shown.workers[i]))))));
}

function build() {
  const style = getComputedStyle(document.documentElement);
  const color = name => style.getPropertyValue(`--${name}`).trim();
  const font = `12px ${style.fontFamily}`;
  const box = byId("chart");
  const axis = { font, stroke: color("muted"), ticks: { show: false }, grid: { show: false } };
  plot = new uPlot({
    ...size(box),
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 7 } },
    scales: { rate: { range: fromZero }, threads: { range: fromZero } },
    series: [
      {},
      { scale: "rate", stroke: color("rate"), fill: color("rate-fill"), width: 2, points: { show: false } },
      { scale: "threads", stroke: color("threads"), width: 1.5, dash: [5, 4], points: { show: false }, paths: uPlot.paths.stepped({ align: 1 }) },
    ],
    axes: [
      { ...axis, size: 30, space: 90, values: (_, splits, __, ___, increment) => splits.map(at => tick(at, increment)) },
      { ...axis, scale: "rate", size: 62, grid: { show: true, stroke: color("line"), width: 1 }, values: (_, splits) => splits.map(mark) },
      { ...axis, scale: "threads", side: 1, size: 56, values: (_, splits) => splits.map(value => Number.isInteger(value) ? mark(value) : "") },
    ],
    hooks: {
      setCursor: [self => read(self.cursor.idx ?? shown.time.length - 1)],
      draw: [self => drawChanges(self, color("good"), color("bad"))],
    },
  }, [shown.time, shown.rate, shown.threads], box);
}

// drawChanges marks on the time axis when workers joined and left.
function drawChanges(self, joins, leaves) {
  const { ctx, bbox } = self, unit = devicePixelRatio * 4.5;
  const triangle = (x, y, height, fill) => {
    ctx.fillStyle = fill;
    ctx.beginPath();
    ctx.moveTo(x - unit, y);
    ctx.lineTo(x + unit, y);
    ctx.lineTo(x, y - height);
    ctx.fill();
  };
  ctx.save();
  for (const change of changes) {
    const x = self.valToPos(change.time, "x", true), bottom = bbox.top + bbox.height;
    if (change.joined > 0) triangle(x, bottom, 2 * unit, joins);
    if (change.left > 0) triangle(x, bbox.top, -2 * unit, leaves);
  }
  ctx.restore();
}

const fromZero = (_, __, max) => [0, max > 0 ? max * 1.12 : 1];

const size = box => ({ width: Math.max(200, box.clientWidth), height: box.clientWidth < 560 ? 170 : 250 });

// tick writes a time on the axis: with seconds, or with the date, where marks are that close or far.
function tick(at, increment) {
  const text = time(at * 1000, new Date(at * 1000));
  if (increment < 60) return text;
  if (increment < 86_400) return text.slice(0, 5);
  return new Date(at * 1000).toLocaleDateString(undefined, { month: "short", day: "numeric" });
}

export function startChart() {
  new ResizeObserver(() => plot?.setSize(size(byId("chart")))).observe(byId("chart"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    plot?.destroy();
    plot = null;
    show();
  });
  byId("chart-details").addEventListener("toggle", showTable);
  byId("ranges").append(...Object.keys(ranges).map(name => element("button", { type: "button", value: name }, name)));
  byId("ranges").addEventListener("click", event => {
    if (!(event.target.value in ranges)) return;
    range = event.target.value;
    show();
  });
}
