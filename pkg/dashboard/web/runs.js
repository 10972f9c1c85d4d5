// The picker of the server's runs. The chosen run is in the fragment of the address; without one the page
// shows the run on which its server works.

import { get } from "./api.js";
import { byId, element } from "./dom.js";

export const chosen = () => {
  try {
    return decodeURIComponent(location.hash.slice(1));
  } catch {
    return "";
  }
};

let shown = "";

// loadRuns asks for the runs, fills the picker, and returns the run that the page is to show.
export async function loadRuns() {
  const { run, runs = [] } = await get("runs");
  const current = chosen() || run || runs[0]?.run || "";
  fillPicker(runs, current);
  return current;
}

function fillPicker(runs, current) {
  const options = runs.map(one => [one.run, describe(one)]);
  if (!options.some(([name]) => name === current)) options.unshift([current, current || "no run"]);
  const picker = byId("runs");
  const text = JSON.stringify(options);
  if (text !== shown) {
    shown = text;
    picker.replaceChildren(...options.map(([name, title]) => element("option", { value: name }, title)));
  }
  picker.value = current;
  picker.disabled = options.length < 2;
}

function describe({ run, n, state, percent }) {
  const progress = state === "running" && percent !== undefined ? ` ${percent.toFixed(1)}%` : "";
  return [n ? `n = ${n}` : "", `${state}${progress}`, run].filter(Boolean).join(" · ");
}

// startRuns calls change with the name of a run that a person chooses, and refresh when the picker is
// about to be used.
export function startRuns(change, refresh) {
  byId("runs").addEventListener("change", event => {
    location.hash = encodeURIComponent(event.target.value);
  });
  byId("runs").addEventListener("focus", refresh);
  addEventListener("hashchange", () => chosen() && change(chosen()));
}
