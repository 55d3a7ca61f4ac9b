// Numbers and tests as people read them, and trees as text.
const words = (() => {
  "use strict";
  const KERNEL = 0, BLEND = 3;
  // Terms of a weighted sum that are shown; those below this part of the largest are left out.
  const MOST_TERMS = 3, LEAST_SIZE = 1e-3;
  const LARGEST_PLAIN = 1e7, SMALLEST_PLAIN = 1e-4, LARGEST_UNGROUPED = 1e4;
  // Values that a line of text shows.
  const MOST_VALUES = 8;

  // A whole number, in groups of three digits.
  const count = (n) => Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");

  // A number with a few digits that count.
  function number(x, digits = 4) {
    if (x === null || x === undefined || Number.isNaN(x)) return "–";
    if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
    if (x === 0) return "0";
    const size = Math.abs(x);
    if (size >= LARGEST_PLAIN || size < SMALLEST_PLAIN) return x.toExponential(digits - 1).replace("-", "−");
    if (size >= LARGEST_UNGROUPED) return (x < 0 ? "−" : "") + count(Number(size.toPrecision(digits)));
    const decimals = Math.max(0, digits - 1 - Math.floor(Math.log10(size)));
    let text = x.toFixed(Math.min(decimals, 12));
    if (text.includes(".")) text = text.replace(/0+$/, "").replace(/\.$/, "");
    return text.replace("-", "−");
  }

  const signed = (x, digits = 3) => (x > 0 ? "+" : "") + number(x, digits);

  // Signed numbers with the same decimals: three digits of the largest.
  function alike(values) {
    const largest = Math.max(...values.map(Math.abs), 1e-300);
    if (largest >= LARGEST_PLAIN || largest < SMALLEST_PLAIN) return (x) => signed(x, 3);
    const decimals = Math.max(0, 2 - Math.floor(Math.log10(largest)));
    return (x) => (x > 0 ? "+" : "") + x.toFixed(decimals).replace("-", "−");
  }

  function percent(x) {
    if (!Number.isFinite(x)) return "–";
    const value = 100 * x;
    const decimals = value >= 99.95 || value === 0 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 3;
    return `${value.toFixed(decimals)} %`;
  }

  // Three digits that count, in the form of Python's format "g".
  function general(x, digits) {
    if (x === 0) return "0";
    const exponent = Math.floor(Math.log10(Math.abs(Number(x.toPrecision(digits)))));
    if (exponent < -4 || exponent >= digits) {
      const [head, power] = x.toExponential(digits - 1).split("e");
      const sign = power[0] === "-" ? "-" : "+";
      const short = head.includes(".") ? head.replace(/0+$/, "").replace(/\.$/, "") : head;
      return `${short}e${sign}${power.slice(1).padStart(2, "0")}`;
    }
    const text = x.toPrecision(digits);
    return text.includes(".") ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
  }

  const isCategory = (model, feature) => model.features[feature][1] !== null;

  // Numbers of the terms of a weighted sum, the largest first, without those that are as good as zero.
  function largestTerms(model, at) {
    const [features, weights] = model.weights[at];
    const sizes = Array.from(weights, (weight, k) => Math.abs(weight) * (model.deviations?.[features[k]] ?? 1));
    const order = Array.from(sizes.keys()).sort((a, b) => sizes[b] - sizes[a] || a - b);
    return order.filter((k) => sizes[k] > LEAST_SIZE * sizes[order[0]]);
  }

  // The weighted sum of a gate with its largest terms.
  function obliqueText(model, at, digits, isLeft) {
    const [features, weights] = model.weights[at];
    const withSign = (x) => (x < 0 ? "" : "+") + general(x, digits);
    const order = largestTerms(model, at);
    const terms = order.slice(0, MOST_TERMS).map((k) => `${withSign(weights[k])} ${model.featureNames[features[k]]}`);
    if (order.length > MOST_TERMS) terms.push(`+ ${order.length - MOST_TERMS} more`);
    return `${[...terms, withSign(model.bias[at])].join(" ")} ${isLeft ? ">" : "<="} 0`;
  }

  // The test that leads to the left or to the right child of a node, as in softwood.export_text.
  function sideText(model, at, isLeft, decimals = 3) {
    const gate = model.gate[at], feature = model.feature[at];
    if (gate === KERNEL && isCategory(model, feature)) {
      return (isLeft ? "not " : "") + model.featureNames[feature];
    }
    let test = "";
    if (gate === KERNEL || gate === BLEND) {
      test = `${model.featureNames[feature]} ${isLeft ? "<=" : "> "} ${model.threshold[at].toFixed(decimals)}`;
      if (gate === KERNEL) return test + (model.width[at] > 0 ? ` ±${general(model.width[at], decimals)}` : "");
    }
    const oblique = obliqueText(model, at, decimals, isLeft);
    if (gate !== BLEND) return oblique;
    const [own, other] = [(1 - model.blend[at]).toFixed(2), model.blend[at].toFixed(2)];
    if (own === "0.00" || other === "0.00") return own === "0.00" ? oblique : test;
    return `${own} [${test}] + ${other} [${oblique}]`;
  }

  // The same in fewer characters, with signs of mathematics.
  function shortTest(model, at, isLeft) {
    const gate = model.gate[at], feature = model.feature[at];
    const name = model.featureNames[feature];
    if (gate === KERNEL && isCategory(model, feature)) return (isLeft ? "not " : "") + name;
    if (gate === KERNEL || (gate === BLEND && model.blend[at] < 0.5)) {
      return `${name} ${isLeft ? "≤" : ">"} ${number(model.threshold[at])}`;
    }
    const [features, weights] = model.weights[at];
    const order = largestTerms(model, at);
    const names = order.slice(0, 2).map((k) => (weights[k] < 0 === isLeft ? "low " : "high ") + model.featureNames[features[k]]);
    return names.join(", ") + (order.length > 2 ? ", …" : "");
  }

  // The test of a gate in one or two lines.
  function testLines(model, at) {
    const text = shortTest(model, at, true);
    const isNumber = model.gate[at] === KERNEL && !isCategory(model, model.feature[at]);
    return isNumber ? [model.featureNames[model.feature[at]], `≤ ${number(model.threshold[at])}`] : [text];
  }

  // The inputs that the gate of a node reads.
  function inputsOf(model, at) {
    if (model.left[at] < 0) return [];
    const features = model.weights[at] !== null && model.gate[at] !== KERNEL ? Array.from(model.weights[at][0]) : [];
    if (model.gate[at] === KERNEL || model.gate[at] === BLEND) features.push(model.feature[at]);
    return features.map((feature) => model.features[feature][0]);
  }

  // No minus before a zero.
  const plainZero = (text) => text.replace(/^-(0\.?0*)$/, "$1");

  // The value of a node of a tree: its class, the score of the class that the tree adds to, or numbers.
  function valueText(model, value, tree) {
    const labels = model.valueLabels?.slice(model.first[tree]) ?? (model.isMixture ? model.outputs : null);
    if (labels !== null) {
      const best = value.indexOf(Math.max(...value));
      return `${labels[best]}: ${plainZero(value[best].toFixed(3))}`;
    }
    const shown = Array.from(value.slice(0, MOST_VALUES), (v) => plainZero(v.toFixed(3))).join(", ");
    return `value ${shown}${value.length > MOST_VALUES ? ", ..." : ""}`;
  }

  // A line for each node of a tree, depth first.
  function treeLines(model, tree, maxLines = Infinity) {
    const begin = model.offsets[tree];
    const lines = [];
    const todo = [0];
    while (todo.length > 0 && lines.length < maxLines) {
      const node = todo.pop();
      const at = begin + node;
      const depth = model.depth[at];
      const above = begin + model.parent[at];
      const indent = depth === 0 ? "" : "|   ".repeat(depth - 1) + "|-- ";
      const side = depth === 0 ? "" : `${sideText(model, above, model.left[above] === node)}  `;
      const mass = model.hasMass ? `mass ${model.mass[at].toFixed(1)}, ` : "";
      lines.push(`${indent}${side}[${mass}${valueText(model, computing.valueOf(model, at), tree)}]`);
      if (model.left[at] >= 0) todo.push(model.right[at], model.left[at]);
    }
    return lines;
  }

  return { alike, count, inputsOf, number, percent, shortTest, sideText, signed, testLines, treeLines, valueText };
})();
