// The row that the page explains: a control for each column that the model uses.
const controls = (() => {
  "use strict";
  const { make, option } = elements;
  // Stands for a category that the model does not know.
  const UNKNOWN = { isUnknown: true };
  const STEPS = 1000;

  // Steps that give short numbers.
  function stepOf(column) {
    if (column.isWhole) return 1;
    return 10 ** Math.floor(Math.log10((column.high - column.low) / STEPS) + 1e-9);
  }

  const rounded = (x, step) => Number((Math.round(x / step) * step).toPrecision(12));

  // A column of numbers: slider, number, and half-width of its kernel if it has one.
  function numberControl(column, input, halfWidth, change) {
    const step = stepOf(column);
    const id = `column-${column.input}`;
    const low = rounded(Math.floor(column.low / step) * step, step), high = rounded(column.high + step / 2, step);
    const slider = make("input", { type: "range", id, min: low, max: high, step, "aria-label": input.name });
    const field = make("input", { type: "number", step: "any", class: "value", "aria-label": `${input.name}, number` });
    const marks = make("span", { class: "marks", "aria-hidden": "true" });
    column.quantiles.forEach((q, k) => {
      const mark = make("span", { class: k === 2 ? "mark middle" : "mark" });
      mark.style.left = `${(100 * (q - low)) / (high - low)}%`;
      marks.append(mark);
    });
    let value = column.isWhole ? column.start : rounded(column.start, step);
    let width = NaN;
    const show = () => Object.assign(slider, { value: String(value) }) && (field.value = String(value));
    slider.addEventListener("input", () => {
      value = slider.valueAsNumber;
      field.value = String(value);
      change();
    });
    field.addEventListener("input", () => {
      if (!Number.isFinite(field.valueAsNumber)) return;
      value = field.valueAsNumber;
      slider.value = String(value);
      change();
    });
    const parts = [make("div", { class: "line" }, slider, marks, field)];
    if (halfWidth > 0) {
      const error = make("input", {
        type: "number", min: "0", step: "any", class: "error", placeholder: words.number(halfWidth, 3),
        "aria-label": `${input.name}, measurement error`, title: "half-width of the kernel around the reading",
      });
      error.addEventListener("input", () => {
        width = error.value === "" || !(error.valueAsNumber >= 0) ? NaN : error.valueAsNumber;
        change();
      });
      parts[0].append(make("span", { class: "plus-minus" }, "±"), error);
    }
    show();
    return {
      id, parts, fields: [slider, field], read: () => value, width: () => width,
      set(cell) {
        value = cell;
        show();
      },
    };
  }

  function categoryControl(column, input, hasUnknown, change) {
    const id = `column-${column.input}`;
    const box = make("select", { id, "aria-label": input.name });
    input.categories.forEach((category, k) => box.append(option(k, String(category))));
    if (hasUnknown) box.append(option(-1, "another one"));
    box.value = String(column.start ?? 0);
    box.addEventListener("change", change);
    return {
      id, parts: [make("div", { class: "line" }, box)], fields: [box], width: () => NaN,
      read: () => (box.value === "-1" ? UNKNOWN : input.categories[Number(box.value)]),
      set: (number) => (box.value = String(number)),
    };
  }

  // All controls; `change` is called after every move. Cells are numbers or categories, null where missing.
  function create(model, columns, change) {
    const list = make("div", { class: "columns" });
    const known = columns.map((column) => {
      const input = model.inputs[column.input];
      const control = input.categories === null
        ? numberControl(column, input, column.halfWidth, change)
        : categoryControl(column, input, !model.unknownIsMissing, change);
      const missing = make("input", { type: "checkbox", "aria-label": `${input.name} is missing` });
      const show = () => control.fields.forEach((field) => (field.disabled = missing.checked));
      missing.addEventListener("change", () => {
        show();
        change();
      });
      const name = make("label", { for: control.id, class: "name", title: input.name }, input.name);
      const gone = make("label", { class: "missing" }, missing, " missing");
      list.append(make("div", { class: "column" }, make("div", { class: "head" }, name, gone), ...control.parts));
      return { column, control, missing, show };
    });

    function cells() {
      const row = new Array(model.inputs.length).fill(null);
      for (const { column, control, missing } of known) row[column.input] = missing.checked ? null : control.read();
      return row;
    }

    // Half-widths of kernels by feature, NaN where the model's hold; null if they hold everywhere.
    function widths() {
      const out = new Float64Array(model.features.length).fill(NaN);
      for (const { column, control } of known) for (const feature of column.features) out[feature] = control.width();
      return out.some((width) => width === width) ? out : null;
    }

    // Show a row: cells by input, where categories are numbers.
    function setRow(row) {
      for (const { column, control, missing, show } of known) {
        const cell = row[column.input];
        missing.checked = cell === null;
        if (cell !== null) control.set(cell);
        show();
      }
      change();
    }

    const start = () => {
      const row = new Array(model.inputs.length).fill(null);
      for (const column of columns) row[column.input] = column.start;
      return row;
    };
    return { cells, list, setRow, start, widths };
  }

  return { create, UNKNOWN };
})();
