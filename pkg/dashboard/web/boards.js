// Drawings of boards as SVG, one unit a square. Colors come from the style sheet, so that they follow the
// color scheme. A mask has bit c set for column c; row 0 is the top row.

import { drawing } from "./dom.js";

// A queen in a square of side 1, from its upper left corner: a crown, a base, and a ball on each point.
const ball = "a.05.05 0 1 0 .1 0a.05.05 0 1 0-.1 0z";
const queen = "m.26.68l-.11-.34.21.16.14-.26.14.26.21-.16-.11.34zm0 .06h.48v.08h-.48z" +
  `m-.16-.45${ball}m.35-.1${ball}m.35.1${ball}`;

const has = (mask, column) => (mask >>> column & 1) === 1;

// squares returns the path of the squares of side n for which holds(row, column) is true, by runs.
function squares(n, holds) {
  let path = "";
  for (let row = 0; row < n; row++) {
    for (let column = 0; column < n; column++) {
      if (!holds(row, column)) continue;
      const from = column;
      while (column + 1 < n && holds(row, column + 1)) column++;
      path += `M${from} ${row}h${column + 1 - from}v1h${from - column - 1}z`;
    }
  }
  return path;
}

const single = mask => mask !== 0 && (mask & (mask - 1)) === 0;
const columnOf = mask => 31 - Math.clz32(mask);

const queens = placed => placed.map(([row, column]) => `M${column} ${row}${queen}`).join("");

function grid(n) {
  let path = "";
  for (let i = 1; i < n; i++) path += `M${i} 0v${n}M0 ${i}h${n}`;
  return drawing("path", { class: "sq-grid", d: path });
}

function board(n, title, ...parts) {
  const label = title ? { role: "img", "aria-label": title } : { "aria-hidden": "true" };
  return drawing("svg", { viewBox: `0 0 ${n} ${n}`, class: "board", ...label }, ...parts);
}

// smallClass draws the allowed squares of a class, for the map.
export function smallClass(n, allow) {
  return board(n, "",
    drawing("rect", { class: "sq-closed", width: n, height: n }),
    drawing("path", { class: "sq-free", d: squares(n, (row, column) => has(allow[row], column)) }),
    drawing("path", { class: "sq-only", d: squares(n, (row, column) => single(allow[row]) && has(allow[row], column)) }));
}

// largeClass draws a class with its grid, and a queen where a row allows one square alone.
export function largeClass(n, allow, title) {
  const only = allow.flatMap((mask, row) => single(mask) ? [[row, columnOf(mask)]] : []);
  return board(n, title,
    drawing("rect", { class: "sq-closed", width: n, height: n }),
    drawing("path", { class: "sq-free", d: squares(n, (row, column) => has(allow[row], column)) }),
    grid(n), drawing("path", { class: "sq-queen", d: queens(only) }));
}

// prefix draws the queens of a prefix, and in the rows below the squares that they attack. allow has the
// squares of the class; without it, all are allowed.
export function prefix(n, { row: first, queens: columns, cols, left, right }, allow, title) {
  const below = (row, holds) => row >= first && holds;
  const attacked = (row, column) => {
    const distance = row - first;
    return has(cols, column) || has(left << distance, column) || has(right >>> distance, column);
  };
  const closed = (row, column) => allow !== undefined && !has(allow[row], column);
  return board(n, title,
    drawing("rect", { class: "sq-free", width: n, height: n }),
    drawing("rect", { class: "sq-placed", width: n, height: first }),
    drawing("path", { class: "sq-closed", d: squares(n, (row, column) => below(row, closed(row, column))) }),
    drawing("path", { class: "sq-attacked", d: squares(n, (row, column) => below(row, !closed(row, column) && attacked(row, column))) }),
    grid(n),
    drawing("path", { class: "sq-edge", d: `M0 ${first}h${n}` }),
    drawing("path", { class: "sq-queen", d: queens(columns.map((column, row) => [row, column])) }));
}

// solution draws a board with a queen on each row.
export function solution(n, columns, title) {
  return board(n, title,
    drawing("rect", { class: "sq-placed", width: n, height: n }),
    drawing("path", { class: "sq-dark", d: squares(n, (row, column) => (row + column + n) % 2 === 0) }),
    drawing("path", { class: "sq-queen", d: queens(columns.map((column, row) => [row, column])) }));
}
