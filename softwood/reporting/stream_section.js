// The time line of a stream model: splits of the audit log, curves, and a slider through earlier trees.
const streamSection = (() => {
  "use strict";
  const { card, colour, make, table } = elements;
  const EVENTS_SHOWN = 50;

  // Number of splits so far, at every split.
  function growth(events, nEarlier) {
    let n = nEarlier;
    const points = [];
    for (const event of events) {
      if (event.kind !== "split") continue;
      points.push([event.rows, n], [event.rows, ++n]);
    }
    return points;
  }

  function curves(stream) {
    const all = stream.curves.map(({ name, rows, values }) => ({ name, points: rows.map((n, k) => [n, values[k]]) }));
    const splits = growth(stream.events, 0);
    if (splits.length > 0) all.push({ name: "splits", points: splits });
    return all;
  }

  function picture(name, points, end, events) {
    const canvas = make("canvas", { class: "chart low", role: "img", "aria-label": `${name} along the stream` });
    const known = points.filter(([, y]) => y !== null);
    const values = known.map(([, y]) => y);
    const range = [Math.min(0, ...values), Math.max(...values, 1e-12)];
    const draw = () => {
      const place = charts.axes(canvas, [0, end], range, ["rows"]);
      place.context.strokeStyle = colour("line");
      for (const event of name === "splits" ? [] : events) {
        place.context.beginPath();
        place.context.moveTo(place.toX(event.rows), place.toY(range[0]));
        place.context.lineTo(place.toX(event.rows), place.toY(range[0]) - 8);
        place.context.strokeStyle = charts.css(charts.CLASSES[5]);
        place.context.stroke();
      }
      charts.curve(place, points, charts.css(charts.CLASSES[0]));
    };
    return { element: make("figure", {}, make("figcaption", {}, name), canvas), draw };
  }

  function log(stream) {
    const rows = stream.events.slice(-EVENTS_SHOWN).reverse().map((event) => [
      words.count(event.rows), event.kind, String(event.node),
      event.column, words.number(event.threshold), words.number(event.merit, 3), words.number(event.second, 3),
      words.number(event.bound, 3),
    ]);
    const heading = ["after rows", "event", "node", "column", "threshold", "merit", "second", "bound"];
    const n = stream.nEvents;
    const caption = n > rows.length ? `the last ${rows.length} of ${words.count(n)} entries` : `${words.count(n)} entries`;
    return card("Audit log", table(heading, rows, caption));
  }

  function snapshots(list, choose) {
    const text = make("output", {});
    const slider = make("input", { type: "range", id: "snapshot", min: 0, max: list.length, step: 1, value: list.length });
    const show = () => {
      const at = Number(slider.value);
      text.textContent = at === list.length ? "now" : `after ${words.count(list[at].rows)} rows`;
    };
    slider.addEventListener("input", () => {
      show();
      choose(Number(slider.value));
    });
    show();
    const label = make("label", { for: "snapshot" }, "The page shows the tree ");
    return card("Earlier trees", make("p", {}, label, text), slider);
  }

  // Builds the section; `choose` gets the number of a snapshot, or their number for the tree as it is now.
  function create(place, data, choose) {
    const stream = data.stream;
    if (data.snapshots.length > 0) place.append(snapshots(data.snapshots, choose));
    const all = curves(stream);
    const end = Math.max(1, ...all.flatMap(({ points }) => points.map(([x]) => x)));
    const pictures = all.map(({ name, points }) => picture(name, points, end, stream.events));
    if (pictures.length > 0) place.append(card("Along the stream", ...pictures.map(({ element }) => element)));
    if (stream.events.length > 0) place.append(log(stream));
    return { draw: () => pictures.forEach(({ draw }) => draw()) };
  }

  return { create };
})();
