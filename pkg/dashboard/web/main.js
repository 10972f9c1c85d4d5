// The live page of a run: it follows the run's events, and asks for what is in sight.

import { percent } from "./format.js";
import { addRun, setHistory, startChart } from "./chart.js";
import { showChecks } from "./checks.js";
import { showClasses, startClasses } from "./classes.js";
import { byId, setAttribute, setText } from "./dom.js";
import { Feed } from "./feed.js";
import { setLink, setLinkRun, showLink } from "./link.js";
import { Part } from "./part.js";
import { showPrefix } from "./prefix.js";
import { showSummary } from "./summary.js";
import { showWorkers, startWorkers } from "./workers.js";

const listsEvery = 2_000; // milliseconds

let run = null, classes = null, wasLive = false;

const parts = {
  workers: new Part("/workers", byId("workers-anchor"), answer => {
    showWorkers(answer, run !== null && run.state !== "running");
    return Math.max(listsEvery, 2 * answer.workers.length); // thousands take time to send
  }),
  classes: new Part("/classes", byId("classes-anchor"), answer => {
    classes = answer;
    showClasses(answer);
    if (run) showPrefix(run, classes);
    return listsEvery;
  }),
  history: new Part("/history", null, answer => {
    setHistory(answer.columns);
    return 10_000;
  }),
};

function hear(next) {
  if (run && next.run !== run.run) {
    location.reload(); // another run is counted at this address
    return;
  }
  run = next;
  setText(byId("footer"), `nqueens ${run.version ?? ""}`.trim());
  document.title = `${run.total && run.state === "complete" ? "complete" : percent(run.percent / 100, run.percent >= 100)} · n = ${run.n} · nqueens`;
  setAttribute(byId("content"), "data-over", run.state === "running" ? null : "");
  showSummary(run);
  showChecks(run);
  showPrefix(run, classes);
  setLinkRun(run);
  parts.workers.ask();
  parts.classes.ask();
  if (addRun(run)) parts.history.ask();
}

// changeLink asks for the history again after an interruption.
function changeLink(link) {
  setLink(link);
  const live = link.state === "live";
  if (live && !wasLive) parts.history.ask();
  wasLive = live;
}

startChart();
startWorkers();
startClasses();
setInterval(showLink, 1_000);
new Feed({ run: hear, link: changeLink });
