// Reasons: what speaks for the adverse outcome of a row, as _reasons.py finds it.

// As rounded() in _numbers.py: to two digits of what differs from 1.
function factorText(factor) {
  if (!(factor > 1)) return "1";
  const place = Math.floor(Math.log10(factor - 1)) - 1;
  if (!(factor < 1e15)) return powerText(factor, 2);
  return place >= 0 ? wholeText(factor, place) : withoutZeros(factor.toFixed(Math.min(-place, 17)));
}

function wholeText(value, place) {
  return String(Math.round(value / 10 ** place) * 10 ** place);
}

function sizeText(size) {
  const place = Math.floor(Math.log10(size)) - 1;
  return place >= 0 ? wholeText(size, place) : numberText(size, 2);
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
    const link = element("button", { type: "button", class: "link", "data-open": rule }, `rule ${rule}`);
    return element("li", { "data-rule": rule, class: "says" },
      facts, element("span", { class: "together" }, "(", link), ` ${part}`);
  }));
  if (!told.length) list.append(element("li", { class: "note" }, "No rule leaves this row worse than the average one."));
}
