// What confirms the counts so far: redundancy, checks, disputes, and keys that are quarantined.

import { byId, element, setList } from "./dom.js";
import { plural, share, time, whole } from "./format.js";

export function showChecks(run) {
  const known = run.checks !== undefined || run.redundancy !== undefined ||
    run.open_disputes?.length > 0 || run.quarantined?.length > 0;
  byId("checks-panel").hidden = !known;
  if (!known) return;
  setList(byId("checks"), facts(run));
  showEntries("disputes", run.open_disputes, dispute);
  showEntries("quarantined", run.quarantined, quarantinedKey);
}

function facts(run) {
  const { redundancy, spot_check: spot, checks } = run;
  const rows = [];
  if (redundancy !== undefined) {
    rows.push(["redundancy", redundancy > 1 ? `${plural(redundancy, "key")} must agree on each task` : "one count of each task"]);
  }
  if (spot !== undefined) rows.push(["spot checks", spotChecks(spot)]);
  if (checks !== undefined) {
    rows.push(["counted twice", `${plural(checks.checked, "task")}, ${share(checks.tasks > 0 ? checks.checked / checks.tasks : 0)} of those counted`]);
    rows.push(["disputes", whole(checks.disputes), { tone: checks.disputes > 0 ? "bad" : null }]);
  }
  return rows;
}

function spotChecks({ share: of, bounded }) {
  if (of === 0) return "none";
  return `${Number((100 * of).toPrecision(12))}% of the tasks${bounded ? ", within limits" : ""}`;
}

// showEntries shows a list of which the server sends at most 64, and hides it where there are none.
function showEntries(id, entries = [], entry) {
  byId(`${id}-box`).hidden = entries.length === 0;
  const text = JSON.stringify(entries);
  const list = byId(id);
  if (list.dataset.shown === text) return;
  list.dataset.shown = text;
  list.replaceChildren(...entries.map(entry));
}

function dispute({ task, votes }) {
  return element("li", {},
    element("strong", {}, `✕ task ${whole(task)}`),
    element("span", {}, ` counted ${votes.map(vote => whole(vote.count)).join(" and ")}`),
    element("span", { class: "fine" }, `by ${votes.map(vote => shortKey(vote.key)).join(" and ")}`));
}

// shortKey writes a key so that two are beside each other; the coordinator's own count has none.
const shortKey = key => key === "" ? "the coordinator" : key.length > 16 ? `${key.slice(0, 12)}…${key.slice(-4)}` : key;

function quarantinedKey({ key, worker, reason, at }) {
  return element("li", {},
    element("strong", {}, `✕ ${worker || "a worker without a name"}`),
    element("span", {}, ` ${reason}`),
    element("span", { class: "fine" }, `${key}${at ? `, ${time(at)}` : ""}`));
}
