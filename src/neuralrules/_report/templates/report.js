"use strict";
// Names, categories and labels are other people's: they reach the page through
// textContent and setAttribute only, never as markup.
(() => {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const $ = (id) => document.getElementById(id);

  // ---- The model ------------------------------------------------------------------

  function floats(code) {
    const bytes = Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0));
    return new Float32Array(bytes.buffer); // little-endian, as all browsers' machines
  }

  const model = data.model;
  for (const name of ["weights", "biases", "values", "mixing", "shifts"]) {
    model[name] = floats(model[name]);
  }
  const nRules = model.offsets.length - 1;
  const nOutputs = model.intercept.length;

  // A row holds, for each input, a number, null for a missing number, or an option.
  function rawCell(feature, cell) {
    if (feature.kind === "number") return cell;
    if (feature.kind === "missing") return cell === null ? 1 : 0;
    return cell === feature.option ? 1 : 0;
  }

  function encodedNumber(feature, raw) {
    if (feature.knots === null) return (raw - feature.mean) / feature.scale;
    return onLine(feature.knots.x, feature.knots.z, raw);
  }

  // The line through the points (x, z), flat outside of them.
  function onLine(x, z, value) {
    if (value >= x[x.length - 1]) return z[z.length - 1];
    const inside = Math.max(x[0], value);
    const k = segment(x, inside);
    const share = (inside - x[k]) / (x[k + 1] - x[k]);
    return Math.min(z[k] + (z[k + 1] - z[k]) * share, z[k + 1]);
  }

  function segment(x, value) {
    return x.slice(1, -1).filter((start) => start <= value).length;
  }

  function encode(row) {
    const encoded = new Float32Array(model.nFeatures);
    for (let i = 0; i < model.nFeatures; i++) {
      const feature = model.features[i];
      const raw = rawCell(feature, row[feature.column]);
      // A missing number takes the mean, which is 0 here. Like the encoder, standardise
      // in double precision; the array rounds to the float32 that the network was
      // trained on.
      const scaled = raw === null ? 0 : encodedNumber(feature, raw);
      encoded[i] = Math.max(-model.largest, Math.min(model.largest, scaled));
    }
    return encoded;
  }

  function literalValue(literal, encoded) {
    let sum = model.biases[literal];
    const start = literal * model.nFeatures;
    for (let i = 0; i < model.nFeatures; i++) sum += model.weights[start + i] * encoded[i];
    return sum;
  }

  // Where each deep rule's square matrix starts.
  const mixingStarts = [0];
  for (let rule = 0; rule < nRules; rule++) {
    const n = model.offsets[rule + 1] - model.offsets[rule];
    mixingStarts.push(mixingStarts[rule] + n * n);
  }

  function secondLayer(rule, literals) {
    const first = model.offsets[rule];
    return literals.map((_, unit) => {
      let sum = model.shifts[first + unit];
      const start = mixingStarts[rule] + unit * literals.length;
      literals.forEach((value, j) => { sum += model.mixing[start + j] * Math.max(value, 0); });
      return sum;
    });
  }

  function activation(rule, encoded) {
    let units = [];
    for (let literal = model.offsets[rule]; literal < model.offsets[rule + 1]; literal++) {
      const value = literalValue(literal, encoded);
      // A shallow rule is off as soon as one literal is.
      if (!model.deep && value <= 0) return 0;
      units.push(value);
    }
    if (model.deep) units = secondLayer(rule, units);
    return Math.max(Math.min(...units), 0);
  }

  function ruleValues(rule) {
    return Array.from(model.values.subarray(rule * nOutputs, (rule + 1) * nOutputs));
  }

  function decide(row) {
    const encoded = encode(row);
    const decision = new Array(nOutputs).fill(0);
    const fired = [];
    for (let rule = 0; rule < nRules; rule++) {
      const strength = activation(rule, encoded);
      if (!(strength > 0)) continue;
      const contributions = ruleValues(rule).map((value) => value * strength);
      contributions.forEach((part, k) => { decision[k] += part; });
      fired.push({ rule, activation: strength, contributions });
    }
    model.intercept.forEach((part, k) => { decision[k] += part; });
    return { decision, fired, ...prediction(decision) };
  }

  function prediction(decision) {
    if (model.task === "numbers") {
      return { chosen: 0, probabilities: null, numbers: decision.map(linked) };
    }
    const two = decision.length === 1;
    const chosen = two ? Number(decision[0] > 0) : decision.indexOf(Math.max(...decision));
    if (!model.probabilities) return { chosen, probabilities: null };
    if (two) {
      const positive = 1 / (1 + Math.exp(-decision[0]));
      return { chosen, probabilities: [1 - positive, positive] };
    }
    const top = Math.max(...decision); // or the exponentials could overflow
    const powers = decision.map((value) => Math.exp(value - top));
    const total = powers.reduce((a, b) => a + b, 0);
    return { chosen, probabilities: powers.map((power) => power / total) };
  }

  function linked(output) {
    if (model.link === null) return output;
    return Math[model.link](Math.max(-model.largestOutput, Math.min(model.largestOutput, output)));
  }

  // ---- Numbers and rules as text, as _text.py and _literals.py do -----------------

  function numberText(value, asked) {
    const size = Math.abs(value);
    const digits = Math.min(asked, 17); // a number has no more
    const largest = Math.min(10 ** (digits + 6), 1e15);
    if (value === 0 || !(size >= 1e-4 && size < largest)) return powerText(value, digits);
    const decimals = Math.max(digits - 1 - Math.floor(Math.log10(size)), 0);
    const text = value.toFixed(decimals);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  // Python's "g" format for numbers that are very small or very large.
  function powerText(value, digits) {
    if (value === 0) return "0";
    const [mantissa, power] = value.toExponential(digits - 1).split("e");
    const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
    return `${short}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }

  // As _numbers.py: 53.45G, not 53451325253.
  function shortText(value, digits) {
    const rounded = Number(value.toPrecision(digits)); // or 999999.9 would be 1000k
    const size = Math.abs(rounded);
    if (!(size >= 1e5)) return minus(numberText(value, digits));
    if (size >= 1e12) return minus(powerText(rounded, digits));
    const [unit, letter] = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([least]) => size >= least);
    return minus(numberText(rounded / unit, digits)) + letter;
  }

  // As many digits as tell apart parts of a column's deviation.
  function resolvedText(value, scale, digits) {
    if (value === 0) return "0";
    const ratio = Math.abs(value) / scale;
    return numberText(value, digits + (ratio > 1 ? Math.ceil(Math.log10(ratio)) : 0));
  }

  const DAY = 864e5; // in milliseconds

  // As original_text in _literals.py: days since 1970-01-01 as a date, with its time if days are
  // near each other.
  function dateText(days, unit, rises) {
    const whole = rises ? Math.floor(days) : Math.ceil(days);
    const moment = new Date(Math.round((unit > 3 ? whole : days) * 86400) * 1000);
    if (Number.isNaN(moment.getTime())) return `${days.toFixed(0)} days since 1970-01-01`;
    return moment.toISOString().slice(0, 19).replace("T", " ").replace(/:00$/, "").replace(/ 00:00$/, "");
  }

  // Terms of a literal in the user's units; a missing number counts as its mean.
  function userTerms(literal) {
    const terms = [];
    let constant = model.biases[literal];
    for (let i = 0; i < model.nFeatures; i++) {
      const weight = model.weights[literal * model.nFeatures + i];
      if (weight === 0) continue;
      const feature = model.features[i];
      terms.push({ ...feature, factor: weight / feature.scale });
      constant -= weight / feature.scale * feature.mean;
    }
    const weight = (term) => Math.abs(term.factor * term.scale);
    terms.sort((a, b) => weight(b) - weight(a));
    return { terms, constant };
  }

  // Those that digits can show; the others are at their means for all rows.
  function tellingTerms({ terms, constant }) {
    const visible = 0.5 * 10 ** -FULL * Math.abs(terms[0].factor * terms[0].scale);
    const tells = (term) => Math.abs(term.factor * term.scale) * term.spread >= visible;
    const shown = terms.filter(tells);
    if (!shown.length) return { terms, constant };
    const rest = terms.filter((term) => !tells(term));
    return {
      terms: shown,
      constant: rest.reduce((sum, term) => sum + term.factor * term.mean, constant),
    };
  }

  function sumText(parts) {
    let text = "";
    for (const [factor, name, digits] of parts) {
      const size = numberText(Math.abs(factor), digits);
      const term = size === "1" ? name : `${size}·${name}`;
      if (text) text += factor < 0 ? ` - ${term}` : ` + ${term}`;
      else text = factor < 0 ? `-${term}` : term;
    }
    return text;
  }

  const FULL = 6; // significant digits of a rule in full

  function termsText(terms, unit) {
    return sumText(terms.map((term) => {
      // A column far from zero needs more digits for the same accuracy.
      const distance = Math.max(Math.abs(term.mean) / term.scale, 1);
      return [term.factor / unit, term.label, FULL + Math.ceil(Math.log10(distance))];
    }));
  }

  // A literal over one scaled column alone is a threshold on the column itself.
  function scaledBound({ factor, knots, date }, constant) {
    const bound = -constant / factor;
    const threshold = onLine(knots.z, knots.x, bound);
    const k = segment(knots.x, threshold);
    const unit = (knots.x[k + 1] - knots.x[k]) / (knots.z[k + 1] - knots.z[k]);
    const text = date === null ? resolvedText(threshold, unit, FULL) : dateText(threshold, unit, factor > 0);
    return `${knots.name} ${factor > 0 ? ">" : "<"} ${text}`;
  }

  function inequality(literal) {
    const all = userTerms(literal);
    if (!all.terms.length) return all.constant > 0 ? "every row" : "no row";
    const { terms, constant } = tellingTerms(all);
    if (terms.length === 1 && terms[0].knots !== null && model.settled[literal] === null) {
      return scaledBound(terms[0], constant);
    }
    const unit = terms[0].factor;
    if (terms.length === 1 && terms[0].date !== null && terms[0].knots === null) {
      const date = dateText(-constant / unit, terms[0].scale, unit > 0);
      return `${terms[0].date} ${unit > 0 ? ">" : "<"} ${date}`;
    }
    const bound = resolvedText(-constant / unit, terms[0].scale, FULL);
    return `${termsText(terms, unit)} ${unit > 0 ? ">" : "<"} ${bound}`;
  }

  function letter(place) {
    return String.fromCharCode(65 + place % 26) + (place >= 26 ? Math.floor(place / 26) : "");
  }

  function namedLiteral(literal) {
    const { terms, constant } = userTerms(literal);
    if (!terms.length) return numberText(constant, FULL);
    const size = Math.max(...terms.map((term) => Math.abs(term.factor * term.scale)));
    const bound = resolvedText(Math.abs(constant), size, FULL);
    return `${termsText(terms, 1)} ${constant < 0 ? "-" : "+"} ${bound}`;
  }

  function unitText(rule, unit) {
    const n = model.offsets[rule + 1] - model.offsets[rule];
    const start = mixingStarts[rule] + unit * n;
    const weights = Array.from(model.mixing.subarray(start, start + n));
    const order = weights.map((_, j) => j).filter((j) => weights[j] !== 0);
    order.sort((a, b) => Math.abs(weights[b]) - Math.abs(weights[a]));
    const shift = model.shifts[model.offsets[rule] + unit];
    if (!order.length) return shift > 0 ? "every row" : "no row";
    const text = sumText(order.map((j) => [weights[j], `${letter(j)}⁺`, FULL]));
    return `${text} > ${numberText(-shift, FULL)}`;
  }

  // Conditions of a rule with all their terms and, for a deep rule, its literals.
  function fullText(rule) {
    const literals = ownLiterals(rule);
    const texts = literals.map(
      (literal, unit) => (model.deep ? unitText(rule, unit) : inequality(literal)));
    const settled = literals.map((literal) => model.settled[literal]);
    const telling = texts
      .map((text, j) => (settled[j] === "never" ? "no row" : text))
      .filter((_, j) => settled[j] === null || settled[j] === "never");
    // Where every row fulfils all of them, they still say how strongly the rule fires.
    const slanted = texts.filter((_, j) => settled[j] === "always").map((text) => {
      const [, what, sign] = text.match(/^(.*) ([<>]) [^<>]*$/);
      return `the ${sign === ">" ? "larger" : "smaller"} ${what}`;
    });
    const grows = [...new Set(slanted)].join(" and ");
    const strength = `every row${grows ? `, the more ${grows}` : ""}`;
    return {
      conditions: telling.length ? telling : [strength],
      literals: model.deep
        ? literals.map((literal, j) => `${letter(j)} = ${namedLiteral(literal)}`) : [],
      // Literals that always hold still limit how strongly the rule can fire.
      cap: model.caps[rule],
      everywhere: !telling.length && !slanted.length,
    };
  }

  function ownLiterals(rule) {
    const first = model.offsets[rule];
    return Array.from({ length: model.offsets[rule + 1] - first }, (_, j) => first + j);
  }

  // ---- Building blocks -------------------------------------------------------------

  function element(name, attributes = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children); // strings become text nodes
    return node;
  }

  function shape(name, attributes, ...children) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.append(...children);
    return node;
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

  // ---- The table of rules ----------------------------------------------------------

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

  // ---- The detail of a rule, built when it is opened --------------------------------

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
    const all = userTerms(literal).terms.length;
    const items = [];
    for (let i = 0; i < model.nFeatures; i++) {
      const value = model.weights[literal * model.nFeatures + i];
      if (value !== 0) items.push({ name: model.features[i].label, value });
    }
    items.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const box = element("div", { class: "literal" },
      element("h4", {}, `Literal ${letter(place)}`,
        element("span", { class: "angle" }, angle === null ? "" : ` turned by ${shown(angle, "degrees")}`)));
    if (!all) box.append(element("p", { class: "note" }, "looks at no column"));
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

  // ---- What if ---------------------------------------------------------------------

  const inputs = data.columns.map((column, place) => ({ ...column, node: $(`input-${place}`) }));

  function readInput(input) {
    if (input.kind === "category") return Number(input.node.value);
    if (input.node.value === "") return null;
    if (input.input === "number") return Number(input.node.value);
    // A date alone is read as UTC, a date with a time is not unless it says so.
    return Date.parse(input.node.value + (input.input === "date" ? "" : "Z")) / DAY;
  }

  function inputText(input, cell) {
    if (input.input === "date" || input.input === "datetime-local") {
      return new Date(Math.round(cell * 86400) * 1000).toISOString().slice(0, input.input === "date" ? 10 : 19);
    }
    return String(cell);
  }

  function wrongInput(input) {
    if (input.kind === "category") return "";
    if (input.node.validity.badInput) return input.input === "number" ? "not a number" : "not a date";
    return Math.abs(readInput(input)) > model.largest ? "too large" : "";
  }

  function writeRow(row) {
    inputs.forEach((input, place) => {
      input.node.value = row[place] === null ? "" : inputText(input, row[place]);
    });
    update();
  }

  function markInputs() {
    let wrong = false;
    inputs.forEach((input, place) => {
      const problem = wrongInput(input);
      wrong = wrong || problem !== "";
      if (input.kind === "category") return;
      if (problem) input.node.setAttribute("aria-invalid", "true");
      else input.node.removeAttribute("aria-invalid");
      const hint = $(`hint-${place}`);
      hint.textContent = problem || hint.dataset.hint;
    });
    return wrong;
  }

  function update() {
    const wrong = markInputs();
    const answer = wrong ? null : decide(inputs.map(readInput));
    showPrediction(answer);
    showWhy(answer);
    showReasons(answer);
  }

  function showPrediction(answer) {
    const place = $("prediction");
    $("probabilities").replaceChildren();
    if (answer === null) {
      place.replaceChildren(element("span", { class: "note" }, "A marked value is not usable."));
      return;
    }
    const decision = answer.decision;
    place.dataset.decision = JSON.stringify(decision);
    place.dataset.probabilities = JSON.stringify(answer.probabilities);
    if (model.task === "numbers") {
      place.dataset.numbers = JSON.stringify(answer.numbers);
      place.replaceChildren(...answer.numbers.map((value, k) => element("span", { class: "target" },
        element("small", {}, model.outputs[k]),
        element("b", { title: String(value) }, shortText(value, 4)))));
      return;
    }
    const small = decision.length === 1
      ? [element("span", { class: "decision" }, "decision ", numberSpan(decision[0]))] : [];
    place.replaceChildren(element("small", {}, "predicted class"),
      element("b", { class: "name", title: model.classes[answer.chosen] }, model.classes[answer.chosen]), ...small);
    showProbabilities(answer);
  }

  function showProbabilities(answer) {
    const sure = answer.probabilities;
    const values = sure || answer.decision;
    if (values.length === 1) return; // a decision alone says it all
    $("probabilities").append(
      element("p", { class: "note" }, sure ? "probability" : "decision"),
      barList(values.map((value, k) => ({ name: model.classes[k], value, kind: sure ? "share" : "number" })),
        sure ? "Probabilities" : "Decisions"));
  }

  function shownOutput(answer) {
    const select = $("output");
    if (select && select.value !== "") return Number(select.value);
    return model.task === "classes" && nOutputs > 1 ? answer.chosen : 0;
  }

  function showWhy(answer) {
    const list = $("contributions");
    if (answer === null) {
      list.replaceChildren();
      $("why-note").textContent = "";
      return;
    }
    const output = shownOutput(answer);
    const parts = answer.fired.map((item) => ({ rule: item.rule, activation: item.activation, value: item.contributions[output] }));
    parts.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    if (data.base) parts.unshift({ rule: null, value: model.intercept[output] });
    // The start is no rule; drawn to its scale, the rules' bars may vanish.
    const largest = Math.max(...parts.map((part) => part.rule === null ? 0 : Math.abs(part.value)), 0);
    list.replaceChildren(...parts.map((part) => contributionLine(part, largest)));
    const n = answer.fired.length;
    const fires = n === 0 ? "No rule fires" : `${n} of ${nRules} ${nRules === 1 ? "rule" : "rules"} ${n === 1 ? "fires" : "fire"}`;
    const whose = nOutputs > 1 ? ` for ${model.outputs[output]}` : "";
    $("why-note").replaceChildren(`${fires}. The contributions sum to the decision${whose}, `,
      numberSpan(answer.decision[output]),
      model.link === null ? "." : `; its ${model.link} is the prediction.`);
  }

  function contributionLine(part, largest) {
    const line = element("li", { "data-contribution": part.value });
    if (part.rule === null) {
      line.append(element("span", { class: "who" }, "Start"), element("span"));
    } else {
      line.dataset.rule = part.rule;
      line.append(
        element("span", { class: "who" }, element("button",
          { type: "button", class: "link", "data-open": part.rule }, `Rule ${part.rule}`)),
        signedBar(part.value, largest));
    }
    line.append(numberSpan(part.value));
    line.append(element("span", { class: "what" },
      part.rule === null ? data.base : byNumber.get(part.rule).text));
    return line;
  }

  // ---- Reasons ---------------------------------------------------------------------

  // As rounded() in _numbers.py: to two digits of what differs from 1.
  function factorText(factor) {
    if (!(factor > 1)) return "1";
    const place = Math.floor(Math.log10(factor - 1)) - 1;
    if (!(factor < 1e15)) return powerText(factor, 2);
    if (place >= 0) return String(Math.round(factor / 10 ** place) * 10 ** place);
    const text = factor.toFixed(Math.min(-place, 17));
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }

  function sizeText(size) {
    const place = Math.floor(Math.log10(size)) - 1;
    return place >= 0 ? String(Math.round(size / 10 ** place) * 10 ** place) : numberText(size, 2);
  }

  // As reasons() in _reasons.py: rules that leave a row worse than the average row.
  function reasonsOf(answer) {
    const { effects, usualActivations, faint, k } = data.reasons;
    const active = new Array(nRules).fill(0);
    answer.fired.forEach((item) => { active[item.rule] = item.activation; });
    const found = effects.map((effect, rule) => ({
      rule, effect, activation: active[rule], shortfall: effect * (active[rule] - usualActivations[rule]),
    }));
    found.sort((a, b) => b.shortfall - a.shortfall);
    return found.slice(0, k).filter((reason) => reason.shortfall > faint);
  }

  function reasonText({ rule, effect, activation: strength, shortfall }) {
    const kind = effect > 0 ? "against" : strength > 0 ? "weak" : "missed";
    const says = byNumber.get(rule).text;
    const facts = kind === "missed" ? `it is not so that ${says}` : says;
    const { multiplies, what, parts } = data.reasons;
    const more = multiplies
      ? `${what} times ${factorText(Math.exp(Math.min(shortfall, 700)))}` : `${what} higher by ${sizeText(shortfall)}`;
    return `${facts}: ${more} compared with the average row (rule ${rule} ${parts[kind]}).`;
  }

  // Rows of the page come with their sentences; what was typed is told by the rules' texts.
  function showReasons(answer) {
    const list = $("reasons");
    if (!list) return;
    if (answer === null) return void list.replaceChildren();
    const choice = $("example") ? $("example").value : "";
    const told = choice === ""
      ? reasonsOf(answer).map((reason) => ({ rule: reason.rule, text: reasonText(reason) }))
      : data.examples[Number(choice)].reasons;
    list.replaceChildren(...told.map(({ rule, text }) => {
      const [facts, part] = text.split(`(rule ${rule} `);
      return element("li", { "data-rule": rule, class: "says" }, `${facts}(`,
        element("button", { type: "button", class: "link", "data-open": rule }, `rule ${rule}`), ` ${part}`);
    }));
    if (!told.length) list.append(element("li", { class: "note" }, "No rule leaves this row worse than the average one."));
  }

  function startWhatIf() {
    const form = $("what-if-form");
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", (event) => {
      if (event.target.id === "example") return;
      if ($("example") && event.target.id !== "output") $("example").value = "";
      update();
    });
    $("reset").addEventListener("click", () => {
      if ($("example")) $("example").value = "";
      writeRow(inputs.map((input) => input.start));
    });
    if ($("example")) {
      $("example").addEventListener("change", () => {
        const choice = $("example").value;
        if (choice !== "") writeRow(data.examples[Number(choice)].cells);
      });
    }
    update();
  }

  // ---- Threshold -------------------------------------------------------------------

  // As count() in _numbers.py.
  function countText(value) {
    if (Number.isInteger(value)) return value.toLocaleString("en-US");
    return value >= 1
      ? value.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : numberText(value, 3);
  }

  const shareText = (part, whole) => whole > 0 ? shown(part / whole, "share") : "–";

  function writeCell(cell, value, total) {
    const share = total > 0 ? value / total : 0;
    cell.className = `${cell.classList.contains("right") ? "right" : "wrong"} shade-${Math.ceil(10 * share)}`;
    cell.querySelector("b").textContent = countText(value);
    cell.querySelector("small").textContent = total > 0 ? `${(100 * share).toFixed(1)} %` : "–";
  }

  function showThreshold(place) {
    const { cuts, caught, alarms, totals, own, x, y } = data.threshold;
    const [found, wrong] = [caught[place], alarms[place]];
    const flagged = found + wrong;
    const cells = [...$("confusion").tBodies[0].rows].map((row) => [...row.cells].slice(1));
    writeCell(cells[0][0], found, totals[0]);
    writeCell(cells[0][1], totals[0] - found, totals[0]);
    writeCell(cells[1][0], wrong, totals[1]);
    writeCell(cells[1][1], totals[1] - wrong, totals[1]);
    const text = minus(String(cuts[place]));
    $("threshold-now").textContent = text;
    $("threshold").setAttribute("aria-valuetext", text);
    $("threshold-reset").disabled = place === own;
    $("now-precision").textContent = shareText(found, flagged);
    $("now-recall").textContent = shareText(found, totals[0]);
    $("now-f1").textContent = shownNumber(2 * found, flagged + totals[0]);
    $("now-flagged").textContent = shareText(flagged, totals[0] + totals[1]);
    $("now-alarms").textContent = shownNumber(wrong, found);
    $("gains-now").setAttribute("cx", x[place]);
    $("gains-now").setAttribute("cy", y[place]);
  }

  const shownNumber = (part, whole) => whole > 0 ? shortText(part / whole, 3) : "–";

  function startThreshold() {
    if (!data.threshold) return;
    const slider = $("threshold");
    slider.addEventListener("input", () => showThreshold(Number(slider.value)));
    $("threshold-reset").addEventListener("click", () => {
      slider.value = String(data.threshold.own);
      showThreshold(data.threshold.own);
    });
    slider.value = String(data.threshold.own); // browsers keep it over a reload
    showThreshold(data.threshold.own);
  }

  document.documentElement.classList.add("js");
  startThreshold();
  startTable();
  startDetail();
  startWhatIf();
  // For the console: the model by itself, for rows of values of the inputs.
  window.neuralrules = Object.freeze({ encode, decide, fullText });
  document.documentElement.dataset.ready = "true";
})();
