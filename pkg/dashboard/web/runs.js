// The picker of the server's runs. The chosen run is in the fragment of the address; without one the page
// shows the run on which its server works.

import { get } from "./api.js";
import { byId, element, setText } from "./dom.js";
import { percent as shown } from "./format.js";

// chosen returns the run in the address, or an empty text.
export function chosen() {
  try {
    return decodeURIComponent(location.hash.match(/^#run=(.*)/)?.[1] ?? "");
  } catch {
    return "";
  }
}

// loadRuns asks for the runs, fills the picker, and returns the run that the page is to show.
export async function loadRuns() {
  const { run, runs = [] } = await get("runs");
  const current = chosen() || run || runs[0]?.run || "";
  fillPicker(runs, current);
  return current;
}

function fillPicker(runs, current) {
  const options = runs.map(one => [one.run, describe(one)]);
  if (!options.some(([name]) => name === current)) options.unshift([current, current || "no run yet"]);
  const picker = byId("runs");
  // A list that is open keeps its options where they have only other texts.
  if (picker.dataset.names !== JSON.stringify(options.map(([name]) => name))) {
    picker.dataset.names = JSON.stringify(options.map(([name]) => name));
    picker.replaceChildren(...options.map(([name]) => element("option", { value: name })));
  }
  options.forEach(([, title], i) => setText(picker.options[i], title));
  picker.value = current;
  picker.disabled = options.length < 2;
}

function describe({ run, n, state, at, percent }) {
  const progress = state === "running" && at !== undefined ? ` ${shown(percent / 100, percent >= 100)}` : "";
  return [n ? `n = ${n}` : "", `${state}${progress}`, run].filter(Boolean).join(" · ");
}

// startRuns calls refresh when a person chooses a run, and when the picker is about to be used.
export function startRuns(refresh) {
  byId("runs").addEventListener("change", event => {
    location.hash = `run=${encodeURIComponent(event.target.value)}`;
  });
  byId("runs").addEventListener("focus", refresh);
  addEventListener("hashchange", refresh);
}
