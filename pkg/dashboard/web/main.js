// The live page of a run: it follows the run's events, and asks for what is in sight.

import { percent } from "./format.js";
import { Refused, runPath } from "./api.js";
import { addRun, forgetHistory, setHistory, startChart } from "./chart.js";
import { showChecks } from "./checks.js";
import { forgetClasses, showClasses, startClasses } from "./classes.js";
import { byId, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { setLink, setLinkRun, showLink } from "./link.js";
import { Part } from "./part.js";
import { showPrefix } from "./prefix.js";
import { chosen, loadRuns, startRuns } from "./runs.js";
import { showSummary } from "./summary.js";
import { forgetWorkers, showWorkers, startWorkers } from "./workers.js";

const runsEvery = 60_000, retryRuns = 5_000; // milliseconds

let feed = null, name = "", run = null, classes = null, parts = {};

// follow shows another run.
function follow(next) {
  if (next === name && feed) return;
  feed?.close();
  Object.values(parts).forEach(part => part.close());
  [name, run, classes] = [next, null, null];
  for (const id of ["run-panel", "checks-panel", "prefix-panel"]) byId(id).hidden = true;
  forgetHistory();
  forgetWorkers();
  forgetClasses();
  setLinkRun(null);
  parts = {
    workers: new Part(runPath(name, "workers"), byId("workers-anchor"), answer => {
      showWorkers(answer);
      return Math.max(2_000, 2 * answer.workers.length); // thousands take time to send
    }),
    classes: new Part(runPath(name, "classes"), byId("classes-anchor"), answer => {
      classes = answer;
      showClasses(answer);
      if (run) showPrefix(run, classes);
      return 2_000;
    }),
    history: new Part(runPath(name, "history"), null, answer => {
      setHistory(answer.columns);
      return 10_000;
    }),
  };
  feed = new Feed(name, { run: hear, changed: part => parts[part].ask(), link: changeLink });
}

function hear(next) {
  run = next;
  setText(byId("footer"), `nqueens ${run.version ?? ""}`.trim());
  document.title = `${run.total && run.state === "complete" ? "complete" : percent(run.percent / 100, run.percent >= 100)} · n = ${run.n} · nqueens`;
  showSummary(run);
  showChecks(run);
  showPrefix(run, classes);
  if (addRun(run)) parts.history.ask();
  setLinkRun(run);
}

let wasLive = false;

// changeLink asks for everything anew after an interruption, and for the runs when this one has ended.
function changeLink(link) {
  setLink(link);
  const live = link.state === "live";
  if (live && !wasLive) Object.values(parts).forEach(part => part.ask());
  wasLive = live;
  if (link.state === "ended") refreshRuns();
}

// refreshRuns keeps the picker up to date. Where no run was chosen, the page moves on to the next run on
// which its server works.
async function refreshRuns() {
  let next = chosen(), link = { state: "waiting", since: null, reason: "there is no run yet" };
  try {
    next = await loadRuns();
  } catch (error) {
    if (error instanceof Refused && error.status === 401) {
      location.reload(); // the server answers with the form for the token
      return;
    }
    link = { state: "away", since: null };
  }
  if (next) {
    follow(next);
  } else if (!feed) {
    setLink(link);
    setTimeout(refreshRuns, retryRuns);
  }
}

// The address keeps the run, so the skip link must not change it.
document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  byId("content").focus();
});
startChart();
startWorkers();
startClasses();
startRuns(refreshRuns);
setInterval(showLink, 1_000);
setInterval(() => document.hidden || !feed || refreshRuns(), runsEvery);
refreshRuns();
