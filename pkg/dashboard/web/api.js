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

// get returns the object of the run, or of a part of it: "/workers". It throws Refused, or another error if there is no
// answer.
export async function get(part) {
  const response = await fetch(`api/v1/run${part}`, { signal: AbortSignal.timeout(timeout) });
  if (response.ok) return response.json();
  let message = response.statusText;
  try {
    message = (await response.json()).error ?? message;
  } catch {
    // A proxy may answer anything.
  }
  throw new Refused(response.status, String(message));
}
