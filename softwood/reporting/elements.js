// Elements of the page. Text is always text: nothing here reads markup.
const elements = (() => {
  "use strict";

  // An element with attributes, properties (a name that begins with a dot), listeners (on...) and children.
  function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name.startsWith(".")) element[name.slice(1)] = value;
      else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
    }
    element.append(...children);
    return element;
  }

  const byId = (id) => document.getElementById(id);

  // Replace the children of an element.
  const fill = (element, ...children) => element.replaceChildren(...children);

  // A table; numbers are aligned to the right. Cells are texts or elements.
  function table(headings, rows, caption = null) {
    const head = make("tr", {}, ...headings.map((text) => make("th", { scope: "col" }, text)));
    const body = rows.map((cells) =>
      make("tr", {}, ...cells.map((cell, k) => make(k === 0 ? "th" : "td", k === 0 ? { scope: "row" } : {}, cell))),
    );
    const parts = [make("thead", {}, head), make("tbody", {}, ...body)];
    if (caption !== null) parts.unshift(make("caption", {}, caption));
    return make("div", { class: "scrolls", tabindex: "0" }, make("table", {}, ...parts));
  }

  const card = (title, ...children) => make("section", { class: "card" }, make("h2", {}, title), ...children);

  function option(value, text) {
    return make("option", { value: String(value) }, text);
  }

  // The value of a variable of the style sheet, for canvases.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // A canvas that is sharp on every screen; returns its context and size in pixels of the page.
  function sharpen(canvas) {
    const ratio = window.devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== wide || canvas.height !== high) Object.assign(canvas, { width: wide, height: high });
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height };
  }

  return { byId, card, colour, fill, make, option, sharpen, table };
})();
