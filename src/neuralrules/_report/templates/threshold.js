// Threshold: what the slider of two classes moves.

// As count() in _numbers.py.
function countText(value) {
  if (Number.isInteger(value)) return value.toLocaleString("en-US");
  return value >= 1
    ? value.toLocaleString("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 }) : numberText(value, 3);
}

// The text of a part of a whole.
function ratioText(part, whole, kind) {
  return shown(whole > 0 ? part / whole : null, kind);
}

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
  [found, wrong].forEach((value, line) => {
    writeCell(cells[line][0], value, totals[line]);
    writeCell(cells[line][1], totals[line] - value, totals[line]);
  });
  const text = minus(String(cuts[place]));
  $("threshold-now").textContent = text;
  $("threshold").setAttribute("aria-valuetext", text);
  $("threshold-reset").disabled = place === own;
  $("now-precision").textContent = ratioText(found, flagged, "share");
  $("now-recall").textContent = ratioText(found, totals[0], "share");
  $("now-f1").textContent = ratioText(2 * found, flagged + totals[0]);
  $("now-flagged").textContent = ratioText(flagged, totals[0] + totals[1], "share");
  $("now-alarms").textContent = ratioText(wrong, found);
  $("gains-now").setAttribute("cx", x[place]);
  $("gains-now").setAttribute("cy", y[place]);
}

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
