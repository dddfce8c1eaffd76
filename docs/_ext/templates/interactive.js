// Sliders, and the rules that light up. The model itself is above.

const inputs = data.columns.map((column, place) => ({
  ...column, node: $(`input-${place}`), hole: $(`hole-${place}`), now: $(`now-${place}`),
}));
const lines = [...document.querySelectorAll("[data-rule]")];

function readInput(input) {
  return input.hole?.checked ? null : Number(input.node.value);
}

function inputText(input) {
  const cell = readInput(input);
  if (cell === null) return "not known";
  return input.input === "number" ? cell.toLocaleString("en") : dateText(cell, 10, true);
}

// Percent, with a digit more the nearer to either end.
function percentText(share) {
  const rest = Math.min(share, 1 - share);
  return `${(100 * share).toFixed(rest < 0.001 ? 2 : rest < 0.1 ? 1 : 0)} %`;
}

function factorText(effect) {
  const factor = Math.exp(effect);
  return factor.toFixed(factor < 0.1 ? 3 : factor < 10 ? 2 : factor < 100 ? 1 : 0);
}

function update() {
  inputs.filter((input) => input.kind === "number").forEach((input) => {
    input.now.textContent = inputText(input);
    input.node.toggleAttribute("data-hole", Boolean(input.hole?.checked));
    input.node.setAttribute("aria-valuetext", input.now.textContent);
  });
  const answer = decide(inputs.map(readInput));
  const share = answer.probabilities[data.place];
  const strength = new Map(answer.fired.map((item) => [item.rule, item.activation]));
  const shown = document.createElement("b");
  shown.textContent = percentText(share);
  $("prediction").replaceChildren(shown, `for ${model.classes[data.place]}`);
  $("prediction").dataset.probabilities = JSON.stringify(answer.probabilities);
  $("share").style.width = `${100 * share}%`;
  lines.forEach((line) => light(line, strength.get(Number(line.dataset.rule)) || 0));
  $("lit").textContent = `${strength.size} of ${nRules} rules fire. Beside each: by what it multiplies the odds of ${model.classes[data.place]}.`;
}

// A rule that fires glows by its share of the strongest that it fired in training.
function light(line, activation) {
  const rule = Number(line.dataset.rule);
  const effect = data.effects[rule] * activation;
  const share = Math.min(activation / data.highest[rule], 1) || 0;
  line.classList.toggle("on", activation > 0);
  line.classList.toggle("for", effect > 0);
  line.classList.toggle("against", effect < 0);
  line.style.setProperty("--glow", `${8 + 22 * share}%`);
  line.querySelector("i").style.width = `${100 * share}%`;
  line.querySelector(".does").textContent = activation > 0 ? `× ${factorText(effect)}` : "off";
}

$("sliders").addEventListener("input", update);
$("sliders").addEventListener("submit", (event) => event.preventDefault());
$("reset").addEventListener("click", () => {
  inputs.forEach((input) => {
    input.node.value = input.start;
    if (input.hole) input.hole.checked = false;
  });
  update();
});
update();
document.documentElement.dataset.ready = "true";
