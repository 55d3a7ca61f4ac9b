// Why a model predicts what it does: Shapley values, derivatives, and the way to the heaviest leaf.
//
// A point holds the numbers that the gates read, NaN where missing.
const explaining = (() => {
  "use strict";
  const KERNEL = 0, SIGMOID = 1, OBLIQUE = 2, BLEND = 3;

  const isMissing = (x) => x !== x;

  // Points and weights of Gauss-Legendre integration over 0 to 1, exact for polynomials up to degree 2 n - 1.
  const quadratures = [];
  function quadrature(n) {
    if (quadratures[n] !== undefined) return quadratures[n];
    const points = new Float64Array(n), weights = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      let x = Math.cos((Math.PI * (i + 0.75)) / (n + 0.5));
      let slope = 1;
      for (let step = 0; step < 50; step++) {
        let [before, here] = [1, x];
        for (let k = 2; k <= n; k++) [before, here] = [here, ((2 * k - 1) * x * here - (k - 1) * before) / k];
        slope = (n * (x * here - before)) / (x * x - 1);
        const move = here / slope;
        x -= move;
        if (Math.abs(move) < 1e-16) break;
      }
      points[i] = 0.5 * (1 + x);
      weights[i] = 1 / ((1 - x * x) * slope * slope);
    }
    quadratures[n] = { points, weights };
    return quadratures[n];
  }

  // Exact Shapley values of the columns of the table, of the sum or mean of the trees before any link. A column that is
  // absent is divided as the training rows were. The share of a leaf is a product with a factor for each column: `a` if
  // the column is present, `b` if it is absent. Returns null if a gate reads several columns, or if the trees have links
  // of their own before their mean is taken.
  function shapley(model, point) {
    if (model.hasWeights || (model.treeLink !== "identity" && model.nTrees > 1)) return null;
    const nOutputs = model.base.length;
    const values = model.inputs.map(() => new Float64Array(nOutputs));
    const base = Float64Array.from(model.base);
    const walk = shapleyWalk(model, point, values, base);
    for (let tree = 0; tree < model.nTrees; tree++) walk(tree);
    return { values, base };
  }

  function shapleyWalk(model, point, values, base) {
    const { left, right, feature, threshold, missingLeft, absentLeft, kernel, kernels, value, features } = model;
    const lower = new Float64Array(point.length), upper = new Float64Array(point.length).fill(1);
    const present = new Float64Array(values.length).fill(1), absent = new Float64Array(values.length).fill(1);
    const isOnPath = new Uint8Array(values.length);
    const path = [];
    // Integrals of the products without the factor of each player on the path, and these factors at one point.
    const integrals = new Float64Array(values.length), factors = new Float64Array(values.length);
    let first = 0, begin = 0;

    function addLeaf(at) {
      const own = value[at], n = path.length;
      let nothing = model.factor;
      for (let i = 0; i < n; i++) {
        nothing *= absent[path[i]];
        integrals[i] = 0;
      }
      for (let k = 0; k < own.length; k++) base[first + k] += nothing * own[k];
      const { points, weights } = quadrature(Math.max(1, (n + 1) >> 1));
      for (let q = 0; q < points.length; q++) {
        const t = points[q];
        let product = weights[q] * model.factor;
        for (let i = 0; i < n; i++) {
          factors[i] = t * present[path[i]] + (1 - t) * absent[path[i]];
          product *= factors[i];
        }
        for (let i = 0; i < n; i++) if (factors[i] > 0) integrals[i] += product / factors[i];
      }
      for (let i = 0; i < n; i++) {
        const amount = integrals[i] * (present[path[i]] - absent[path[i]]);
        const out = values[path[i]];
        if (amount !== 0) for (let k = 0; k < own.length; k++) out[first + k] += amount * own[k];
      }
    }

    // Below a gate: with the part `a` of what was present of its column, and the part `b` of what was absent.
    function enter(child, player, a, b) {
      const isPresent = present[player], isAbsent = absent[player];
      present[player] *= a;
      absent[player] *= b;
      if (present[player] > 0 || absent[player] > 0) visit(child);
      present[player] = isPresent;
      absent[player] = isAbsent;
    }

    function visit(node) {
      const at = begin + node;
      if (left[at] < 0) {
        addLeaf(at);
        return;
      }
      const isSet = model.gate[at] !== KERNEL;
      const j = isSet ? model.weights[at][0][0] : feature[at];
      const player = features[j][0];
      const isNew = isOnPath[player] === 0;
      if (isNew) {
        isOnPath[player] = 1;
        path.push(player);
      }
      const b = absentLeft[at];
      if (isSet || isMissing(point[j])) {
        const part = isMissing(point[j]) ? missingLeft[at] : weightedSum(model, at, point) > 0 ? 1 : 0;
        enter(left[at], player, part, b);
        enter(right[at], player, 1 - part, 1 - b);
      } else {
        const mass = softwood.kernelMass(threshold[at], point[j], model.width[at], kernels[kernel[at]]);
        const low = lower[j], high = upper[j];
        const part = mass >= high ? 1 : mass <= low ? 0 : (mass - low) / (high - low);
        upper[j] = Math.min(high, mass);
        enter(left[at], player, part, b);
        upper[j] = high;
        lower[j] = Math.max(low, mass);
        enter(right[at], player, 1 - part, 1 - b);
        lower[j] = low;
      }
      if (isNew) {
        isOnPath[player] = 0;
        path.pop();
      }
    }

    return (tree) => {
      begin = model.offsets[tree];
      first = model.first[tree];
      visit(0);
    };
  }

  // Density at a threshold of the kernel around x; 0 for a crisp test.
  function kernelDensity(t, x, width, shape) {
    const { edges, cdf } = shape;
    const last = edges.length - 1;
    const distance = t - x;
    if (distance >= width * edges[last] || distance <= width * edges[0]) return 0;
    const z = distance / width;
    let k = 1;
    while (k < last && z > edges[k]) k++;
    const density = (cdf[k] - cdf[k - 1]) / ((edges[k] - edges[k - 1]) * width);
    return density < Infinity ? density : 0;
  }

  // The weighted sum of a gate; missing values are filled in, or make it NaN.
  function weightedSum(model, at, point) {
    const [features, weights] = model.weights[at];
    let z = model.bias[at];
    for (let k = 0; k < features.length; k++) {
      const j = features[k];
      z += weights[k] * (isMissing(point[j]) ? (model.fill === null ? NaN : model.fill[j]) : point[j]);
    }
    return z;
  }

  // Share that goes left at a gate with a weighted sum, and its derivative by the sum.
  function obliqueShare(model, at, point, z) {
    const kind = model.gate[at];
    if (kind === OBLIQUE) return [z > 0 ? 1 : 0, 0];
    if (kind === SIGMOID) {
      const s = z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z));
      return [s, s * (1 - s)];
    }
    const width = model.width[at], blend = model.blend[at];
    const r = Math.max(-0.5, Math.min(0.5, z / width));
    const x = point[model.feature[at]];
    const test = isMissing(x) ? model.missingLeft[at] : x <= model.threshold[at] ? 1 : 0;
    const slope = Math.abs(z) >= 0.5 * width ? 0 : (1.5 - 6 * r * r) / width;
    return [blend * (0.5 + 1.5 * r - 2 * r * r * r) + (1 - blend) * test, blend * slope];
  }

  // Derivatives of the score by the features, an array for each output. The share of a leaf is a product, so its
  // derivative is the share times the sum of the factors' logarithmic derivatives.
  function gradient(model, point, sharesOf) {
    const out = model.base.map(() => new Float64Array(point.length));
    const total = new Float64Array(point.length);
    for (let tree = 0; tree < model.nTrees; tree++) {
      const begin = model.offsets[tree];
      const shares = sharesOf[tree];
      const nValues = model.value[begin].length;
      const raw = Array.from({ length: nValues }, () => new Float64Array(point.length));
      for (let leaf = 0; leaf < shares.length; leaf++) {
        if (shares[leaf] <= 0 || model.left[begin + leaf] >= 0) continue;
        addLogarithmicDerivatives(model, begin, leaf, point, total.fill(0));
        const value = model.value[begin + leaf];
        for (let k = 0; k < nValues; k++) {
          const amount = shares[leaf] * value[k];
          if (amount === 0) continue;
          for (let j = 0; j < total.length; j++) raw[k][j] += amount * total[j];
        }
      }
      const linked = model.treeLink === "softmax" ? throughSoftmax(model, tree, shares, raw) : raw;
      linked.forEach((row, k) => row.forEach((slope, j) => (out[model.first[tree] + k][j] += model.factor * slope)));
    }
    return out;
  }

  function throughSoftmax(model, tree, shares, raw) {
    const p = softwood.linkedValues(model, tree, shares);
    const mean = raw[0].map((_, j) => p.reduce((sum, share, k) => sum + share * raw[k][j], 0));
    return raw.map((row, k) => row.map((slope, j) => p[k] * (slope - mean[j])));
  }

  function addLogarithmicDerivatives(model, begin, leaf, point, total) {
    const ends = new Map();
    for (let child = leaf; model.parent[begin + child] >= 0; child = model.parent[begin + child]) {
      const at = begin + model.parent[begin + child];
      const isLeft = model.left[at] === child;
      const j = model.feature[at];
      if (model.gate[at] === KERNEL) {
        if (isMissing(point[j])) continue;
        if (!ends.has(j)) ends.set(j, { low: 0, high: 1, lowSlope: 0, highSlope: 0 });
        const end = ends.get(j);
        const shape = model.kernels[model.kernel[at]], width = model.width[at];
        const mass = softwood.kernelMass(model.threshold[at], point[j], width, shape);
        const slope = -kernelDensity(model.threshold[at], point[j], width, shape);
        if (isLeft && mass < end.high) Object.assign(end, { high: mass, highSlope: slope });
        if (!isLeft && mass > end.low) Object.assign(end, { low: mass, lowSlope: slope });
        continue;
      }
      const z = weightedSum(model, at, point);
      if (isMissing(z) || (model.gate[at] === BLEND && model.fill === null && isMissing(point[j]))) continue;
      const [part, slope] = obliqueShare(model, at, point, z);
      if (slope === 0) continue;
      const factor = isLeft ? slope / part : -slope / (1 - part);
      const [features, weights] = model.weights[at];
      for (let k = 0; k < features.length; k++) total[features[k]] += factor * weights[k];
    }
    for (const [j, { low, high, lowSlope, highSlope }] of ends) {
      if (high > low) total[j] += (highSlope - lowSlope) / (high - low);
    }
  }

  // The leaf of a tree with the largest share, and the way to it: for each gate the node, the side and the share after.
  function heaviestPath(model, tree, shares) {
    const begin = model.offsets[tree];
    let leaf = -1;
    for (let node = 0; node < shares.length; node++) {
      if (model.left[begin + node] < 0 && (leaf < 0 || shares[node] > shares[leaf])) leaf = node;
    }
    const steps = [];
    for (let child = leaf; model.parent[begin + child] >= 0; child = model.parent[begin + child]) {
      const node = model.parent[begin + child];
      steps.push({ node, isLeft: model.left[begin + node] === child, share: shares[child] });
    }
    return { leaf, share: shares[leaf], steps: steps.reverse() };
  }

  return { gradient, heaviestPath, kernelDensity, quadrature, shapley };
})();
