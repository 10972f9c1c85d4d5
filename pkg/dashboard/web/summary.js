// The run itself: what is counted, how far it is, how fast, and the total.

import { solution as drawSolution } from "./boards.js";
import { byId, element, setAttribute, setDigits, setList, setText } from "./dom.js";
import { clock, percent, plural, rate, remaining, whole } from "./format.js";

// What limits the rate of a run, and what that means.
const bottlenecks = {
  search: ["the search", "More threads make it faster."],
  messages: ["messages", "They take the server's time."],
  ledger: ["the ledger", "Results wait for its disk."],
  window: ["the window", "Fewer chunks are in flight than threads."],
  tail: ["the tail", "Threads wait for the last tasks of others."],
};

const stateNames = {
  done: "done", in_flight: "in flight", waiting: "waiting", disputed: "disputed", dead_lettered: "dead-lettered",
};

export function showSummary(run) {
  byId("run-panel").hidden = false;
  setText(byId("board-size"), `n = ${run.n}`);
  setText(byId("subtitle"), subtitle(run));
  setText(byId("state"), run.state);
  setAttribute(byId("state"), "data-tone", tones[run.state] ?? null);
  showTotal(run);
  showSolution(run);
  showProgress(run);
  showStates(run);
  setList(byId("figures"), figures(run));
}

const tones = { complete: "good", contradicted: "bad", stopped: "warn", cancelled: "warn" };

function subtitle(run) {
  const parts = [run.run];
  if (run.symmetry) parts.unshift(`${run.symmetry === "none" ? "no" : run.symmetry} symmetry`);
  const placed = run.placed ?? [];
  if (placed.length > 0) {
    const squares = placed.slice(0, 8).map(square => square.join(",")).join(" ");
    parts.push(`${plural(placed.length, "queen")} placed on ${squares}${placed.length > 8 ? " …" : ""}`);
  }
  return parts.join(" · ");
}

function showTotal(run) {
  const contradicted = run.state === "contradicted" || run.known === "mismatch";
  const shown = run.total !== null && run.total !== undefined && !contradicted;
  byId("total-box").hidden = !shown && !contradicted;
  if (contradicted) {
    setText(byId("total-label"), "no total");
    setText(byId("total"), "—");
    verdict("bad", run.known === "mismatch"
      ? "✕ The sum contradicts the published total. Check the ledger with coordinator verify."
      : "✕ The counts contradict each other or the published total, so there is no total. Check the ledger with coordinator verify.");
  } else if (shown) {
    setText(byId("total-label"), run.total === "1" ? "solution" : "solutions");
    setDigits(byId("total"), whole(run.total));
    verdict(...confirmation(run));
  }
}

function showSolution({ n, solution }) {
  byId("solution").hidden = solution === undefined;
  if (solution === undefined || byId("solution-board").hasChildNodes()) return;
  byId("solution-board").append(drawSolution(n, solution, `${plural(n, "queen")}, none of which attacks another: ` +
    `on columns ${solution.join(", ")} of the rows from the top, counted from 0`));
}

function verdict(tone, text) {
  setText(byId("confirmed"), text);
  setAttribute(byId("confirmed"), "data-tone", tone);
}

// confirmation says what confirms the total, as the summary on the terminal does.
function confirmation(run) {
  const by = run.confirmed_by ?? {};
  const disputes = plural(by.disputes ?? 0, "dispute");
  switch (run.confirmed) {
    case "published": return ["good", "✓ confirmed by the published total (OEIS A000170)"];
    case "redundant": return ["good", `✓ confirmed: each task by ${plural(by.keys, "key")}, ${disputes}`];
    case "sampled": return by.checked === by.tasks ? ["good", `✓ confirmed: each task twice, also by the coordinator, ${disputes}`] :
      ["warn", `◐ confirmed by a sample: ${whole(by.checked)} of ${plural(by.tasks, "task")}, ${disputes}; a rare wrong count may be unseen`];
  }
  const why = by.unadmitted > 0 ? `; ${plural(by.unadmitted, "task")} counted by unadmitted keys` : "";
  return ["warn", `○ not independently confirmed${why}`];
}

function showProgress(run) {
  const done = run.percent >= 100;
  const text = percent(run.percent / 100, done);
  setText(byId("percent"), text);
  setText(byId("eta"), timeToGo(run, done));
  const bar = byId("bar");
  setAttribute(bar, "aria-valuenow", parseFloat(text));
  setAttribute(bar, "aria-valuetext", `${text}, ${whole(run.done)} of ${plural(run.tasks, "task")}`);
  setAttribute(bar, "data-tone", tones[run.state] ?? null);
  byId("bar-done").style.width = `${run.percent}%`;
}

function timeToGo(run, done) {
  if (done || run.state !== "running") return "";
  if (run.eta_most_s === undefined) return "estimating the time to go";
  return `${remaining(run.eta_least_s, run.eta_most_s)} left`;
}

// showStates says how many tasks are in each state. Unusual states are shown only if tasks are in them.
function showStates(run) {
  const items = [["done", `${whole(run.done)} of ${plural(run.tasks, "task")} done`]];
  for (const state of ["in_flight", "waiting", "disputed", "dead_lettered"]) {
    const tasks = run.states?.[state];
    const usual = state === "in_flight" || state === "waiting";
    if (tasks === undefined || (tasks === 0 && (!usual || run.state !== "running"))) continue;
    items.push([state, `${whole(tasks)} ${stateNames[state]}`]);
  }
  if (run.republished > 0) items.push(["repeated", `${whole(run.republished)} republished`]);
  if (run.disputes > 0 && run.checks === undefined) items.push(["disputed", plural(run.disputes, "dispute")]);
  const list = byId("states");
  const names = items.map(([state]) => state).join(" ");
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...items.map(([state]) => element("li", {},
      element("span", { class: `swatch ${state}`, "aria-hidden": "true" }), element("span"))));
  }
  items.forEach(([, text], i) => setText(list.children[i].lastChild, text));
}

function figures(run) {
  const over = run.state !== "running";
  const found = run.total === null || run.total === undefined;
  const [limit, meaning] = bottlenecks[run.bottleneck] ?? [run.bottleneck, ""];
  return [
    ["solutions so far", found && run.state !== "contradicted" ? whole(run.solutions ?? "0") : "", { digits: true }],
    [over ? "last rate" : "rate", over && !(run.rate > 0) ? "" : rate(run.rate)],
    ["elapsed", clock(run.elapsed_s)],
    ["workers", whole(run.workers), { note: !over && run.paused_workers > 0 ? `${whole(run.paused_workers)} paused` : "" }],
    ["threads", whole(run.threads), { note: !over && run.idle_threads > 0 ? `${whole(run.idle_threads)} idle` : "" }],
    ["bottleneck", over ? "" : limit, { note: meaning }],
    ["shares its workers with", (run.sharing ?? []).join(", ")],
  ];
}
