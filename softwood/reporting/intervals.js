// Intervals of targets and sets of classes for the row of the page, as predict_interval and predict_set make them.
const intervals = (() => {
  "use strict";

  function unpackForest(packed) {
    const forest = { ...packed };
    for (const name of ["left", "right", "feature", "threshold", "missingLeft", "value"]) {
      forest[name] = decoding.unpack(packed[name]);
    }
    return forest;
  }

  // What the data of the page say about errors on held-out rows; null if nothing.
  const prepare = (packed) =>
    packed === null ? null : { ...packed, forest: packed.forest ? unpackForest(packed.forest) : null };

  // Prediction of the trees for an input, which divides rows with a missing value.
  function predict(forest, input) {
    const nTrees = forest.offsets.length - 1, sums = new Array(forest.base.length).fill(0);
    for (let tree = 0; tree < nTrees; tree++) {
      const begin = forest.offsets[tree], todo = [[0, 1]];
      while (todo.length > 0) {
        const [node, share] = todo.pop(), at = begin + node;
        if (share === 0) continue;
        if (forest.left[at] < 0) {
          for (let k = 0; k < sums.length; k++) sums[k] += share * forest.value[at * sums.length + k];
          continue;
        }
        const x = input[forest.feature[at]];
        const left = Number.isNaN(x) ? forest.missingLeft[at] : x <= forest.threshold[at] ? 1 : 0;
        todo.push([forest.left[at], share * left], [forest.right[at], share * (1 - left)]);
      }
    }
    return sums.map((sum, k) => forest.base[k] + forest.factor * sum);
  }

  function spreadOf(found, model, point, prediction) {
    if (found.forest === null) return found.unit;
    const filled = Array.from(point, (x, j) => (Number.isNaN(x) && model.fill !== null ? model.fill[j] : x));
    const sizes = predict(found.forest, [...filled, ...prediction]);
    return sizes.map((size, k) => Math.max(size, found.least) * found.unit[k]);
  }

  // For each coverage the interval of each target, [low, high], or the numbers of the classes in the set.
  function of(found, model, point, prediction) {
    if (found.sets) {
      const best = prediction.indexOf(Math.max(...prediction)), all = Array.from(prediction.keys());
      return found.sets.map((bound) => all.filter((k) => k === best || bound === null || 1 - prediction[k] <= bound));
    }
    const spread = spreadOf(found, model, point, prediction);
    return found.ends.map((sides) => sides[0].outputs.map((_, target) => {
      const ends = sides.map(({ outputs, bounds }, side) => {
        const k = outputs[target], bound = bounds[target];
        return bound === null ? (side === 0 ? -Infinity : Infinity) : prediction[k] + bound * spread[k];
      });
      return [Math.min(...ends), Math.max(...ends)];
    }));
  }

  return { of, prepare };
})();
