// Throughput over time: the rate, and the threads on a second axis, by uPlot, with a summary and a table
// that say the same.

import { byId, element, setText } from "./dom.js";
import { mark, plural, rate, time, whole } from "./format.js";

const names = ["time", "rate", "percent", "threads", "workers"];
const maxRows = 2_000; // before the history is asked for anew, in which neighbours are merged
const tableRows = 24;

let history = emptyHistory();
let plot = null;

function emptyHistory() { return Object.fromEntries(names.map(name => [name, []])); }

export function setHistory(columns) {
  const length = Math.min(...names.map(name => columns[name]?.length ?? 0));
  history = Object.fromEntries(names.map(name => [name, (columns[name] ?? []).slice(0, length)]));
  show();
}

export function forgetHistory() {
  history = emptyHistory();
  byId("chart-panel").hidden = true;
}

// addRun adds what a run says now. It reports whether the history has become long.
export function addRun(run) {
  const at = Date.parse(run.at) / 1000;
  if (!(at > (history.time.at(-1) ?? 0)) || run.state !== "running") return false;
  const row = { time: at, rate: run.rate, percent: run.percent, threads: run.threads, workers: run.workers };
  for (const name of names) history[name].push(row[name]);
  show();
  return history.time.length > maxRows;
}

function show() {
  byId("chart-panel").hidden = history.time.length < 2;
  if (history.time.length < 2) return;
  if (!plot) build();
  plot.setData([history.time, history.rate, history.threads]);
  setText(byId("chart-summary"), summary());
  if (byId("chart-details").open) showTable();
  if (plot.cursor.idx === null || plot.cursor.idx === undefined) read(history.time.length - 1);
}

function summary() {
  const { time: at, rate: rates, threads } = history;
  const [from, to] = [at[0], at.at(-1)];
  let area = 0, top = 0;
  rates.forEach((value, i) => {
    if (value > rates[top]) top = i;
    if (i > 0) area += (at[i] - at[i - 1]) * (value + rates[i - 1]) / 2;
  });
  return `Since ${time(from * 1000)}: ${rate(area / (to - from))} on average, at most ${rate(rates[top])} ` +
    `at ${time(at[top] * 1000)}, now ${rate(rates.at(-1))} with ${plural(threads.at(-1), "thread")}.`;
}

// read shows the values at an index beside the heading.
function read(i) {
  const parts = [["", time(history.time[i] * 1000)], ["rate", rate(history.rate[i])], ["threads", plural(history.threads[i], "thread")]];
  byId("chart-reading").replaceChildren(...parts.map(([series, text]) => element("span", {},
    series ? element("span", { class: `swatch s-${series}`, "aria-hidden": "true" }) : null, text)));
}

function showTable() {
  const length = history.time.length, count = Math.min(length, tableRows);
  const picked = Array.from({ length: count }, (_, i) => count === 1 ? 0 : Math.round(i * (length - 1) / (count - 1)));
  byId("chart-rows").replaceChildren(...picked.reverse().map(i => element("tr", {},
    element("td", {}, time(history.time[i] * 1000)),
    element("td", {}, rate(history.rate[i])),
    element("td", {}, `${history.percent[i].toFixed(1)}%`),
    element("td", {}, whole(history.threads[i])),
    element("td", {}, whole(history.workers[i])))));
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
    hooks: { setCursor: [self => read(self.cursor.idx ?? history.time.length - 1)] },
  }, [history.time, history.rate, history.threads], box);
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
}
