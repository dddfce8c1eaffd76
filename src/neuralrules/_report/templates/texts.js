// Numbers and rules as text, as _text.py and _literals.py write them.

function numberText(value, asked) {
  const size = Math.abs(value);
  const digits = Math.min(asked, 17); // a number has no more
  const largest = Math.min(10 ** (digits + 6), 1e15);
  if (value === 0 || !(size >= 1e-4 && size < largest)) return powerText(value, digits);
  const decimals = Math.max(digits - 1 - Math.floor(Math.log10(size)), 0);
  return withoutZeros(value.toFixed(decimals));
}

function withoutZeros(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

// Python's "g" format for numbers that are very small or very large.
function powerText(value, digits) {
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  return `${withoutZeros(mantissa)}e${power[0]}${power.slice(1).padStart(2, "0")}`;
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
  weightsOf(literal).forEach((weight, i) => {
    if (weight === 0) return;
    const feature = model.features[i];
    terms.push({ ...feature, factor: weight / feature.scale });
    constant -= weight / feature.scale * feature.mean;
  });
  terms.sort((a, b) => weightOf(b) - weightOf(a));
  return { terms, constant };
}

// The size of a term's weight per standard deviation.
function weightOf(term) {
  return Math.abs(term.factor * term.scale);
}

// Those that digits can show; the others are at their means for all rows.
function tellingTerms({ terms, constant }) {
  const visible = 0.5 * 10 ** -FULL * weightOf(terms[0]);
  const tells = (term) => weightOf(term) * term.spread >= visible;
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
  const size = Math.max(...terms.map(weightOf));
  const bound = resolvedText(Math.abs(constant), size, FULL);
  return `${termsText(terms, 1)} ${constant < 0 ? "-" : "+"} ${bound}`;
}

function unitText(rule, unit) {
  const weights = Array.from(mixingOf(rule, unit));
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
