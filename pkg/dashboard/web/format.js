// Numbers, times and shares as package humanize writes them on the terminal.

const minute = 60, hour = 60 * minute, day = 24 * hour, year = 365 * day;

// whole writes a whole number, or its digits as text, with thousands separators.
export const whole = number => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

// plural writes a number with a regular noun: 1 worker, 2 workers.
export const plural = (number, noun) => `${whole(number)} ${noun}${Number(number) === 1 ? "" : "s"}`;

// rate writes a number per second with three digits: 206 M/s.
export function rate(perSecond) {
  if (!(perSecond > 0)) return "0 /s";
  if (perSecond >= 999.5e18) return "> 1000 E/s";
  const prefixes = ["", "k", "M", "G", "T", "P", "E"];
  let i = 0;
  for (; perSecond >= 999.5 && i < prefixes.length - 1; i++) perSecond /= 1000;
  return `${threeDigits(perSecond)} ${prefixes[i]}/s`;
}

const threeDigits = x => x.toFixed(x < 9.995 ? 2 : x < 99.95 ? 1 : 0);

// mark writes a number on an axis: 2.5 G, 150 k, 400.
export const mark = number => rate(number).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ").replace(/ ?\/s$/, "");

// percent writes a share with one decimal, rounded down: 100.0% only if all is done.
export function percent(share, done) {
  if (done) return "100.0%";
  return `${Math.min(share > 0 ? Math.floor(share * 1000) / 10 : 0, 99.9).toFixed(1)}%`;
}

// share writes a share of which only 0 looks like 0, and only 1 like all.
export function share(of) {
  const text = percent(of, of >= 1);
  return text === "0.0%" && of > 0 ? `${Number((100 * of).toPrecision(1))}%` : text;
}

// clock writes a time in seconds, rounded down to one or two units: 19s, 4m12s, 3h, 12d4h.
export function clock(seconds) {
  seconds = Math.floor(Math.max(0, seconds));
  if (seconds < minute) return `${seconds}s`;
  if (seconds < hour) return twoUnits(seconds, minute, "m", 1, "s");
  if (seconds < day) return twoUnits(seconds, hour, "h", minute, "m");
  if (seconds < 100 * day) return twoUnits(seconds, day, "d", hour, "h");
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  return `${Math.floor(seconds / year)}y`;
}

function twoUnits(seconds, large, largeName, small, smallName) {
  const rest = Math.floor(seconds % large / small);
  return `${Math.floor(seconds / large)}${largeName}${rest > 0 ? rest + smallName : ""}`;
}

// remaining writes the time to go: 4m10s to 5m. Both ends are rounded outwards to a step that grows
// with the time.
export function remaining(least, most) {
  let low = Math.max(0, least), high = Math.max(low, most);
  low -= low % step(low);
  high = Math.ceil(high / step(high)) * step(high);
  if (high < 1) return "0s";
  if (low === 0) return `up to ${clock(high)}`;
  return clock(low) === clock(high) ? clock(low) : `${clock(low)} to ${clock(high)}`;
}

const steps = [
  [10, 1], [minute, 5], [5 * minute, 10], [15 * minute, 30], [30 * minute, minute], [2 * hour, 5 * minute],
  [5 * hour, 10 * minute], [15 * hour, 30 * minute], [30 * hour, hour], [90 * hour, 3 * hour],
  [30 * day, day], [100 * day, 5 * day], [2 * year, 25 * day],
];

const step = seconds => (steps.find(([below]) => seconds < below) ?? [0, year])[1];

// time writes a time of day, with the date unless it is today. It takes a Date or RFC 3339.
export function time(at, now = new Date()) {
  const date = new Date(at);
  if (Number.isNaN(date.getTime())) return "?";
  const two = number => String(number).padStart(2, "0");
  const ofDay = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  if (date.toDateString() === now.toDateString()) return ofDay;
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${ofDay}`;
}
