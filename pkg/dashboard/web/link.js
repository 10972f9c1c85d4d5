// The connection: a word that is always in sight, a sentence where something is wrong, and what is read
// out when it changes.

import { byId, setAttribute, setText } from "./dom.js";
import { clock, time } from "./format.js";

let link = { state: "connecting", since: null };
let run = null;
let announced = "";

export function setLink(next) {
  link = next;
  showLink();
}

export function setLinkRun(next) {
  run = next;
  showLink();
}

// showLink is also called every second, because it says for how long.
export function showLink() {
  const { word, tone, sentence } = describe();
  const pill = byId("link");
  setAttribute(pill, "data-link", tone);
  setText(byId("link-text"), word);
  byId("notice").hidden = sentence === "";
  setText(byId("notice"), sentence);
  setAttribute(byId("notice"), "data-tone", tone);
  setAttribute(document.body, "data-stale", link.state === "live" || link.state === "ended" ? null : "");
  announce();
}

const ends = {
  cancelled: "The run was cancelled.",
  stopped: "The run was stopped. When coordinator resume continues it at this address, this page follows.",
};

function describe() {
  const old = link.since ? `What is shown is from ${time(link.since)}, ${clock((Date.now() - link.since) / 1000)} ago.` : "";
  const since = link.since ? ` since ${time(link.since)}` : "";
  switch (link.state) {
    case "connecting": return { word: "connecting", tone: "wait", sentence: "" };
    case "away":
      if (run?.state === "stopped") return { word: "stopped", tone: "ended", sentence: ends.stopped };
      return { word: `server away${since}`, tone: "bad", sentence: `The server of this page does not answer. ${old} The page reconnects by itself.` };
    case "waiting": return { word: "waiting", tone: "wait", sentence: `The server says: ${link.reason}. The page tries again by itself.` };
    case "refused": return { word: "not served", tone: "bad", sentence: `The server refuses: ${link.reason}. ${old} The page tries again.` };
    case "ended": return { word: "ended", tone: "ended", sentence: ends[run?.state] ?? "" };
  }
  if (run?.status) return { word: "old data", tone: "warn", sentence: run.status };
  if (run && run.state !== "running") return { word: run.state, tone: "ended", sentence: ends[run.state] ?? "" };
  return { word: "live", tone: "live", sentence: "" };
}

// announce reads out changes of the state, never numbers that change each second.
function announce() {
  const parts = [];
  if (link.state === "away") parts.push("The server of this page does not answer.");
  if (link.state === "live" && run?.status) parts.push(run.status);
  if (run && run.state !== "running") parts.push(`The run is ${run.state}.`);
  if (run?.total) parts.push(`${run.total} solutions.`);
  if (run?.disputes > 0) parts.push("Counts contradict each other.");
  if (run?.quarantined?.length > 0) parts.push("Keys are quarantined.");
  if (link.state === "live" && parts.length === 0) parts.push("The page is live.");
  const text = parts.join(" ");
  if (text.replace(/\d/g, "") !== announced.replace(/\d/g, "")) {
    announced = text;
    setText(byId("announce"), text);
  }
}
