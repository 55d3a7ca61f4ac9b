// What the model makes of the row: prediction, Shapley values, certificates, and the way to the heaviest leaf.
const rowSection = (() => {
  "use strict";
  const { byId, fill, make } = elements;
  const KERNEL = 0;
  const READING_DIGITS = 7;
  const BARS_SHOWN = 12, CLASSES_SHOWN = 8, RULES_SHOWN = 40;
  // Changes of a prediction below this, relative to it, are the slack for rounding of the certificates.
  const ROUNDING = 1e-7;

  const NO_SHAPLEY =
    "Not shown: gates of this model read several columns at once, or its trees have links of their own, so there is no " +
    "exact formula. softwood.explanations.shapley_values estimates them by sampling, with standard errors.";

  // The output that explanations are about, and its number among the scores: two classes may have a single score.
  function outputOf({ now, state }) {
    const k = state.followsBest ? now.best : state.output;
    return { k, score: Math.min(k, now.scores.length - 1), sign: state.model.link === "logistic" && k === 0 ? -1 : 1 };
  }

  function cellText({ now }, input) {
    const cell = now.cells[input];
    if (cell === null) return "missing";
    if (cell === controls.UNKNOWN) return "another one";
    return typeof cell === "number" ? words.number(cell, READING_DIGITS) : String(cell);
  }

  function showPrediction({ now, state: { model } }) {
    const place = byId("prediction");
    const large = (text) => make("output", { class: "prediction" }, text);
    if (model.classes === null && !model.isMixture) {
      const nameOf = (k) => (now.prediction.length > 1 ? `${model.outputs[k]}: ` : "");
      const lines = now.prediction.map((value, k) => make("p", { class: "large" }, nameOf(k), large(words.number(value, 5))));
      fill(place, ...lines);
      return;
    }
    const order = Array.from(now.prediction.keys()).sort((a, b) => now.prediction[b] - now.prediction[a]);
    const colours = model.colours ?? charts.classColours(now.prediction.length);
    const items = order.slice(0, CLASSES_SHOWN).map((k) => ({
      label: model.outputs[k], value: now.prediction[k], colour: charts.css(colours[k]),
    }));
    const probability = ` with probability ${words.percent(now.prediction[order[0]])}`;
    const head = make("p", { class: "large" }, large(model.outputs[order[0]]), make("span", { class: "quiet" }, probability));
    fill(place, head, charts.bars(items, words.percent, 1));
  }

  // What Shapley values add up to, if it is not the prediction.
  function scoreNote({ now, state: { model } }, k) {
    if (model.scale === "") return "";
    const isClass = model.classes !== null || model.isMixture;
    const prediction = isClass ? words.percent(now.prediction[k]) : words.number(now.prediction[k], 5);
    return `, a raw score (${model.scale}); the ${isClass ? `probability of ${model.outputs[k]}` : "prediction"} is ${prediction}`;
  }

  function showShapley(page) {
    const { data, now, state: { model } } = page;
    const { k, score, sign } = outputOf(page);
    byId("shapley-title").textContent = `Shapley values${model.outputs.length > 1 ? ` of ${model.outputs[k]}` : ""}`;
    if (now.shapley === null) {
      fill(byId("shapley"));
      byId("shapley-note").textContent = NO_SHAPLEY;
      return;
    }
    const all = data.columns.map(({ input }) => ({
      label: model.inputs[input].name, detail: cellText(page, input), value: sign * now.shapley.values[input][score],
    }));
    all.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
    const items = all.slice(0, BARS_SHOWN), rest = all.slice(BARS_SHOWN);
    if (rest.length > 0) {
      const value = rest.reduce((sum, item) => sum + item.value, 0);
      items.push({ label: `${rest.length} other columns`, detail: null, value });
    }
    for (const item of items) item.colour = item.value < 0 ? "var(--less)" : "var(--more)";
    const text = words.alike(items.map((item) => item.value));
    fill(byId("shapley"), items.length > 0 ? charts.bars(items, text) : "");
    const base = sign * now.shapley.base[score];
    const total = all.reduce((sum, item) => sum + item.value, base);
    byId("shapley-note").textContent =
      `From ${words.number(base)}, if nothing is known of the row, to ${words.number(total)}` +
      `${scoreNote(page, k)}.`;
  }

  const reachText = (reach) => (reach === Infinity ? "any" : Number.isNaN(reach) ? "–" : `±${words.number(reach, 3)}`);

  function certificateText(model, { hasClasses, label, radius, reason }) {
    if (!hasClasses) return "Largest change of the prediction if one reading is off, and all others are right.";
    const alone = `The class stays ${model.outputs[label]} if one reading is off by less than this.`;
    if (reason !== "") return alone;
    return `${alone} If several are, it stays while their errors add up to less than ${words.number(radius, 3)} bandwidths.`;
  }

  // The cells of a column that tell how far its reading can be off.
  function limits({ now }, input, k) {
    const { certificate } = now;
    if (now.cells[input] === null) return certificate.hasClasses ? ["–"] : ["–", "–"];
    if (certificate.hasClasses) return [reachText(certificate.reach.get(input) ?? NaN)];
    const most = certificate.change.get(input)?.[k] ?? 0;
    const isRounding = most < ROUNDING * Math.max(1, Math.abs(now.prediction[k]));
    return [`±${words.number(certificate.error.get(input), 3)}`, isRounding ? "0" : words.number(most, 3)];
  }

  function showCertificate(page) {
    const { data, now, state: { model } } = page;
    byId("certificate").classList.toggle("waits", now.certificate === null);
    if (now.certificate === null) return; // until it is known, that of the row before stays, in grey
    const { k, score, sign } = outputOf(page);
    const slopes = model.link === "identity" ? "" : ` Slopes are those of the raw score (${model.scale}).`;
    byId("certificate-note").textContent = certificateText(model, now.certificate) + slopes;
    const rows = data.columns
      .filter(({ input }) => model.inputs[input].categories === null)
      .map(({ input, features: [feature] }) => {
        const slope = now.cells[input] === null ? "–" : words.signed(sign * (now.gradient[score][feature] ?? 0));
        return [model.inputs[input].name, cellText(page, input), ...limits(page, input, k), slope];
      });
    const headings = now.certificate.hasClasses ? ["can be off by"] : ["if off by", "changes ≤"];
    fill(byId("certificate"), elements.table(["column", "reading", ...headings, "slope"], rows));
  }

  function restText(n) {
    if (n === 0) return "it is in no other leaf.";
    return n === 1 ? "the rest is in one other leaf." : `the rest is divided among ${words.count(n)} other leaves.`;
  }

  function showPath({ now, state: { model, tree } }) {
    const begin = model.offsets[tree];
    const shares = now.sharesOf[tree];
    const { leaf, share, steps } = explaining.heaviestPath(model, tree, shares);
    const nLeaves = shares.reduce((n, part, node) => n + (part > 0 && model.left[begin + node] < 0 ? 1 : 0), 0);
    const where = model.nTrees > 1 ? ` of tree ${tree}` : "";
    const value = words.valueText(model, computing.valueOf(model, begin + leaf), tree);
    byId("path-note").textContent =
      `${words.percent(share)} of the row is in leaf ${leaf}${where} (${value}); ${restText(nLeaves - 1)}`;
    const items = steps.slice(0, RULES_SHOWN).map(({ node, isLeft, share: after }) => {
      const width = model.gate[begin + node] === KERNEL ? model.width[begin + node] : 0;
      const soft = width > 0 ? ` ±${words.number(width, 3)}` : "";
      const test = words.shortTest(model, begin + node, isLeft);
      return make("li", {}, test, make("span", { class: "quiet" }, `${soft}: ${words.percent(after)} of the row`));
    });
    fill(byId("path"), ...items);
  }

  // Intervals or sets hold for the bandwidths of the model, so they are hidden where the page has others.
  function showUncertainty({ now, uncertainty, state: { model, factor } }) {
    const place = byId("uncertainty");
    place.hidden = uncertainty === null || factor !== 1 || now.hasOwnWidths;
    if (place.hidden) return;
    const name = (target, n) => (n > 1 ? `${model.outputs[target]} ` : "");
    const range = ([low, high]) => `${words.number(low, 4)} to ${words.number(high, 4)}`;
    const text = (own) => (uncertainty.sets
      ? own.map((k) => model.outputs[k]).join(", ")
      : own.map((ends, target) => name(target, own.length) + range(ends)).join("; "));
    const found = intervals.of(uncertainty, model, now.point, now.prediction);
    const heads = uncertainty.coverages.map((coverage) => `${Math.round(100 * coverage)} %`);
    fill(place, elements.table(["with probability", ...heads], [
      [uncertainty.sets ? "the class is one of" : "it is in", ...found.map(text)],
    ]));
  }

  function show(page) {
    showPrediction(page);
    showUncertainty(page);
    showShapley(page);
    showCertificate(page);
    showPath(page);
  }

  return { show, showCertificate, showPath };
})();
