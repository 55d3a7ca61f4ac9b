// Numbers and tests as people read them, and trees as text.
const words = (() => {
  "use strict";
  const KERNEL = 0, BLEND = 3;
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

  const withSign = (x, decimals) => (x < 0 ? "" : "+") + x.toFixed(decimals);

  const isCategory = (model, feature) => model.features[feature][1] !== null;

  // The weighted sum of a gate with its largest terms.
  function obliqueText(model, at, decimals, isLeft) {
    const [features, weights] = model.weights[at];
    const order = Array.from(weights.keys());
    const size = (k) => Math.abs(weights[k]) * (model.scale === null ? 1 : model.scale[features[k]]);
    order.sort((a, b) => size(b) - size(a) || a - b);
    const terms = order.slice(0, 3).map((k) => `${withSign(weights[k], decimals)} ${model.featureNames[features[k]]}`);
    const rest = order.length > 3 ? ` + ${order.length - 3} more` : "";
    return `${terms.join(" ")}${rest} ${withSign(model.bias[at], decimals)} ${isLeft ? ">" : "<="} 0`;
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
    return `${(1 - model.blend[at]).toFixed(2)} [${test}] + ${model.blend[at].toFixed(2)} [${oblique}]`;
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
    const order = Array.from(weights.keys());
    const size = (k) => Math.abs(weights[k]) * (model.scale === null ? 1 : model.scale[features[k]]);
    order.sort((a, b) => size(b) - size(a));
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

  function valueText(model, value) {
    if (model.isMixture) {
      const best = value.indexOf(Math.max(...value));
      return `${model.outputs[best]}: ${value[best].toFixed(3)}`;
    }
    const shown = Array.from(value.slice(0, MOST_VALUES), (v) => v.toFixed(3)).join(", ");
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
      lines.push(`${indent}${side}[${mass}${valueText(model, computing.valueOf(model, at))}]`);
      if (model.left[at] >= 0) todo.push(model.right[at], model.left[at]);
    }
    return lines;
  }

  return { alike, count, inputsOf, number, percent, shortTest, sideText, signed, testLines, treeLines, valueText };
})();
