// Predictions of exported softwood models, in plain JavaScript.
//
// A model is the object that `softwood.export.javascript_source.model_data` writes:
//
//   inputs       columns of a row: {name, categories}; categories is null for numbers
//   features     what the gates read: [number of the input, number of the category or null]
//   unknownIsMissing   whether an unknown category is a missing value, or none of the known ones
//   fill         numbers in place of missing values in weighted sums, or null
//   classes, outputs   labels or null; names of the predictions
//   treeLink, base, factor, link   as in the page on exports
//   kernels      shapes: {edges, cdf}
//   offsets, first     where the nodes of each tree begin; first output that each tree adds to
//   left, right, gate, feature, threshold, missingLeft, width, kernel, blend, bias, weights, value
//                one entry per node; children are numbered within their tree and are -1 at leaves;
//                weights are [[features], [weights]] or null
//
// `softwood.predict(model, row)` gives the predictions of a row, `softwood.shares(model, tree, point)` its share in
// every node of a tree.
const softwood = (() => {
  "use strict";
  const KERNEL = 0, SIGMOID = 1, OBLIQUE = 2;

  const isMissing = (cell) => cell === null || cell === undefined || cell !== cell;

  // Row of the table, an array or an object by column names, to the numbers that the gates read; NaN where missing.
  function encode(model, row) {
    return model.features.map(([input, category]) => {
      const column = model.inputs[input];
      const cell = Array.isArray(row) ? row[input] : row[column.name];
      if (isMissing(cell)) return NaN;
      if (category === null) return Number(cell);
      const known = column.categories.indexOf(cell);
      if (known < 0) return model.unknownIsMissing ? NaN : 0;
      return known === category ? 1 : 0;
    });
  }

  // Part of the kernel around x that lies at or below t: a function of straight pieces.
  function kernelMass(t, x, width, shape) {
    const { edges, cdf } = shape;
    const last = edges.length - 1;
    const distance = t - x;
    if (distance >= width * edges[last]) return 1;
    if (distance <= width * edges[0]) return 0;
    const z = distance / width;
    let k = 1;
    while (k < last && z > edges[k]) k++;
    return cdf[k - 1] + ((cdf[k] - cdf[k - 1]) * (z - edges[k - 1])) / (edges[k] - edges[k - 1]);
  }

  function sigmoid(z) {
    if (z >= 0) return 1 / (1 + Math.exp(-z));
    const e = Math.exp(z);
    return e / (1 + e);
  }

  function smoothStep(z, width) {
    if (z <= -0.5 * width) return 0;
    if (z >= 0.5 * width) return 1;
    const r = z / width;
    return 0.5 + 1.5 * r - 2 * r * r * r;
  }

  // Part that goes left at a gate with a weighted sum.
  function obliquePart(model, at, point) {
    const [features, weights] = model.weights[at];
    let z = model.bias[at];
    features.forEach((j, k) => {
      const filled = model.fill === null ? NaN : model.fill[j];
      z += weights[k] * (isMissing(point[j]) ? filled : point[j]);
    });
    const kind = model.gate[at];
    if (kind === SIGMOID || kind === OBLIQUE) {
      if (isMissing(z)) return model.missingLeft[at];
      return kind === SIGMOID ? sigmoid(z) : z > 0 ? 1 : 0;
    }
    const x = point[model.feature[at]];
    if (isMissing(z) || (isMissing(x) && model.fill === null)) return model.missingLeft[at];
    const test = isMissing(x) ? model.missingLeft[at] : x <= model.threshold[at] ? 1 : 0;
    return model.blend[at] * smoothStep(z, model.width[at]) + (1 - model.blend[at]) * test;
  }

  // Share of a point in each node of a tree. `widths`, if given, holds half-widths of kernels by feature, null where
  // those of the nodes hold.
  function shares(model, tree, point, widths = null) {
    const begin = model.offsets[tree];
    const out = new Float64Array(model.offsets[tree + 1] - begin);
    // A cut is a gate that has divided the kernel of a feature: [feature, lower and upper end of the part that is left,
    // as values of the distribution function]. The cuts of a branch are dropped when the branch is finished.
    const cuts = [];
    const todo = [{ node: 0, share: 1, nCuts: 0, cut: null }];
    while (todo.length > 0) {
      const branch = todo.pop();
      let { node, share } = branch;
      cuts.length = branch.nCuts;
      if (branch.cut !== null) cuts.push(branch.cut);
      for (;;) {
        out[node] = share;
        const at = begin + node;
        if (model.left[at] < 0) break;
        const j = model.feature[at];
        let part = model.missingLeft[at];
        let mass = NaN, lower = 0, upper = 1;
        if (model.gate[at] !== KERNEL) {
          part = obliquePart(model, at, point);
        } else if (!isMissing(point[j])) {
          const width = widths !== null && !isMissing(widths[j]) ? widths[j] : model.width[at];
          mass = kernelMass(model.threshold[at], point[j], width, model.kernels[model.kernel[at]]);
          for (let k = cuts.length - 1; k >= 0; k--) {
            if (cuts[k][0] === j) {
              [, lower, upper] = cuts[k];
              break;
            }
          }
          part = mass >= upper ? 1 : mass <= lower ? 0 : (mass - lower) / (upper - lower);
        }
        if (part >= 1 || part <= 0) {
          node = part >= 1 ? model.left[at] : model.right[at];
          continue;
        }
        const toLeft = share * part;
        const isCut = !isMissing(mass);
        const cut = isCut ? [j, mass, upper] : null;
        todo.push({ node: model.right[at], share: share - toLeft, nCuts: cuts.length, cut });
        share = toLeft;
        if (isCut) cuts.push([j, lower, mass]);
        node = model.left[at];
      }
    }
    return out;
  }

  function softmax(scores) {
    const highest = Math.max(...scores);
    const powers = scores.map((own) => Math.exp(own - highest));
    const total = powers.reduce((sum, power) => sum + power, 0);
    return powers.map((power) => power / total);
  }

  // Sum of the leaf values weighted by given shares, after the link of the tree.
  function linkedValues(model, tree, given) {
    const begin = model.offsets[tree];
    const sum = new Array(model.value[0].length).fill(0);
    given.forEach((share, node) => {
      if (share > 0 && model.left[begin + node] < 0) {
        model.value[begin + node].forEach((value, k) => (sum[k] += share * value));
      }
    });
    return model.treeLink === "softmax" ? softmax(sum) : sum;
  }

  const treePrediction = (model, tree, point, widths = null) =>
    linkedValues(model, tree, shares(model, tree, point, widths));

  // Mean or sum of the trees before the final link, from the shares in every tree.
  function scoreOfShares(model, sharesOf) {
    const sum = new Array(model.base.length).fill(0);
    sharesOf.forEach((given, tree) => {
      linkedValues(model, tree, given).forEach((value, k) => (sum[model.first[tree] + k] += value));
    });
    return sum.map((value, k) => value * model.factor + model.base[k]);
  }

  // The same for an encoded row.
  function score(model, point, widths = null) {
    const sharesOf = [];
    for (let tree = 0; tree + 1 < model.offsets.length; tree++) sharesOf.push(shares(model, tree, point, widths));
    return scoreOfShares(model, sharesOf);
  }

  // Predictions from scores.
  function linked(model, scores) {
    if (model.link === "logistic") return [sigmoid(-scores[0]), sigmoid(scores[0])];
    if (model.link === "softmax") return softmax(scores);
    if (model.link === "exp") return scores.map((value) => Math.exp(Math.min(value, 709)));
    return scores;
  }

  // Predictions for an encoded row.
  const predictPoint = (model, point, widths = null) => linked(model, score(model, point, widths));

  const predict = (model, row) => predictPoint(model, encode(model, row));

  // The most probable class of a row; the first of several.
  function label(model, row) {
    const probabilities = predict(model, row);
    return model.classes[probabilities.indexOf(Math.max(...probabilities))];
  }

  return {
    encode, kernelMass, label, linked, linkedValues, predict, predictPoint, score, scoreOfShares, shares, softmax,
    treePrediction,
  };
})();
