// Building and changing the document. Text from the server reaches it through these functions alone,
// as text, never as markup.

export const byId = id => document.getElementById(id);

// element makes an HTML element with attributes and children, which are nodes or text.
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// drawing makes an SVG element.
export function drawing(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

// setText changes a text only if it differs, so that selections and screen readers are left alone.
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// setDigits shows a number with separators, which may break after each of them.
export function setDigits(node, text) {
  if (node.textContent !== text) node.replaceChildren(...text.split(/(?<=,)/).flatMap(group => [group, element("wbr")]));
}

// setAttribute changes an attribute only if it differs; null removes it.
export function setAttribute(node, name, value) {
  if (value === null) {
    node.removeAttribute(name);
  } else if (node.getAttribute(name) !== String(value)) {
    node.setAttribute(name, value);
  }
}

// setList shows names and texts as a description list: rows of [name, text, {tone, note, digits}], without
// those that have no text. With digits, the text is a long number. It changes what differs, and makes the list anew only if the names do.
export function setList(list, rows) {
  rows = rows.filter(row => row[1] !== undefined && row[1] !== null && row[1] !== "");
  const names = rows.map(row => row[0]).join("\n");
  if (list.dataset.names !== names) {
    list.dataset.names = names;
    list.replaceChildren(...rows.map(row => element("div", {}, element("dt", {}, row[0]), element("dd"), element("dd", { class: "fine" }))));
  }
  rows.forEach(([, text, { tone = null, note = "", digits = false } = {}], i) => {
    const [, value, remark] = list.children[i].children;
    (digits ? setDigits : setText)(value, text);
    setText(remark, note);
    remark.hidden = note === "";
    setAttribute(list.children[i], "data-tone", tone);
    setAttribute(list.children[i], "data-digits", digits ? "" : null);
  });
}
