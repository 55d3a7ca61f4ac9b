// Which nodes of a tree the flow shows, and where: numbers only, no drawing.
const flowLayout = (() => {
  "use strict";

  // Nodes depth first, left before right.
  function orderOf(model, tree) {
    const begin = model.offsets[tree];
    const order = [];
    const todo = [0];
    while (todo.length > 0) {
      const node = todo.pop();
      order.push(node);
      if (model.left[begin + node] >= 0) todo.push(model.right[begin + node], model.left[begin + node]);
    }
    return order;
  }

  // Number of nodes below each node.
  function sizesBelow(model, tree, order) {
    const begin = model.offsets[tree];
    const below = new Int32Array(order.length);
    for (let k = order.length - 1; k > 0; k--) {
      const node = order[k];
      below[model.parent[begin + node]] += below[node] + 1;
    }
    return below;
  }

  // Mean of the leaves' predictions in each node, weighted by the shares of a row: rows of `length` numbers.
  function meanValues(model, tree, order, shares, predictionOf, length) {
    const begin = model.offsets[tree];
    const values = new Float64Array(shares.length * length);
    for (let k = order.length - 1; k >= 0; k--) {
      const node = order[k];
      if (shares[node] <= 0) continue;
      if (model.left[begin + node] < 0) {
        const value = predictionOf(node);
        for (let o = 0; o < length; o++) values[node * length + o] = shares[node] * value[o];
      }
      const parent = model.parent[begin + node];
      if (parent >= 0) for (let o = 0; o < length; o++) values[parent * length + o] += values[node * length + o];
    }
    for (let node = 0; node < shares.length; node++) {
      if (shares[node] > 0) for (let o = 0; o < length; o++) values[node * length + o] /= shares[node];
    }
    return values;
  }

  // Part of the training mass in each node. A tree on a stream forgets the masses above a new split, so the mass of a
  // node is divided in the proportion of its children's.
  function massShares(model, tree, order) {
    const begin = model.offsets[tree];
    const shares = new Float64Array(order.length);
    shares[0] = 1;
    for (const node of order) {
      const left = model.left[begin + node], right = model.right[begin + node];
      if (left < 0) continue;
      const [a, b] = [model.mass[begin + left], model.mass[begin + right]];
      const part = a + b > 0 ? a / (a + b) : model.missingLeft[begin + node];
      shares[left] = shares[node] * part;
      shares[right] = shares[node] - shares[left];
    }
    return shares;
  }

  // The visible nodes. A node is open if it has children, a share of at least `least`, and the user has not closed it;
  // `chosen` maps nodes to true (open) or false (closed), whatever their share.
  function visibleNodes(model, tree, shares, least, chosen) {
    const begin = model.offsets[tree];
    const items = [];
    const todo = [{ node: 0, parent: null, isLeft: false }];
    while (todo.length > 0) {
      const { node, parent, isLeft } = todo.pop();
      if (shares[node] <= 0) continue;
      const hasChildren = model.left[begin + node] >= 0;
      const isOpen = hasChildren && (chosen.has(node) ? chosen.get(node) : shares[node] >= least || node === 0);
      const item = { node, parent, isLeft, isOpen, hasChildren, share: shares[node], children: [] };
      item.depth = parent === null ? 0 : parent.depth + 1;
      if (parent !== null) parent.children.push(item);
      items.push(item);
      if (isOpen) {
        todo.push({ node: model.right[begin + node], parent: item, isLeft: false });
        todo.push({ node: model.left[begin + node], parent: item, isLeft: true });
      }
    }
    return items;
  }

  // Places in a picture of `height`: `x` is the depth; `top` and `size` are along the other axis. Ends stand in order
  // below one another, and a parent stands at the middle of its children.
  function place(items, height) {
    const ends = items.filter((item) => item.children.length === 0);
    const gap = Math.min(16, (0.5 * height) / Math.max(1, ends.length));
    const scale = height - gap * Math.max(0, ends.length - 1);
    let cursor = 0;
    for (const item of ends) {
      item.size = item.share * scale;
      item.top = cursor;
      cursor += item.size + gap;
    }
    for (let k = items.length - 1; k >= 0; k--) {
      const item = items[k];
      if (item.children.length === 0) continue;
      const [first, last] = [item.children[0], item.children[item.children.length - 1]];
      item.size = item.share * scale;
      item.top = 0.5 * (first.top + last.top + last.size - item.size);
    }
    return { nEnds: ends.length, depth: Math.max(...items.map((item) => item.depth)), gap };
  }

  return { massShares, meanValues, orderOf, place, sizesBelow, visibleNodes };
})();
