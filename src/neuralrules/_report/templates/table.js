// Building blocks, and the table of rules.

function filled(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...children); // strings become text nodes
  return node;
}

function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function shape(name, attributes, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

const minus = (text) => text.replace(/-/g, "−");

function shown(value, kind = "number") {
  if (value === null) return "–";
  if (kind === "share") return `${(100 * value).toFixed(1)}\u202f%`;
  if (kind === "degrees") return `${value.toFixed(1)}°`;
  if (kind === "whole") return String(value);
  return shortText(value, 3);
}

function numberSpan(value, kind = "number") {
  const attributes = value === null ? {} : { title: String(value) };
  return element("span", { class: "number", ...attributes }, shown(value, kind));
}

// A bar to the right of a zero line for positive numbers, to the left for others.
function signedBar(value, largest, twoSided = true) {
  const half = twoSided ? 50 : 0;
  const length = largest > 0 ? Math.abs(value) / largest * (100 - half) : 0;
  const bar = shape("rect", {
    class: value < 0 ? "fill negative" : "fill", y: 2, height: 12,
    x: value < 0 ? half - length : half, width: length,
  });
  const zero = shape("line", { class: "zero", x1: half, x2: half, y1: 0, y2: 16 });
  return shape("svg", {
    class: "bar", viewBox: "0 0 100 16", preserveAspectRatio: "none", "aria-hidden": "true",
  }, bar, zero);
}

function barList(items, label) {
  const largest = Math.max(...items.map((item) => Math.abs(item.value)), 0);
  const twoSided = items.some((item) => item.value < 0);
  const list = element("ul", { class: "bar-list", "aria-label": label });
  for (const item of items) {
    list.append(element("li", {},
      element("span", { class: "name", title: item.name }, item.name),
      signedBar(item.value, largest, twoSided),
      numberSpan(item.value, item.kind)));
  }
  return list;
}

const body = $("rules-table").tBodies[0];
const rules = data.rules.map((rule, place) => ({
  ...rule,
  row: body.rows[place],
  words: [rule.text, rule.tree, rule.class || ""].join("\n").toLowerCase(),
}));
const byNumber = new Map(rules.map((rule) => [rule.rule, rule]));
const textColumn = data.keys.indexOf("text");
const classColumn = data.keys.indexOf("class");
const headers = [...document.querySelectorAll("#rules-table thead th")];
const sorting = { column: data.keys.indexOf("importance"), descending: true };

function compareCells(a, b) {
  if (typeof a !== "string") return a - b;
  return a.localeCompare(b, undefined, { numeric: true });
}

// Equal rules keep their order, so that one may sort by one column and then another.
function sortRules(column, descending) {
  Object.assign(sorting, { column, descending });
  rules.sort((a, b) => {
    const [x, y] = [a.cells[column], b.cells[column]];
    if (x === null || y === null) return (x === null) - (y === null); // unknown: last
    return descending ? compareCells(y, x) : compareCells(x, y);
  });
  body.append(...rules.map((rule) => rule.row));
  headers.forEach((header, place) => {
    const order = descending ? "descending" : "ascending";
    header.setAttribute("aria-sort", place === column ? order : "none");
  });
  $("sort-by").value = String(column);
}

// Numbers are looked at from the largest, words and rule numbers from the first.
function firstDescending(column) {
  return ![textColumn, classColumn, data.keys.indexOf("rule")].includes(column);
}

function turnColumn(column) {
  const again = column === sorting.column;
  sortRules(column, again ? !sorting.descending : firstDescending(column));
}

function filterRules() {
  const words = $("filter-text").value.trim().toLowerCase();
  const select = $("filter-class");
  const label = select && select.value !== "" ? model.classes[Number(select.value)] : null;
  let n = 0;
  for (const rule of rules) {
    const fits = rule.words.includes(words) && (label === null || rule.class === label);
    rule.row.hidden = !fits;
    n += Number(fits);
  }
  const total = `${rules.length} ${rules.length === 1 ? "rule" : "rules"}`;
  $("rule-count").textContent = n === rules.length ? total : `${n} of ${total}`;
  $("no-rules").hidden = n > 0;
}

function startTable() {
  headers.forEach((header, place) => {
    header.querySelector("button").addEventListener("click", () => turnColumn(place));
  });
  $("sort-by").addEventListener("change", () => {
    const column = Number($("sort-by").value);
    sortRules(column, firstDescending(column));
  });
  $("sort-turn").addEventListener("click", () => turnColumn(sorting.column));
  $("rule-tools").addEventListener("submit", (event) => event.preventDefault());
  $("filter-text").addEventListener("input", filterRules);
  if ($("filter-class")) $("filter-class").addEventListener("change", filterRules);
  filterRules(); // a browser may keep the words of the last visit
}
