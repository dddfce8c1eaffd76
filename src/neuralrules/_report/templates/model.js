// The model: encodes a row of inputs and predicts, as the encoder and the network do. Its formula
// (`encodedColumns`, `linked`) is printed before this part by _page_model.py.
//
// Names, categories and labels are other people's: they reach the page through
// textContent and setAttribute only, never as markup.

const data = JSON.parse(document.getElementById("report-data").textContent);
const $ = (id) => document.getElementById(id);

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

// The line through the points (x, z), flat outside of them; null where there is no value.
function onLine(x, z, value) {
  if (value === null) return null;
  if (value >= x[x.length - 1]) return z[z.length - 1];
  const inside = Math.max(x[0], value);
  const k = segment(x, inside);
  const share = (inside - x[k]) / (x[k + 1] - x[k]);
  return Math.min(z[k] + (z[k + 1] - z[k]) * share, z[k + 1]);
}

function segment(x, value) {
  return x.slice(1, -1).filter((start) => start <= value).length;
}

// A row holds, for each input, a number, null for a missing number, or the place of an option.
// The array rounds to the float32 that the network was trained on.
function encode(row) {
  return Float32Array.from(encodedColumns(row));
}

function weightsOf(literal) {
  return model.weights.subarray(literal * model.nFeatures, (literal + 1) * model.nFeatures);
}

function literalValue(literal, encoded) {
  return weightsOf(literal).reduce((sum, weight, i) => sum + weight * encoded[i], model.biases[literal]);
}

// Where each deep rule's square matrix starts.
const mixingStarts = [0];
for (let rule = 0; rule < nRules; rule++) {
  const n = model.offsets[rule + 1] - model.offsets[rule];
  mixingStarts.push(mixingStarts[rule] + n * n);
}

// The weights of a unit of the second layer.
function mixingOf(rule, unit) {
  const n = model.offsets[rule + 1] - model.offsets[rule];
  const start = mixingStarts[rule] + unit * n;
  return model.mixing.subarray(start, start + n);
}

function secondLayer(rule, literals) {
  const first = model.offsets[rule];
  return literals.map((_, unit) => mixingOf(rule, unit).reduce(
    (sum, weight, j) => sum + weight * Math.max(literals[j], 0), model.shifts[first + unit]));
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
