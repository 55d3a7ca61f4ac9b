// What the page computes of a row: shares in the nodes, prediction, explanations and certificates.
const computing = (() => {
  "use strict";
  const KERNEL = 0;

  // The prediction of a node if it were a leaf.
  const valueOf = (model, at) => (model.treeLink === "softmax" ? softwood.softmax(model.value[at]) : model.value[at]);

  // What is computed once for each model: the range of the leaves' values, and colours of classes.
  function prepare(model) {
    model.hasMass = model.mass.some((mass) => mass > 0);
    model.plainWidth = Float64Array.from(model.width);
    const low = new Float64Array(model.nValues).fill(Infinity), high = new Float64Array(model.nValues).fill(-Infinity);
    for (let at = 0; at < model.left.length; at++) {
      if (model.left[at] >= 0) continue;
      valueOf(model, at).forEach((value, k) => {
        low[k] = Math.min(low[k], value);
        high[k] = Math.max(high[k], value);
      });
    }
    model.range = { low, high };
    model.colours = model.isMixture ? charts.classColours(model.nValues) : null;
    return model;
  }

  // Half-width of the kernels of each feature, the largest if they differ; 0 without kernels.
  function halfWidths(model) {
    const out = new Float64Array(model.features.length);
    for (let at = 0; at < model.left.length; at++) {
      if (model.left[at] < 0 || model.gate[at] !== KERNEL) continue;
      out[model.feature[at]] = Math.max(out[model.feature[at]], model.width[at]);
    }
    return out;
  }

  // The half-widths of the nodes: those of the model times a factor, or those that the user gives by feature.
  function setWidths(model, factor, given) {
    const key = `${factor} ${given === null ? "" : given.join(" ")}`;
    if (model.widthsKey === key) return;
    const { width, plainWidth, gate, feature } = model;
    for (let at = 0; at < width.length; at++) {
      if (gate[at] !== KERNEL) continue;
      const own = given === null ? NaN : given[feature[at]];
      width[at] = own >= 0 ? own : factor * plainWidth[at];
    }
    model.widthsKey = key;
    model.tables = null;
  }

  // Everything about a row but its certificates.
  function explain(model, point) {
    const sharesOf = [];
    for (let tree = 0; tree < model.nTrees; tree++) sharesOf.push(softwood.shares(model, tree, point));
    const scores = softwood.scoreOfShares(model, sharesOf);
    const prediction = softwood.linked(model, scores);
    return {
      point, sharesOf, scores, prediction,
      best: prediction.indexOf(Math.max(...prediction)),
      shapley: explaining.shapley(model, point),
      gradient: explaining.gradient(model, point, sharesOf),
    };
  }

  // Certificates column by column: a generator, so that the work can be interrupted. Its last value is what was found:
  // by column the reach of its reading, or without classes the largest change of the predictions and for which error.
  function* certify(model, columns, point, prediction) {
    model.tables ??= certificates.prepare(model);
    const isBare = model.kind === "SoftTree" || model.kind === "SoftForest";
    const hasClasses = model.classes !== null || (isBare && model.outputs.length > 1);
    const label = hasClasses ? prediction.indexOf(Math.max(...prediction)) : -1;
    const found = { hasClasses, label, reach: new Map(), change: new Map(), error: new Map(), radius: NaN, reason: "" };
    const around = new certificates.Surroundings(model, model.tables, point, label);
    const largest = halfWidths(model);
    for (const { input, features: [feature], low, high } of columns) {
      if (model.inputs[input].categories !== null || feature >= point.length) continue;
      if (hasClasses) {
        found.reach.set(input, around.reach(feature));
      } else {
        // The bandwidth, or a hundredth of the range.
        const error = largest[feature] > 0 ? largest[feature] : (high - low) / 100;
        const [least, most] = around.bounds(feature, error);
        found.error.set(input, error);
        found.change.set(input, prediction.map((value, k) => Math.max(most[k] - value, value - least[k])));
      }
      yield null;
    }
    found.reason = hasClasses ? certificates.whyNoRadius(model, model.tables) : "";
    if (hasClasses && found.reason === "") found.radius = around.radius();
    yield found;
  }

  return { certify, explain, halfWidths, prepare, setWidths, valueOf };
})();
