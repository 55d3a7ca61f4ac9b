// The flow with its tools: which tree, widths by row or by training mass, folding, searching, enlarging, legend.
const flowSection = (() => {
  "use strict";
  const { byId, fill, make, option } = elements;
  const ZOOM = 1.5, CLASSES_SHOWN = 30, LEAST_PART = 0.002;

  class FlowSection {
    // `changed` is called when another tree or another output is chosen.
    constructor(page, changed) {
      Object.assign(this, { page, changed });
      this.chosen = new Map();
      this.facts = new WeakMap();
      const tell = (item) => this.tell(item), toggle = (item) => this.toggle(item);
      this.picture = new flow.Flow(byId("flow"), { read: () => this.content(), tell, toggle });
      this.build();
      this.buildTreeChoice();
      this.buildOutputChoice();
    }

    // Order of the nodes of the tree, numbers of nodes below them, and parts of the training mass.
    treeFacts() {
      const { model, tree } = this.page.state;
      if (!this.facts.has(model)) this.facts.set(model, new Map());
      const known = this.facts.get(model);
      if (!known.has(tree)) {
        const order = flowLayout.orderOf(model, tree);
        const mass = flowLayout.massShares(model, tree, order);
        known.set(tree, { order, below: flowLayout.sizesBelow(model, tree, order), mass });
      }
      return known.get(tree);
    }

    // The output whose values have colours, in trees of numbers.
    get output() {
      const { followsBest, model, output } = this.page.state;
      return Math.min(followsBest ? 0 : output, model.nValues - 1);
    }

    // What there is to draw.
    content() {
      const { now, state: { model, tree, mode, least, query } } = this.page;
      const { order, below, mass } = this.treeFacts();
      const begin = model.offsets[tree], n = model.nValues;
      const own = (node) => computing.valueOf(model, begin + node);
      const shares = mode === "row" ? now.sharesOf[tree] : mass;
      const means = mode === "row" ? flowLayout.meanValues(model, tree, order, shares, own, n) : null;
      const valueOf = (node) => (means === null ? own(node) : means.subarray(node * n, (node + 1) * n));
      return {
        model, tree, shares, least, query, below, valueOf, chosen: this.chosen,
        colourOf: (node) => this.colourOf(valueOf(node)),
        partsOf: (node) => this.partsOf(valueOf(node)),
        matches: (node) => this.isFound(begin + node),
        testOf: (node) => words.testLines(model, begin + node),
        nameOf: (node) => this.endText(begin + node, valueOf(node), below[node], shares[node]),
      };
    }

    colourOf(value) {
      const { isMixture, colours, range: { low, high } } = this.page.state.model;
      if (isMixture) return charts.mixed(colours, value);
      const k = this.output;
      return charts.scaled((value[k] - low[k]) / (high[k] - low[k] || 1));
    }

    // The pieces of a node's bar.
    partsOf(value) {
      const { isMixture, colours } = this.page.state.model;
      if (!isMixture) return [{ share: 1, paint: this.colourOf(value) }];
      const parts = Array.from(value, (share, k) => ({ share, paint: colours[k] }));
      return parts.filter(({ share }) => share > LEAST_PART);
    }

    endText(at, value, nBelow, share) {
      const { model } = this.page.state;
      const best = model.isMixture ? value.indexOf(Math.max(...value)) : this.output;
      const text = model.isMixture ? `${model.outputs[best]} ${value[best].toFixed(2)}` : words.number(value[best], 3);
      return `${text} · ${words.percent(share)}${model.left[at] >= 0 ? ` · ${words.count(nBelow)} nodes` : ""}`;
    }

    // Whether the gate of a node reads a column that is looked for.
    isFound(at) {
      const { model, query } = this.page.state;
      return words.inputsOf(model, at).some((input) => model.inputs[input].name.toLowerCase().includes(query));
    }

    // What the user points at, in words.
    tell(item) {
      const { model, mode, tree } = this.page.state;
      const { below, valueOf } = this.content();
      const test = item.hasChildren ? `goes left if ${words.sideText(model, model.offsets[tree] + item.node, true)}` : "leaf";
      const whole = mode === "row" ? "the row" : "the training mass";
      const more = item.hasChildren ? `, ${words.count(below[item.node])} nodes below` : "";
      const value = words.valueText(model, valueOf(item.node), tree);
      byId("node").textContent = `Node ${item.node}: ${test}. ${words.percent(item.share)} of ${whole}, ${value}${more}`;
    }

    toggle(item) {
      if (!item.hasChildren) return;
      this.chosen.set(item.node, !item.isOpen);
      this.redraw();
    }

    redraw() {
      this.picture.draw();
      this.showFound();
    }

    showFound() {
      const { model, tree, query } = this.page.state;
      if (query === "") {
        byId("found").textContent = "";
        return;
      }
      let n = 0;
      for (let at = model.offsets[tree]; at < model.offsets[tree + 1]; at++) n += this.isFound(at) ? 1 : 0;
      const visible = this.picture.items.filter((item) => item.matches).length;
      byId("found").textContent =
        `${words.count(n)} gates of this tree read such a column, ${words.count(visible)} of them are visible.`;
    }

    showLegend() {
      const { model, tree } = this.page.state;
      if (model.isMixture) {
        const shown = model.outputs.slice(0, CLASSES_SHOWN).map((name, k) => {
          const box = make("span", { class: "box" });
          box.style.background = charts.css(model.colours[k]);
          return make("span", { class: "item" }, box, name);
        });
        fill(byId("legend"), ...shown, model.outputs.length > CLASSES_SHOWN ? "…" : "");
        return;
      }
      const k = this.output;
      const ramp = make("span", { class: "ramp" });
      const stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map((x) => charts.css(charts.scaled(x)));
      ramp.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
      const label = model.valueLabels === null ? "" : `${model.valueLabels[model.first[tree] + k]}: `;
      fill(byId("legend"), label, words.number(model.range.low[k], 3), ramp, words.number(model.range.high[k], 3));
    }

    // Another tree, or another model.
    showTree() {
      this.chosen.clear();
      this.picture.selected = -1;
      this.picture.fit();
      this.showFound();
      this.showLegend();
      byId("node").textContent = "";
    }

    // Tools

    build() {
      const { state } = this.page;
      this.readLeast();
      byId("least").addEventListener("input", () => {
        this.readLeast();
        this.chosen.clear();
        this.redraw();
      });
      byId("mode").addEventListener("change", () => {
        state.mode = byId("mode").value;
        this.redraw();
      });
      byId("search").addEventListener("input", () => {
        state.query = byId("search").value.trim().toLowerCase();
        this.redraw();
      });
      byId("zoom-in").addEventListener("click", () => this.picture.zoomBy(ZOOM));
      byId("zoom-out").addEventListener("click", () => this.picture.zoomBy(1 / ZOOM));
      byId("fit").addEventListener("click", () => this.picture.fit());
      byId("unfold").addEventListener("click", () => {
        byId("least").value = "0";
        byId("least").dispatchEvent(new Event("input"));
      });
    }

    // The share below which nodes are folded: nothing, or from a ten-thousandth to a quarter.
    readLeast() {
      const place = byId("least").valueAsNumber;
      this.page.state.least = place === 0 ? 0 : 10 ** (-4 + (3.4 * place) / 100);
      byId("least-text").textContent = place === 0 ? "nothing" : words.percent(this.page.state.least);
    }

    buildTreeChoice() {
      const { state } = this.page;
      if (state.model.nTrees < 2) return;
      byId("tree-choice").hidden = false;
      byId("tree").max = String(state.model.nTrees - 1);
      byId("tree").addEventListener("input", () => {
        const tree = byId("tree").valueAsNumber;
        if (!Number.isInteger(tree) || tree < 0 || tree >= state.model.nTrees) return;
        state.tree = tree;
        this.showTree();
        this.changed();
      });
    }

    buildOutputChoice() {
      const { state, state: { model } } = this.page;
      if (model.outputs.length < 2) return;
      byId("output-choice").hidden = false;
      state.followsBest = model.classes !== null || model.isMixture;
      if (state.followsBest) byId("output").append(option("", "the predicted class"));
      model.outputs.forEach((name, k) => byId("output").append(option(k, name)));
      byId("output").addEventListener("change", () => {
        const { value } = byId("output");
        state.followsBest = value === "";
        state.output = value === "" ? 0 : Number(value);
        this.picture.draw();
        this.showLegend();
        this.changed();
      });
    }
  }

  return { FlowSection };
})();
