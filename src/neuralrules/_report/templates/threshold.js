// Threshold: what the slider of two classes moves.

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
