// What the model is: importances, leaves, text, and how it did on rows with known targets.
const modelSection = (() => {
  "use strict";
  const { card, make, table } = elements;
  const KERNEL = 0;
  const LEAVES_SHOWN = 50, MOST_LINES = 2000, COLUMNS_SHOWN = 20;

  function importances(data) {
    if (data.importances === null) return null;
    const items = data.importances
      .map((value, j) => ({ label: data.model.inputs[j].name, value, colour: "var(--accent)" }))
      .sort((a, b) => b.value - a.value);
    const shown = items.slice(0, COLUMNS_SHOWN).filter((item) => item.value > 0);
    const rest = items.length - shown.length;
    const note = rest > 0 ? [make("p", { class: "quiet" }, `${rest} more ${rest === 1 ? "column" : "columns"}`)] : [];
    return card("Importance of columns", charts.bars(shown, (value) => words.percent(value)), ...note);
  }

  // The leaves of a tree, heaviest first; the table grows on demand.
  function leaves({ state }) {
    const place = make("div");
    let nShown = LEAVES_SHOWN;
    function show() {
      const { model, tree } = state;
      const begin = model.offsets[tree], end = model.offsets[tree + 1];
      const own = [];
      for (let at = begin; at < end; at++) if (model.left[at] < 0) own.push(at - begin);
      own.sort((a, b) => model.mass[begin + b] - model.mass[begin + a] || a - b);
      const total = own.reduce((sum, leaf) => sum + model.mass[begin + leaf], 0);
      const rows = own.slice(0, nShown).map((leaf) => [
        String(leaf), String(model.depth[begin + leaf]),
        total > 0 ? words.percent(model.mass[begin + leaf] / total) : "–",
        words.valueText(model, computing.valueOf(model, begin + leaf), tree), pathText(model, tree, leaf),
      ]);
      const heading = ["leaf", "depth", "mass", "prediction", "rule"];
      const made = table(heading, rows);
      made.classList.add("leaves");
      elements.fill(place, made);
      if (own.length > nShown) {
        const more = () => {
          nShown *= 4;
          show();
        };
        place.append(make("button", { type: "button", onclick: more }, `Show more of ${words.count(own.length)} leaves`));
      }
    }
    return { element: card("Leaves", place), show };
  }

  // The rule of a leaf, with one condition for each side of a column.
  function pathText(model, tree, leaf) {
    const begin = model.offsets[tree];
    const tests = new Map();
    for (let child = leaf; model.parent[begin + child] >= 0; child = model.parent[begin + child]) {
      const at = begin + model.parent[begin + child];
      const isLeft = model.left[at] === child;
      const test = words.shortTest(model, at, isLeft);
      // From the leaf upwards the first test of a column and side is the narrowest.
      const key = model.gate[at] === KERNEL ? `${model.feature[at]} ${isLeft}` : test;
      if (!tests.has(key)) tests.set(key, test);
    }
    return Array.from(tests.values()).reverse().join(", ") || "all rows";
  }

  function text({ state }) {
    const pre = make("pre", { tabindex: "0" });
    const details = make("details", {}, make("summary", {}, "Text of the tree"), pre);
    function show() {
      if (!details.open) return;
      const { model, tree } = state;
      const lines = words.treeLines(model, tree, MOST_LINES);
      const n = model.offsets[tree + 1] - model.offsets[tree];
      if (n > lines.length) lines.push(`... ${words.count(n - lines.length)} more nodes`);
      pre.textContent = lines.join("\n");
    }
    details.addEventListener("toggle", show);
    return { element: make("section", { class: "card" }, details), show };
  }

  function scores(evaluation) {
    const rows = Object.entries(evaluation.scores).map(([name, value]) => [name, words.number(value)]);
    return [make("h2", {}, `Scores on ${words.count(evaluation.n)} rows`), table(["score", "value"], rows)];
  }

  function confusion(evaluation, outputs) {
    if (evaluation.confusion === null) {
      return [make("p", { class: "quiet" }, "There are too many classes for a confusion matrix.")];
    }
    const rows = evaluation.confusion.map((counts, k) => {
      const total = counts.reduce((a, b) => a + b, 0);
      return [outputs[k], ...counts.map((n) => {
        const cell = make("span", { class: "cell" }, words.count(n));
        cell.style.background = `color-mix(in srgb, var(--accent) ${total > 0 ? (60 * n) / total : 0}%, transparent)`;
        return cell;
      })];
    });
    const found = table(["is \\ predicted", ...outputs], rows);
    found.classList.add("confusion");
    return [make("h2", { class: "more" }, "Confusion"), found];
  }

  function agreement(evaluation) {
    const canvas = make("canvas", { class: "chart", role: "img" });
    const isClasses = evaluation.kind === "classes";
    const points = isClasses
      ? evaluation.calibration.map(({ stated, observed, n }) => ({ x: stated, y: observed, n }))
      : evaluation.means.map(({ predicted, observed, n }) => ({ x: predicted, y: observed, n }));
    const names = isClasses ? ["predicted probability; height: how often it was so"] : ["predicted; height: observed mean"];
    canvas.setAttribute("aria-label", points.map(({ x, y }) => `${words.number(x, 3)}: ${words.number(y, 3)}`).join(", "));
    const draw = () => charts.agreement(canvas, points, names, isClasses ? [0, 1] : null);
    return { element: card(isClasses ? "Calibration" : "Predicted and observed", canvas), draw };
  }

  // Builds the section; returns functions that show another tree, and that draw its pictures again.
  function create(place, page) {
    const { data } = page;
    const shows = [], draws = [];
    const own = importances(data);
    if (own !== null) place.append(own);
    if (data.evaluation !== null) {
      const isClasses = data.evaluation.kind === "classes";
      const counts = isClasses ? confusion(data.evaluation, data.model.outputs) : [];
      place.append(make("section", { class: "card" }, ...scores(data.evaluation), ...counts));
      const picture = agreement(data.evaluation);
      place.append(picture.element);
      draws.push(picture.draw);
    }
    for (const part of [leaves(page), text(page)]) {
      part.element.classList.add("wide");
      place.append(part.element);
      shows.push(part.show);
    }
    return { show: () => shows.forEach((show) => show()), draw: () => draws.forEach((draw) => draw()) };
  }

  return { create };
})();
