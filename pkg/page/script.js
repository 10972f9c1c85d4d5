"use strict";
// Fetches the fragment of the page each second, and says when the coordinator does not answer. The server draws everything.

const interval = 1000, timeout = 3000, silentAfter = 4000; // in milliseconds
const said = document.getElementById("said");
const silence = document.getElementById("silence");
let heard = performance.now();

// show replaces what differs, so that a selection, the focus and the place in the table stay where they are.
function show(fresh) {
  const main = document.querySelector("main");
  const parts = [...fresh.children];
  if (parts.map(part => part.id).join() !== [...main.children].map(part => part.id).join()) {
    main.replaceWith(fresh);
  } else {
    const selection = getSelection();
    for (const part of parts) {
      const shown = document.getElementById(part.id);
      const selected = !selection.isCollapsed && selection.containsNode(shown, true);
      if (shown.innerHTML !== part.innerHTML && !selected) shown.replaceChildren(...part.childNodes);
    }
  }
  document.title = fresh.dataset.title;
  if (said.textContent !== fresh.dataset.say) said.textContent = fresh.dataset.say;
}

// look fetches the fragment, and again a second later until the run has ended.
async function look() {
  try {
    const reply = await fetch("fragment", {cache: "no-store", signal: AbortSignal.timeout(timeout)});
    const fresh = new DOMParser().parseFromString(await reply.text(), "text/html").querySelector("main");
    if (reply.ok && fresh) {
      heard = performance.now();
      listen();
      show(fresh);
      if ("ended" in fresh.dataset) return clearInterval(listening);
    }
  } catch (failure) {
    console.debug(failure); // listen says it
  }
  setTimeout(look, interval);
}

// listen says for how long nobody has answered.
function listen() {
  const quiet = performance.now() - heard;
  silence.hidden = quiet < silentAfter || document.hidden;
  document.body.classList.toggle("unheard", !silence.hidden);
  if (!silence.hidden) {
    silence.textContent = `The coordinator has not answered for ${Math.round(quiet / 1000)} s. The numbers are older than that.`;
  }
}

const listening = setInterval(listen, interval);
if (!("ended" in document.querySelector("main").dataset)) look();
else clearInterval(listening);
