// The data of the page: arrays from base64, and models in the form that evaluator.js reads.
const decoding = (() => {
  "use strict";
  const TYPES = { int8: Int8Array, int16: Int16Array, int32: Int32Array, float64: Float64Array };
  const NODE_ENTRIES = [
    "left", "right", "gate", "feature", "threshold", "missingLeft", "width", "kernel", "blend", "bias", "mass",
  ];

  function unpack(packed) {
    if ("all" in packed) return new Float64Array(packed.n).fill(packed.all);
    const text = atob(packed.bytes);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return new TYPES[packed.type](bytes.buffer);
  }

  // Rows of an array, as views of its memory.
  function rowsOf(flat, length) {
    const rows = new Array(flat.length / length);
    for (let i = 0; i < rows.length; i++) rows[i] = flat.subarray(i * length, (i + 1) * length);
    return rows;
  }

  function unpackWeights(packed, nNodes) {
    const weights = new Array(nNodes).fill(null);
    if (packed === null) return weights;
    const begin = unpack(packed.begin), features = unpack(packed.features), values = unpack(packed.weights);
    for (let node = 0; node < nNodes; node++) {
      const own = [begin[node], begin[node + 1]];
      weights[node] = [features.subarray(...own), values.subarray(...own)];
    }
    return weights;
  }

  // Parent and depth of each node, within its tree; the parent of a root is -1.
  function addStructure(model) {
    const n = model.left.length;
    model.parent = new Int32Array(n).fill(-1);
    model.depth = new Int32Array(n);
    for (let tree = 0; tree + 1 < model.offsets.length; tree++) {
      const begin = model.offsets[tree];
      const todo = [0];
      while (todo.length > 0) {
        const node = todo.pop();
        if (model.left[begin + node] < 0) continue;
        for (const child of [model.left[begin + node], model.right[begin + node]]) {
          model.parent[begin + child] = node;
          model.depth[begin + child] = model.depth[begin + node] + 1;
          todo.push(child);
        }
      }
    }
  }

  // Whether a gate weighs columns of the table: it is no test of one number, and no set of categories of one column.
  function weighsColumns(model, at) {
    const KERNEL = 0, OBLIQUE = 2;
    if (model.gate[at] === KERNEL) return false;
    const inputs = new Set(Array.from(model.weights[at][0], (j) => model.features[j][0]));
    const [input] = inputs;
    return model.gate[at] !== OBLIQUE || inputs.size !== 1 || model.inputs[input].categories === null;
  }

  function decodeModel(packed) {
    const model = { ...packed };
    for (const name of NODE_ENTRIES) model[name] = unpack(packed[name]);
    // Share of an absent value that goes left: that of a missing one, if nothing else is given.
    model.absentLeft = packed.absentLeft === null ? model.missingLeft : unpack(packed.absentLeft);
    model.value = rowsOf(unpack(packed.value), packed.nValues);
    model.weights = unpackWeights(packed.weights, model.left.length);
    model.nTrees = model.offsets.length - 1;
    model.hasWeights = packed.weights !== null && model.left.some((child, at) => child >= 0 && weighsColumns(model, at));
    addStructure(model);
    return model;
  }

  return { decodeModel, unpack };
})();
