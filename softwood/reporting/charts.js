// Bars of numbers, curves along a stream, and diagrams of predicted against observed; and the colours of classes.
const charts = (() => {
  "use strict";
  const { colour, make, sharpen } = elements;
  // Colours that are easy to distinguish, also with colour blindness: by Okabe and Ito, and for more classes by Tol.
  const CLASSES = [
    [0, 114, 178], [230, 159, 0], [0, 158, 115], [204, 121, 167], [86, 180, 233], [213, 94, 0], [136, 34, 85],
  ];
  const MORE_CLASSES = [
    [51, 34, 136], [136, 204, 238], [68, 170, 153], [17, 119, 51], [153, 153, 51], [221, 204, 119], [204, 102, 119],
    [136, 34, 85], [170, 68, 153], [230, 159, 0], [213, 94, 0], [0, 114, 178],
  ];
  // The golden angle: hues of any number of colours are far apart.
  const GOLDEN_ANGLE = 137.508;
  const OTHERS = [150, 150, 150];
  // Low to high, of growing lightness in all kinds of sight (after cividis).
  const SCALE = [[0, 34, 78], [58, 78, 108], [112, 113, 115], [165, 152, 101], [222, 194, 75], [254, 232, 56]];
  const MARGIN = { left: 52, right: 24, top: 12, bottom: 34 };

  const css = ([r, g, b], alpha = 1) => `rgba(${Math.round(r)}, ${Math.round(g)}, ${Math.round(b)}, ${alpha})`;

  // Colours of `n` classes. Those of very many cannot all be told apart, so they differ in hue and lightness.
  function classColours(n) {
    const known = n <= CLASSES.length ? CLASSES : MORE_CLASSES;
    return Array.from({ length: n }, (_, k) => (n <= known.length ? known[k] : hue(k * GOLDEN_ANGLE, [0.4, 0.55, 0.7][k % 3])));
  }

  // Red, green and blue of a hue in degrees, of medium saturation.
  function hue(angle, lightness) {
    const reach = 0.6 * Math.min(lightness, 1 - lightness);
    return [0, 8, 4].map((shift) => {
      const place = (shift + angle / 30) % 12;
      return 255 * (lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1)));
    });
  }

  // The colour of a mixture of classes.
  function mixed(colours, parts) {
    const out = [0, 0, 0];
    let total = 0;
    for (let k = 0; k < parts.length; k++) {
      const part = Math.max(0, parts[k]);
      total += part;
      for (let c = 0; c < 3; c++) out[c] += part * colours[k][c];
    }
    return total > 0 ? out.map((c) => c / total) : OTHERS;
  }

  // The colour of a number between 0 and 1.
  function scaled(x) {
    const place = Math.max(0, Math.min(1, x)) * (SCALE.length - 1);
    const k = Math.min(SCALE.length - 2, Math.floor(place));
    return SCALE[k].map((c, i) => c + (place - k) * (SCALE[k + 1][i] - c));
  }

  // Horizontal bars: items are {label, detail, value, colour}; bars of both signs share a middle line. The longest bar is
  // that of the largest value, or of `most`.
  function bars(items, text, most = null) {
    const largest = most ?? Math.max(...items.map((item) => Math.abs(item.value)), 1e-300);
    const hasBoth = items.some((item) => item.value < 0);
    const rows = items.map((item) => {
      const part = (100 * Math.abs(item.value)) / largest;
      const bar = make("span", { class: "bar" });
      bar.style.width = `${hasBoth ? part / 2 : part}%`;
      bar.style.left = hasBoth ? `${item.value < 0 ? 50 - part / 2 : 50}%` : "0";
      bar.style.background = item.colour;
      const track = make("span", { class: hasBoth ? "track both" : "track" }, bar);
      const title = item.detail ? `${item.label}: ${item.detail}` : item.label;
      const label = make("span", { class: "label", title }, item.label);
      return make("li", {}, label, track, make("span", { class: "number" }, text(item.value)));
    });
    return make("ul", { class: "bars" }, ...rows);
  }

  // A few round numbers between two.
  function ticks(low, high) {
    const rough = (high - low) / 4 || 1;
    const unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((k) => k * unit).find((size) => size >= rough * (1 - 1e-9));
    const out = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
    return out;
  }

  // A place for curves: axes from low to high, with a few labels.
  function axes(canvas, x, y, names) {
    const { context, width, height } = sharpen(canvas);
    const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    const toX = (value) => MARGIN.left + (inner.width * (value - x[0])) / (x[1] - x[0] || 1);
    const toY = (value) => MARGIN.top + inner.height * (1 - (value - y[0]) / (y[1] - y[0] || 1));
    context.font = "12px system-ui, sans-serif";
    context.fillStyle = colour("quiet");
    context.strokeStyle = colour("line");
    context.lineWidth = 1;
    context.textAlign = "right";
    for (const value of ticks(...y)) {
      context.beginPath();
      context.moveTo(MARGIN.left, toY(value));
      context.lineTo(width - MARGIN.right, toY(value));
      context.stroke();
      context.fillText(words.number(value), MARGIN.left - 6, toY(value) + 4);
    }
    context.textAlign = "center";
    for (const value of ticks(...x)) context.fillText(words.number(value), toX(value), height - MARGIN.bottom + 16);
    context.fillText(names[0], MARGIN.left + inner.width / 2, height - 4);
    return { context, toX, toY };
  }

  function curve(place, points, stroke) {
    const { context, toX, toY } = place;
    context.strokeStyle = stroke;
    context.lineWidth = 2;
    context.beginPath();
    let isOpen = false;
    for (const [x, y] of points) {
      if (y === null) isOpen = false;
      else if (isOpen) context.lineTo(toX(x), toY(y));
      else context.moveTo(toX(x), toY(y));
      isOpen = y !== null;
    }
    context.stroke();
  }

  // Observed against predicted: points whose area is the number of rows, and the line on which both are equal.
  function agreement(canvas, points, names, range = null) {
    const all = points.flatMap(({ x, y }) => [x, y]);
    const [low, high] = range ?? [Math.min(...all), Math.max(...all)];
    const place = axes(canvas, [low, high], [low, high], names);
    place.context.setLineDash([5, 4]);
    curve(place, [[low, low], [high, high]], colour("quiet"));
    place.context.setLineDash([]);
    curve(place, points.map(({ x, y }) => [x, y]), css(CLASSES[0]));
    const most = Math.max(...points.map(({ n }) => n));
    for (const { x, y, n } of points) {
      place.context.beginPath();
      place.context.arc(place.toX(x), place.toY(y), 3 + 6 * Math.sqrt(n / most), 0, 2 * Math.PI);
      place.context.fillStyle = css(CLASSES[0], 0.75);
      place.context.fill();
    }
  }

  return { agreement, axes, bars, classColours, CLASSES, css, curve, mixed, scaled };
})();
