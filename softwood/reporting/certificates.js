// How far readings can be off before the predicted class may change: the counterpart of softwood.explanations.certified_radius.
//
// A box of readings is bounded in two ways, tree by tree, and the better bound counts. The walk follows the box through
// the tree: the part that a gate sends left lies in an interval. The shift uses that the shares of leaves are masses of
// the kernel: a kernel that moves takes only a part of its mass to other leaves.
const certificates = (() => {
  "use strict";
  const KERNEL = 0, SIGMOID = 1, OBLIQUE = 2, BLEND = 3;
  // Slack for rounding: of ends of a box, of weighted sums, of sums of leaf values.
  const END_SLACK = 1e-15, SUM_SLACK = 1e-13, ROUNDING = 1e-11, LEAST_LEAD = 1e-14;
  // The search ends when its ends are this close, relative to the larger one.
  const PRECISION = 1e-6, SMALLEST_SCALE = 1e-12, LARGEST_SCALE = 1e30;
  // First trials: of a reading of oblique gates, relative to its size; of others, relative to the farthest kernel.
  const FIRST_STEP = 1e-3, FARTHER = 1.001;
  const LARGEST_POWER = 700;

  const isMissing = (x) => x !== x;

  // What depends on the trees alone

  // For each kernel gate the nearest one above that tests the same feature, and whether it is in its left branch.
  function sameAbove(model) {
    const above = new Int32Array(model.left.length).fill(-1);
    const isLeft = new Uint8Array(model.left.length);
    for (let tree = 0; tree < model.nTrees; tree++) {
      const begin = model.offsets[tree];
      for (let node = 1; begin + node < model.offsets[tree + 1]; node++) {
        if (model.gate[begin + node] !== KERNEL) continue;
        let child = node, up = model.parent[begin + node];
        while (up >= 0 && (model.gate[begin + up] !== KERNEL || model.feature[begin + up] !== model.feature[begin + node])) {
          child = up;
          up = model.parent[begin + up];
        }
        above[begin + node] = up;
        isLeft[begin + node] = up >= 0 && model.left[begin + up] === child ? 1 : 0;
      }
    }
    return { above, isLeft };
  }

  // For each kernel of half-width 1 its highest density, the mass that moves per unit, and whether it is one piece.
  function densities({ edges, cdf }) {
    const found = [];
    for (let k = 1; k < edges.length; k++) {
      if (edges[k] > edges[k - 1]) found.push((cdf[k] - cdf[k - 1]) / (edges[k] - edges[k - 1]));
    }
    const steps = [...found, 0].map((density, k) => Math.abs(density - (k === 0 ? 0 : found[k - 1])));
    const moving = 0.5 * steps.reduce((sum, step) => sum + step, 0);
    return { highest: Math.max(...found), moving, isFlat: found.length === 1 };
  }

  // What depends on the half-widths: by tree and feature the largest mass that moves per unit, and whether the kernel
  // is a box; by feature the bandwidth, and the farthest places that matter.
  function prepare(model) {
    const p = model.features.length, n = model.nTrees * p;
    const tables = {
      rates: new Float64Array(n), isBox: new Uint8Array(n).fill(1), uses: new Uint8Array(n),
      bandwidths: new Float64Array(p).fill(Infinity), isWeighed: new Uint8Array(p),
      farLow: new Float64Array(p).fill(Infinity), farHigh: new Float64Array(p).fill(-Infinity),
      slack: slackOf(model), same: (model.sameAbove ??= sameAbove(model)),
    };
    const shapes = model.kernels.map(densities);
    const first = new Float64Array(n).fill(NaN), firstKind = new Int32Array(n).fill(-1);
    for (let tree = 0; tree < model.nTrees; tree++) {
      for (let at = model.offsets[tree]; at < model.offsets[tree + 1]; at++) {
        if (model.left[at] < 0) continue;
        if (model.gate[at] === KERNEL) addKernelGate(model, tables, shapes, tree, at, first, firstKind);
        else addOtherGate(model, tables, tree, at);
      }
    }
    if (model.hasWeights) tables.rates.fill(Infinity);
    return tables;
  }

  function addKernelGate(model, tables, shapes, tree, at, first, firstKind) {
    const j = model.feature[at], place = tree * model.features.length + j;
    const width = model.width[at], kind = model.kernel[at], shape = shapes[kind];
    const { edges } = model.kernels[kind];
    const reach = width * Math.max(...edges.map(Math.abs));
    tables.uses[place] = 1;
    tables.farLow[j] = Math.min(tables.farLow[j], model.threshold[at] - reach);
    tables.farHigh[j] = Math.max(tables.farHigh[j], model.threshold[at] + reach);
    tables.bandwidths[j] = Math.min(tables.bandwidths[j], (0.5 * width) / shape.highest);
    tables.rates[place] = Math.max(tables.rates[place], shape.moving / width);
    const isNew = firstKind[place] < 0;
    if (isNew) [first[place], firstKind[place]] = [width, kind];
    // The shares of gates with different kernels are not masses of one kernel.
    if (!isNew && (first[place] !== width || (firstKind[place] !== kind && width > 0))) {
      tables.rates[place] = Infinity;
      tables.isBox[place] = 0;
    }
    if (!shape.isFlat && width > 0) tables.isBox[place] = 0;
  }

  function addOtherGate(model, tables, tree, at) {
    const p = model.features.length;
    const read = Array.from(model.weights[at][0]);
    for (const j of read) tables.isWeighed[j] = 1;
    if (model.gate[at] === BLEND) {
      const j = model.feature[at];
      const reach = model.width[at] * Math.max(...model.kernels[0].edges.map(Math.abs));
      tables.farLow[j] = Math.min(tables.farLow[j], model.threshold[at] - reach);
      tables.farHigh[j] = Math.max(tables.farHigh[j], model.threshold[at] + reach);
      read.push(j);
    }
    for (const j of read) {
      tables.uses[tree * p + j] = 1;
      tables.bandwidths[j] = NaN;
    }
  }

  function slackOf(model) {
    let largest = 0;
    for (let tree = 0; tree < model.nTrees; tree++) {
      let own = 0;
      for (let at = model.offsets[tree]; at < model.offsets[tree + 1]; at++) {
        for (const value of model.value[at]) own = Math.max(own, Math.abs(value));
      }
      largest += own;
    }
    const size = Math.max(...model.base.map(Math.abs)) + (model.treeLink === "softmax" ? 1 : largest * model.factor);
    return Math.max(ROUNDING * size, LEAST_LEAD);
  }

  // Why moves cannot be measured in bandwidths; empty if they can.
  function whyNoRadius(model, tables) {
    if (model.hasWeights) return "gates that weigh several columns have no bandwidth";
    const isSome = tables.bandwidths.some((width) => width > 0 && width < Infinity);
    return isSome || model.left[0] < 0 ? "" : "all columns that the model uses are tested crisply, with bandwidth 0";
  }

  const sigmoid = (z) => (z >= 0 ? 1 / (1 + Math.exp(-z)) : Math.exp(z) / (1 + Math.exp(z)));

  function smoothStep(z, width) {
    if (z <= -0.5 * width) return 0;
    if (z >= 0.5 * width) return 1;
    const r = z / width;
    return 0.5 + 1.5 * r - 2 * r * r * r;
  }

  // Bounds around one row. `label` is the number of the class whose lead over each other output is bounded; below 0,
  // the outputs themselves are.
  class Surroundings {
    constructor(model, tables, point, label) {
      Object.assign(this, { model, tables, point, label });
      const q = model.nValues, nOutputs = model.base.length;
      this.isLead = label >= 0 && nOutputs > 1;
      this.own = this.isLead && q === nOutputs ? label : -1;
      let n = 0;
      for (let tree = 0; tree < model.nTrees; tree++) n = Math.max(n, model.offsets[tree + 1] - model.offsets[tree]);
      const numbers = (length) => new Float64Array(length);
      // By node: the walk; parts that go left, and masses at both ends of the box; bounds of the values.
      Object.assign(this, { nodes: new Int32Array(n), stack: new Int32Array(n + 1) });
      Object.assign(this, { parts: numbers(2 * n), masses: numbers(2 * n) });
      Object.assign(this, { least: numbers(n * q), greatest: numbers(n * q) });
      // Of a tree: the range of the leaves that the box reaches, and bounds. Bounds of the ensemble. The box.
      Object.assign(this, { leafLow: numbers(q), leafHigh: numbers(q), foundLow: numbers(q), foundHigh: numbers(q) });
      Object.assign(this, { totalLow: numbers(nOutputs), totalHigh: numbers(nOutputs) });
      Object.assign(this, { low: Float64Array.from(point), high: Float64Array.from(point), delta: numbers(point.length) });
      // Smallest and largest part that goes left at the last gate.
      Object.assign(this, { smallest: 0, largest: 0 });
      this.centres = this.centresOf();
      this.still = null;
    }

    // Predictions of the trees without link, or of the lead of the class; null if there is no shift.
    centresOf() {
      const { model, own, point } = this;
      if (model.hasWeights) return null;
      const whole = { ...model, treeLink: "identity" };
      return model.first.map((_, tree) => {
        const raw = softwood.treePrediction(whole, tree, point);
        return own < 0 ? raw : raw.map((score) => raw[own] - score);
      });
    }

    // Gates

    kernelParts(begin, node, isBox) {
      const { masses, tables: { same } } = this;
      let lowerLow = 0, lowerHigh = 0, upperLow = 1, upperHigh = 1;
      let at = begin + node;
      for (let up = same.above[at]; up >= 0; up = same.above[at]) {
        if (same.isLeft[at] === 1) {
          if (masses[2 * up] < upperLow) upperLow = masses[2 * up];
          if (masses[2 * up + 1] < upperHigh) upperHigh = masses[2 * up + 1];
        } else {
          if (masses[2 * up] > lowerLow) lowerLow = masses[2 * up];
          if (masses[2 * up + 1] > lowerHigh) lowerHigh = masses[2 * up + 1];
        }
        at = begin + up;
      }
      const atLow = masses[2 * node], atHigh = masses[2 * node + 1];
      if (isBox) {
        // The larger the reading, the smaller the part: a cut box that moves up has more of its mass above.
        this.smallest = this.largest = 0;
        if (lowerLow >= upperLow || atLow >= upperLow) this.largest = 1;
        else if (atLow > lowerLow) this.largest = (atLow - lowerLow) / (upperLow - lowerLow);
        if (lowerHigh < upperHigh) {
          if (atHigh >= upperHigh) this.smallest = 1;
          else if (atHigh > lowerHigh) this.smallest = (atHigh - lowerHigh) / (upperHigh - lowerHigh);
        }
        return;
      }
      // In general, only the masses of the two sides are bounded.
      const mostLeft = atLow - lowerHigh, leastLeft = atHigh - lowerLow;
      const mostRight = upperLow - atHigh, leastRight = upperHigh - atLow;
      this.largest = mostLeft <= 0 ? 0 : leastRight <= 0 ? 1 : mostLeft / (mostLeft + leastRight);
      this.smallest = mostRight <= 0 ? 1 : leastLeft <= 0 ? 0 : leastLeft / (leastLeft + mostRight);
      if (this.smallest > this.largest) [this.smallest, this.largest] = [0, 1]; // the box does not reach the node
    }

    // Smallest and largest weighted sum of a gate; NaN if a value is missing.
    obliqueSums(at) {
      const { model, low, high } = this;
      const [features, weights] = model.weights[at];
      let lowest = model.bias[at], highest = lowest, size = Math.abs(lowest), isMoved = false;
      for (let k = 0; k < features.length; k++) {
        const j = features[k], filled = model.fill === null ? NaN : model.fill[j];
        const start = isMissing(low[j]) ? filled : low[j], stop = isMissing(high[j]) ? filled : high[j];
        isMoved ||= start < stop;
        const one = weights[k] * start, other = weights[k] * stop;
        lowest += Math.min(one, other);
        highest += Math.max(one, other);
        size += Math.max(Math.abs(one), Math.abs(other));
      }
      const slack = isMoved && size < Infinity ? SUM_SLACK * size : 0;
      return [lowest - slack, highest + slack];
    }

    obliqueParts(at) {
      const { model, low, high } = this;
      const [lowest, highest] = this.obliqueSums(at);
      const j = model.feature[at], kind = model.gate[at];
      if (isMissing(lowest) || (kind === BLEND && isMissing(low[j]) && model.fill === null)) return;
      if (kind === SIGMOID) {
        [this.smallest, this.largest] = [sigmoid(lowest), sigmoid(highest)];
      } else if (kind === OBLIQUE) {
        [this.smallest, this.largest] = [lowest > 0 ? 1 : 0, highest > 0 ? 1 : 0];
      } else {
        const blend = model.blend[at], width = model.width[at];
        const passes = (x) => (isMissing(x) ? model.missingLeft[at] : x <= model.threshold[at] ? 1 : 0);
        this.smallest = blend * smoothStep(lowest, width) + (1 - blend) * passes(high[j]);
        this.largest = blend * smoothStep(highest, width) + (1 - blend) * passes(low[j]);
      }
    }

    setParts(tree, begin, node) {
      const { low, high, masses, model } = this;
      const at = begin + node, j = model.feature[at];
      this.smallest = this.largest = model.missingLeft[at];
      if (model.gate[at] !== KERNEL) {
        this.obliqueParts(at);
      } else if (!isMissing(low[j])) {
        const shape = model.kernels[model.kernel[at]], threshold = model.threshold[at], width = model.width[at];
        masses[2 * node] = softwood.kernelMass(threshold, low[j], width, shape);
        masses[2 * node + 1] = low[j] < high[j] ? softwood.kernelMass(threshold, high[j], width, shape) : masses[2 * node];
        this.kernelParts(begin, node, this.tables.isBox[tree * low.length + j] === 1);
      }
    }

    // Trees

    // From the root to the leaves that the box reaches, and the bounds on the way back.
    walk(tree) {
      const { nodes, stack, parts } = this;
      const { left, right, offsets, value } = this.model;
      const begin = offsets[tree];
      this.leafLow.fill(Infinity);
      this.leafHigh.fill(-Infinity);
      let n = 0, height = 1;
      stack[0] = 0;
      while (height > 0) {
        const node = stack[--height], at = begin + node;
        nodes[n++] = node;
        if (left[at] < 0) {
          this.enterLeaf(node, value[at]);
          continue;
        }
        this.setParts(tree, begin, node);
        const { smallest, largest } = this;
        parts[2 * node] = smallest;
        parts[2 * node + 1] = largest;
        if (largest > 0) stack[height++] = left[at];
        if (smallest < 1) stack[height++] = right[at];
      }
      for (let t = n - 1; t >= 0; t--) if (left[begin + nodes[t]] >= 0) this.combine(begin, nodes[t]);
    }

    enterLeaf(node, values) {
      const { least, greatest, leafLow, leafHigh, own } = this;
      for (let k = 0, place = node * values.length; k < values.length; k++, place++) {
        const v = own < 0 ? values[k] : values[own] - values[k];
        least[place] = greatest[place] = v;
        if (v < leafLow[k]) leafLow[k] = v;
        if (v > leafHigh[k]) leafHigh[k] = v;
      }
    }

    // Bounds of a node from those of its children.
    combine(begin, node) {
      const { least, greatest, parts } = this;
      const { left, right, nValues } = this.model;
      const from = parts[2 * node], to = parts[2 * node + 1];
      const one = (to > 0 ? left[begin + node] : right[begin + node]) * nValues;
      const other = (from < 1 ? right[begin + node] : left[begin + node]) * nValues;
      for (let k = 0; k < nValues; k++) {
        let a = least[one + k], b = least[other + k];
        least[node * nValues + k] = b + (a > b ? from : to) * (a - b);
        a = greatest[one + k];
        b = greatest[other + k];
        greatest[node * nValues + k] = b + (a > b ? to : from) * (a - b);
      }
    }

    // Largest share that moves to other leaves. In a ball, only the sum of the parts is bounded.
    movedMass(tree, isBall) {
      const { delta, tables: { rates } } = this;
      let stays = 1, largest = 0;
      for (let j = 0; j < delta.length; j++) {
        if (!(delta[j] > 0)) continue;
        const rate = rates[tree * delta.length + j];
        const part = rate > 0 ? Math.min(1, delta[j] * rate) : 0;
        stays *= 1 - part;
        largest = Math.max(largest, part);
      }
      return isBall ? largest : 1 - stays;
    }

    // Bounds of one tree: the better of walk and shift.
    boundTree(tree, isBall) {
      const { centres, foundLow, foundHigh, leafLow, leafHigh, model } = this;
      const mass = centres === null ? 1 : this.movedMass(tree, isBall);
      this.walk(tree);
      for (let k = 0; k < foundLow.length; k++) {
        foundLow[k] = this.least[k];
        foundHigh[k] = this.greatest[k];
      }
      if (mass < 1) {
        for (let k = 0; k < foundLow.length; k++) {
          const change = mass * (leafHigh[k] - leafLow[k]);
          foundLow[k] = Math.max(foundLow[k], centres[tree][k] - change);
          foundHigh[k] = Math.min(foundHigh[k], centres[tree][k] + change);
        }
      }
      if (model.treeLink === "softmax") this.throughSoftmax();
    }

    // Bounds of a tree's values become bounds of their softmax, or of the lead of the class in it.
    throughSoftmax() {
      const { foundLow, foundHigh, own } = this;
      const from = Float64Array.from(foundLow), to = Float64Array.from(foundHigh);
      const power = (z) => Math.exp(Math.min(z, LARGEST_POWER));
      for (let k = 0; k < from.length; k++) {
        let restLow = own < 0 ? 0 : 1, restHigh = restLow;
        for (let o = 0; o < from.length; o++) {
          if (o === k || o === own) continue;
          restLow += own < 0 ? power(from[o] - to[k]) : power(-to[o]);
          restHigh += own < 0 ? power(to[o] - from[k]) : power(-from[o]);
        }
        if (own < 0) {
          [foundLow[k], foundHigh[k]] = [1 / (1 + restHigh), 1 / (1 + restLow)];
        } else if (k !== own) {
          const one = power(-from[k]), other = power(-to[k]);
          foundLow[k] = (1 - one) / ((one < 1 ? restHigh : restLow) + one);
          foundHigh[k] = (1 - other) / ((other < 1 ? restLow : restHigh) + other);
        }
      }
    }

    // Ensembles

    // The box with half-lengths of `scale` times `lengths`; `only` is the one reading that moves, or -1.
    setBox(lengths, scale, only) {
      const { delta, high, low, point } = this;
      for (let j = 0; j < point.length; j++) {
        low[j] = high[j] = point[j];
        delta[j] = 0;
        if (lengths[j] > 0 && scale > 0 && (only < 0 || only === j) && !isMissing(point[j])) {
          delta[j] = scale * lengths[j];
          const wide = delta[j] + END_SLACK * (Math.abs(point[j]) + delta[j]);
          low[j] -= wide;
          high[j] += wide;
        }
      }
    }

    // Bounds of all trees for the row itself: trees that do not read the one reading that moves have them in every box.
    boundStill() {
      this.setBox(this.delta, 0, -1);
      this.still = this.model.first.map((_, tree) => {
        this.boundTree(tree, false);
        return [Float64Array.from(this.foundLow), Float64Array.from(this.foundHigh)];
      });
    }

    // Bounds of the ensemble. With a class, only the lower bounds are right.
    boundAll(isBall, only) {
      const { model, label, isLead, totalLow, totalHigh, tables, point } = this;
      for (let k = 0; k < totalLow.length; k++) {
        totalLow[k] = totalHigh[k] = isLead ? model.base[label] - model.base[k] : model.base[k];
      }
      for (let tree = 0; tree < model.nTrees; tree++) {
        if (only >= 0 && tables.uses[tree * point.length + only] === 0) {
          this.addTree(model.first[tree], ...this.still[tree]);
        } else {
          this.boundTree(tree, isBall);
          this.addTree(model.first[tree], this.foundLow, this.foundHigh);
        }
      }
      if (totalLow.length === 1 && label === 0) totalLow[0] = -totalHigh[0];
    }

    addTree(first, from, to) {
      const { isLead, label, model: { factor }, own, totalLow, totalHigh } = this;
      for (let k = 0; k < from.length; k++) {
        const o = first + k;
        if (own >= 0 || !isLead) {
          totalLow[o] += factor * from[k];
          totalHigh[o] += factor * to[k];
        } else if (o === label) {
          for (let other = 0; other < totalLow.length; other++) totalLow[other] += factor * from[k];
        } else {
          totalLow[o] -= factor * to[k];
        }
      }
    }

    leads() {
      const { label, tables, totalLow } = this;
      return totalLow.every((lead, k) => lead > tables.slack || (k === label && totalLow.length > 1));
    }

    // Largest factor on the half-lengths for which the class is certain: from the row itself to the infinite box, to 1,
    // by doubling, and by halving the interval.
    search(lengths, isBall, only) {
      if (this.still === null && only >= 0) this.boundStill();
      let scale = 0, from = 0, to = Infinity;
      for (;;) {
        this.setBox(lengths, scale, only);
        this.boundAll(isBall, only);
        const isCertain = this.leads();
        if (isCertain) from = scale;
        else to = Math.min(to, scale);
        if (scale === 0 && isCertain) scale = Infinity;
        else if (from > LARGEST_SCALE || to === 0) return from;
        else if (to === Infinity) scale = from > 0 ? 2 * from : 1;
        else if (to - from <= PRECISION * to || to < SMALLEST_SCALE) return from;
        else scale = 0.5 * (from + to);
      }
    }

    // Results

    // How far a reading can be off if all others are right; NaN if it is missing.
    reach(j) {
      const { point, tables } = this;
      if (isMissing(point[j])) return NaN;
      const isWeighed = tables.isWeighed[j] === 1;
      if (tables.farLow[j] === Infinity && !isWeighed) return Infinity;
      const lengths = new Float64Array(point.length);
      lengths[j] = isWeighed
        ? FIRST_STEP * (Math.abs(point[j]) + 1)
        : FARTHER * Math.max(Math.abs(point[j] - tables.farLow[j]), Math.abs(point[j] - tables.farHigh[j]));
      return lengths[j] > 0 ? this.search(lengths, false, j) * lengths[j] : NaN;
    }

    // The class stays while the sum of all moves in bandwidths is below this.
    radius() {
      const isFixed = (j) => this.model.features[j][1] !== null;
      const moving = this.tables.bandwidths.map((width, j) => (isFixed(j) || isMissing(width) ? 0 : width));
      return this.search(moving, true, -1);
    }

    // Smallest and largest predictions if one reading is off by up to `error`; only without a class.
    bounds(j, error) {
      if (this.still === null) this.boundStill();
      const lengths = new Float64Array(this.point.length);
      lengths[j] = error;
      this.setBox(lengths, 1, j);
      this.boundAll(false, j);
      const { slack } = this.tables;
      const ends = [Array.from(this.totalLow, (low) => low - slack), Array.from(this.totalHigh, (high) => high + slack)];
      return ends.map((scores) => softwood.linked(this.model, scores));
    }
  }

  return { prepare, Surroundings, whyNoRadius };
})();
