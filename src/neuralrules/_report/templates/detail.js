// The detail of a rule, built when it is opened.

const detail = $("detail");
let opened = null;

function section(title, ...children) {
  return element("section", {}, element("h3", {}, title), ...children);
}

function factsOf(rule) {
  const list = element("dl", { class: "facts small" });
  const add = (name, value, kind) => list.append(
    element("div", {}, element("dt", {}, name), element("dd", {}, numberSpan(value, kind))));
  if (nOutputs === 1) add("value", rule.values[0], "number");
  for (const [name, kind, value] of rule.facts) add(name, value, kind);
  return list;
}

function fullTextOf(rule) {
  const { conditions, literals, cap, everywhere } = fullText(rule.rule);
  const lines = (texts) => element("ol", { class: "formulas" }, ...texts.map(
    (text) => element("li", {}, element("p", { class: "formula" }, text))));
  const parts = [lines(conditions)];
  if (literals.length) {
    parts.push(element("p", { class: "note" }, "where X⁺ is X above 0 and 0 below it, and"));
    parts.push(lines(literals));
  }
  parts[0].id = "detail-conditions";
  if (cap !== null) {
    const size = numberText(cap, FULL);
    parts.push(element("p", { class: "note" },
      everywhere ? `Its activation is ${size} on every row.` : `Its activation is at most ${size}.`));
  }
  return parts;
}

function rowCount(value) {
  const digits = Number.isInteger(value) ? 0 : 1;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

// Two bars over one axis: the leaf's rows and the rule's; what they share is aligned.
function overlapOf(rule) {
  const both = rule.bothRows;
  const [left, lost] = [rule.leafRows - both, rule.rows - both];
  const total = left + both + lost || 1;
  const at = (rows) => rows / total * 100;
  const picture = shape("svg", {
    class: "overlap", viewBox: "0 0 100 40", preserveAspectRatio: "none", role: "img",
    "aria-label": `Rows of the leaf: ${rowCount(rule.leafRows)}; of the rule: `
      + `${rowCount(rule.rows)}; of both: ${rowCount(both)}`,
  },
  shape("rect", { class: "leaf", x: 0, y: 2, width: at(left + both), height: 15 }),
  shape("rect", { class: "now", x: at(left), y: 23, width: at(both + lost), height: 15 }),
  shape("rect", { class: "shared", x: at(left), y: 0, width: at(both), height: 40 }));
  const key = (name, text) => element("li", { class: name }, text);
  const [overlap, angle] = ["overlap", "angle"].map((key) => rule.cells[data.keys.indexOf(key)]);
  return element("div", { class: "overlap-box" },
    element("p", {}, "Of the rows in the leaf or in the rule, ",
      element("b", { id: "detail-overlap" }, shown(overlap, "share")), " are in both. ",
      "Largest turn of a literal: ", element("b", { id: "detail-angle" }, shown(angle, "degrees")), "."),
    picture,
    element("ul", { class: "key" },
      key("leaf", `tree leaf: ${rowCount(rule.leafRows)} rows`),
      key("now", `rule now: ${rowCount(rule.rows)} rows`),
      key("shared", `both: ${rowCount(both)} rows`)));
}

const DRAWN = 8; // weights drawn of one literal

function literalOf(literal, place, angle) {
  const items = Array.from(weightsOf(literal), (value, i) => ({ name: model.features[i].label, value }))
    .filter((item) => item.value !== 0)
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const box = element("div", { class: "literal" },
    element("h4", {}, `Literal ${letter(place)}`,
      element("span", { class: "angle" }, angle === null ? "" : ` turned by ${shown(angle, "degrees")}`)));
  if (!items.length) box.append(element("p", { class: "note" }, "looks at no column"));
  else box.append(barList(items.slice(0, DRAWN), `Weights of literal ${letter(place)}`));
  if (items.length > DRAWN) {
    const rest = items.length - DRAWN;
    box.append(element("p", { class: "note" }, `and ${rest} smaller ${rest === 1 ? "weight" : "weights"}`));
  }
  return box;
}

function detailOf(rule) {
  const values = nOutputs === 1 ? [] : [section(
    model.task === "classes" ? "Value for each class" : "Value for each target",
    barList(model.outputs.map((name, k) => ({ name, value: rule.values[k] })), "Values"))];
  return [
    element("p", { class: "says", id: "detail-text" }, rule.text),
    factsOf(rule),
    section("Grew from the tree rule", element("p", { class: "formula", id: "detail-tree" }, rule.tree)),
    section("What training changed", overlapOf(rule)),
    ...values,
    section("In full: it fires where", ...fullTextOf(rule)),
    section("Weights of its literals",
      element("p", { class: "note" }, "For one standard deviation of each column. The angle is that between the literal and its tree split."),
      element("div", { class: "literals", id: "detail-literals" },
        ...ownLiterals(rule.rule).map((literal, j) => literalOf(literal, j, rule.angles[j])))),
  ];
}

function fillDetail(rule) {
  opened = rule;
  const about = rule.class === null ? "" : `, class ${rule.class}`;
  $("detail-title").textContent = `Rule ${rule.rule}${about}`;
  $("detail-body").replaceChildren(...detailOf(rule));
  $("detail-body").scrollTop = 0;
  const seen = visibleRules();
  const place = seen.indexOf(rule);
  $("detail-previous").disabled = place <= 0;
  $("detail-next").disabled = place < 0 || place >= seen.length - 1;
}

function visibleRules() {
  return rules.filter((rule) => !rule.row.hidden);
}

function stepDetail(step) {
  const seen = visibleRules();
  const next = seen[seen.indexOf(opened) + step];
  if (next) fillDetail(next);
  // A button that has just been disabled loses the focus to nowhere.
  if (document.activeElement === document.body || document.activeElement.disabled) {
    $("detail-title").focus();
  }
}

function startDetail() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-open]");
    if (!button) return;
    fillDetail(byNumber.get(Number(button.dataset.open)));
    detail.showModal(); // keeps the focus inside, and gives it back on closing
    $("detail-title").focus();
  });
  $("detail-close").addEventListener("click", () => detail.close());
  $("detail-previous").addEventListener("click", () => stepDetail(-1));
  $("detail-next").addEventListener("click", () => stepDetail(1));
  // A click beside the dialog falls on its backdrop, which is the dialog itself.
  detail.addEventListener("click", (event) => {
    if (event.target === detail) detail.close();
  });
}
