// The requests to the API: docs/api.md describes it.

// A request that takes longer has failed, in milliseconds: after a sleep, connections may be dead
// without saying so.
const timeout = 15_000;

// Refused is an answer with a status that is not 200.
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// get returns the object at a path below api/v1/. It throws Refused, or another error if there is no answer.
export async function get(path, signal) {
  const signals = [AbortSignal.timeout(timeout), ...(signal ? [signal] : [])];
  const response = await fetch(`api/v1/${path}`, { signal: AbortSignal.any(signals) });
  if (response.ok) return response.json();
  let message = response.statusText;
  try {
    message = (await response.json()).error ?? message;
  } catch {
    // A proxy may answer anything.
  }
  throw new Refused(response.status, String(message));
}

// runPath returns the path of a run below api/v1/, or of something of a run.
export const runPath = (run, part) => `runs/${encodeURIComponent(run)}${part ? `/${part}` : ""}`;
