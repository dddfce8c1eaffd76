// What if: predictions for what a reader types or loads.

const inputs = data.columns.map((column, place) => ({ ...column, node: $(`input-${place}`) }));

function readInput(input) {
  if (input.kind === "category") return Number(input.node.value);
  if (input.node.value === "") return null;
  const number = readNumber(input);
  return input.marked.includes(number) ? null : number; // such as -999, which means missing
}

function readNumber(input) {
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
    barList(data.order.map((k) => ({ name: model.classes[k], value: values[k], kind: sure ? "share" : "number" })),
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
