// The page: reads the data, follows the controls, and shows what the model makes of the row.
const softwoodReport = (() => {
  "use strict";
  const { byId, fill, make, option } = elements;
  // Milliseconds of one piece of the work on certificates, which goes on between the frames of the screen.
  const PIECE = 7;

  const data = JSON.parse(byId("data").textContent);
  const current = computing.prepare(decoding.decodeModel(data.model));
  // What is shown: `now` is what has been computed of the row.
  const page = {
    data, now: null, uncertainty: intervals.prepare(data.uncertainty),
    state: { model: current, tree: 0, mode: "row", output: 0, followsBest: true, least: 0, query: "", factor: 1 },
  };
  const { state } = page;
  let isWaiting = false;
  // Milliseconds that the last certificates took.
  let lastWork = Infinity;

  // Following the controls

  function compute() {
    const { model } = state;
    const cells = rowControls.cells();
    computing.setWidths(model, state.factor, rowControls.widths());
    page.now = { ...computing.explain(model, softwood.encode(model, cells)), cells, certificate: null, worked: 0 };
    page.now.hasOwnWidths = rowControls.widths() !== null;
    page.now.work = computing.certify(model, data.columns, page.now.point, page.now.prediction);
  }

  function update() {
    compute();
    flowCard.picture.draw(); // first: it asks for sizes, which the browser must compute again after changes of the page
    rowSection.show(page);
    startCertificates();
  }

  // At most one update for each frame of the screen.
  function change() {
    if (isWaiting) return;
    isWaiting = true;
    requestAnimationFrame(() => {
      isWaiting = false;
      update();
    });
  }

  // Certificates are part of the frame if the last ones took little time.
  function startCertificates() {
    const row = page.now;
    if (lastWork < PIECE / 2) workOnCertificates(row);
    else setTimeout(() => workOnCertificates(row));
  }

  // Work on certificates for a while, and go on later if there is more to do; another row ends it.
  function workOnCertificates(row) {
    if (row !== page.now || row.certificate !== null) return;
    const start = performance.now();
    while (row.certificate === null && performance.now() < start + PIECE) row.certificate = row.work.next().value;
    row.worked += performance.now() - start;
    if (row.certificate === null) {
      setTimeout(() => workOnCertificates(row));
      return;
    }
    lastWork = row.worked;
    rowSection.showCertificate(page);
  }

  function chooseSnapshot(at) {
    const snapshot = data.snapshots[at];
    if (snapshot !== undefined) snapshot.decoded ??= computing.prepare(decoding.decodeModel(snapshot.model));
    state.model = snapshot === undefined ? current : snapshot.decoded;
    state.tree = 0;
    update();
    flowCard.showTree();
    modelCards.show();
  }

  function redraw() {
    flowCard.picture.draw();
    modelCards.draw();
    if (streamCards !== null) streamCards.draw();
  }

  // Building the page

  function showFacts() {
    const { classes, inputs, kind, left, nTrees, outputs } = current;
    const many = (n, what, whats) => `${words.count(n)} ${n === 1 ? what : whats}`;
    const facts = [
      many(nTrees, "tree", "trees"), many(left.length, "node", "nodes"),
      many(left.reduce((n, child) => n + (child < 0 ? 1 : 0), 0), "leaf", "leaves"),
      `${data.columns.length} of ${many(inputs.length, "column", "columns")} used`,
      classes === null ? many(outputs.length, "output", "outputs") : many(classes.length, "class", "classes"),
    ];
    if (data.nRows !== null) facts.push(`ranges of ${many(data.nRows, "row", "rows")}`);
    byId("title").textContent = kind;
    byId("facts").textContent = facts.join(" · ");
    byId("notes").hidden = data.notes.length === 0;
    fill(byId("notes"), ...data.notes.map((note) => make("p", {}, note)));
  }

  function showTarget(place) {
    const { rows } = data;
    byId("row").value = place === null ? "" : String(place);
    byId("target").textContent = place === null || rows.targets === null ? "" : `is ${rows.targets[place]}`;
  }

  function buildRowChoice() {
    if (data.rows === null) return;
    byId("row-choice").hidden = false;
    byId("row").append(option("", "own values"));
    data.rows.numbers.forEach((number, k) => byId("row").append(option(k, `row ${number}`)));
    byId("row").addEventListener("change", () => {
      if (byId("row").value === "") return;
      const place = Number(byId("row").value);
      rowControls.setRow(data.rows.cells.map((cells) => cells[place]));
      showTarget(place);
    });
  }

  function buildBandwidth(largest) {
    if (!(largest > 0)) return;
    byId("bandwidth").hidden = false;
    const show = () => (byId("factor-text").textContent = `× ${state.factor.toFixed(2)}`);
    byId("factor").addEventListener("input", () => {
      state.factor = byId("factor").valueAsNumber;
      show();
      change();
    });
    show();
  }

  function buildControls() {
    const widths = computing.halfWidths(current);
    for (const column of data.columns) column.halfWidth = Math.max(...column.features.map((feature) => widths[feature]));
    const made = controls.create(current, data.columns, () => {
      showTarget(null);
      change();
    });
    byId("columns").append(made.list);
    byId("reset").addEventListener("click", () => made.setRow(made.start()));
    buildBandwidth(Math.max(0, ...widths));
    return made;
  }

  function setTheme(theme) {
    if (theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", theme);
    redraw();
  }

  function buildTheme() {
    byId("theme").addEventListener("change", () => setTheme(byId("theme").value));
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    window.addEventListener("beforeprint", () => setTheme("light"));
    window.addEventListener("afterprint", () => setTheme(byId("theme").value));
    new ResizeObserver(redraw).observe(byId("flow"));
  }

  function buildStream() {
    if (data.stream === null) return null;
    for (const id of ["stream", "stream-link"]) byId(id).hidden = false;
    return streamSection.create(byId("stream-cards"), data, chooseSnapshot);
  }

  showFacts();
  const rowControls = buildControls();
  buildRowChoice();
  const flowCard = new flowSection.FlowSection(page, () => {
    rowSection.show(page);
    modelCards.show();
  });
  const modelCards = modelSection.create(byId("model-cards"), page);
  const streamCards = buildStream();
  update();
  flowCard.showLegend();
  modelCards.show();
  redraw();
  buildTheme();
  document.documentElement.setAttribute("data-ready", "");
  performance.mark("ready");

  // For tests and benchmarks; a row is given by its cells.
  return {
    page, update, flow: flowCard.picture, setRow: rowControls.setRow,
    explain: (row) => computing.explain(state.model, softwood.encode(state.model, row)),
    certificate: (row) => {
      const point = softwood.encode(state.model, row);
      const prediction = softwood.predictPoint(state.model, point);
      return Array.from(computing.certify(state.model, data.columns, point, prediction)).pop();
    },
    intervals: (row) => {
      const point = softwood.encode(state.model, row);
      return intervals.of(page.uncertainty, state.model, point, softwood.predictPoint(state.model, point));
    },
    setWidths: (factor, given = null) => computing.setWidths(state.model, factor, given),
  };
})();
