// The flow of a row, or of the training rows, through a tree: a picture on a canvas that can be moved, enlarged, folded
// and searched, with the mouse or the keyboard.
const flow = (() => {
  "use strict";
  const { colour, sharpen } = elements;
  const BAR = 11, MARGIN = 14, FONT = "12px system-ui, sans-serif", LINE = 14;
  // Room for the labels of the last nodes: pixels, and part of the picture at most.
  const LABEL_ROOM = 170, LABEL_PART = 0.36;
  const SMALLEST_LEVEL = 12, SMALLEST_LABEL = 40, LARGEST_ZOOM = 40, ZOOM_STEP = 1.4, WHEEL_SPEED = 0.0016;
  // A pointer that moves by fewer pixels than this has not moved.
  const STILL = 4;

  const overlap = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

  // The text, cut to a width; empty if hardly anything fits.
  function fitted(context, text, room) {
    const width = context.measureText(text).width;
    if (width <= room) return text;
    let length = Math.floor((text.length * room) / width);
    while (length > 3 && context.measureText(`${text.slice(0, length)}…`).width > room) length--;
    return length > 3 ? `${text.slice(0, length)}…` : "";
  }

  // The text in one or two lines, divided at a space.
  function wrapped(context, text, room) {
    if (context.measureText(text).width <= room) return [text];
    const parts = text.split(" ");
    let n = parts.length - 1;
    while (n > 1 && context.measureText(parts.slice(0, n).join(" ")).width > room) n--;
    if (n < 1) return [fitted(context, text, room)];
    return [parts.slice(0, n).join(" "), parts.slice(n).join(" ")].map((line) => fitted(context, line, room));
  }

  class Flow {
    // `read` gives what there is to show: {model, tree, shares, least, chosen, query, colourOf, partsOf, nameOf, testOf,
    // matches}. `tell` gets the item that the user looks at, `toggle` the one to open or to close.
    constructor(canvas, { read, tell, toggle }) {
      Object.assign(this, { canvas, read, tell, toggle });
      this.view = { zoom: 1, x: 0, y: 0 };
      this.items = [];
      this.selected = -1;
      this.start = null;
      canvas.addEventListener("keydown", (event) => this.useKey(event));
      canvas.addEventListener("pointerdown", (event) => this.press(event));
      canvas.addEventListener("pointermove", (event) => this.move(event));
      canvas.addEventListener("pointerup", (event) => this.release(event));
      canvas.addEventListener("pointercancel", () => (this.start = null));
      canvas.addEventListener("wheel", (event) => this.useWheel(event), { passive: false });
    }

    toX(depth) {
      return MARGIN + this.view.x + this.view.zoom * depth * this.levelWidth;
    }

    toY(y) {
      return MARGIN + this.view.y + this.view.zoom * y;
    }

    // Drawing

    draw() {
      const content = this.read();
      const { context, width, height } = sharpen(this.canvas);
      Object.assign(this, { content, width, height });
      this.items = flowLayout.visibleNodes(content.model, content.tree, content.shares, content.least, content.chosen);
      const { depth } = flowLayout.place(this.items, height - 2 * MARGIN);
      const room = width - 2 * MARGIN - Math.min(LABEL_ROOM, width * LABEL_PART) - BAR;
      this.levelWidth = Math.max(SMALLEST_LEVEL, room / Math.max(1, depth));
      for (const item of this.items) {
        item.paint = content.colourOf(item.node);
        item.matches = content.query === "" || content.matches(item.node);
      }
      for (const item of this.items) this.drawBand(context, item);
      for (const item of this.items) this.drawBar(context, item);
      this.drawLabels(context);
    }

    // The band from a parent to its child: as wide as the share.
    drawBand(context, item) {
      if (item.parent === null) return;
      const from = item.parent;
      const before = item.isLeft || from.children.length === 1 ? 0 : from.children[0].size;
      const x0 = this.toX(from.depth) + BAR, x1 = this.toX(item.depth), middle = 0.5 * (x0 + x1);
      const y0 = this.toY(from.top + before), y1 = this.toY(item.top);
      const thick = Math.max(0.6, this.view.zoom * item.size);
      if (x1 < 0 || x0 > this.width) return;
      context.beginPath();
      context.moveTo(x0, y0);
      context.bezierCurveTo(middle, y0, middle, y1, x1, y1);
      context.lineTo(x1, y1 + thick);
      context.bezierCurveTo(middle, y1 + thick, middle, y0 + thick, x0, y0 + thick);
      context.closePath();
      context.fillStyle = charts.css(item.paint, item.matches || from.matches ? 0.42 : 0.12);
      context.fill();
    }

    // A node: a bar, divided by classes if there are any; a dot beside it if there are nodes below that are not shown.
    drawBar(context, item) {
      const x = this.toX(item.depth), top = this.toY(item.top), high = Math.max(1.5, this.view.zoom * item.size);
      if (x > this.width || x + BAR < 0 || top > this.height || top + high < 0) return;
      context.globalAlpha = item.matches ? 1 : 0.25;
      let y = top;
      for (const { share, paint } of this.content.partsOf(item.node)) {
        context.fillStyle = charts.css(paint);
        context.fillRect(x, y, BAR, Math.max(0.5, share * high));
        y += share * high;
      }
      context.globalAlpha = 1;
      if (item.hasChildren && !item.isOpen) {
        context.fillStyle = colour("text");
        context.beginPath();
        context.arc(x + BAR + 6, top + high / 2, 2.2, 0, 2 * Math.PI);
        context.fill();
      }
      const isSelected = item.node === this.selected;
      if (isSelected || (this.content.query !== "" && item.matches)) {
        context.strokeStyle = colour(isSelected ? "focus" : "text");
        context.lineWidth = isSelected ? 2.5 : 1.5;
        context.strokeRect(x - 1.5, top - 1.5, BAR + 3, high + 3);
      }
    }

    // Labels where there is room, those of the heaviest nodes first.
    drawLabels(context) {
      Object.assign(context, { font: FONT, textBaseline: "middle", lineJoin: "round", lineWidth: 3 });
      Object.assign(context, { fillStyle: colour("text"), strokeStyle: colour("card") });
      const taken = [];
      for (const item of [...this.items].sort((a, b) => b.share - a.share)) {
        const lines = this.labelOf(context, item);
        if (lines.length === 0) continue;
        const { x, y } = this.labelPlace(item);
        const reach = (LINE * lines.length) / 2;
        const box = [x, y - reach, x + Math.max(...lines.map((line) => context.measureText(line).width)), y + reach];
        if (taken.some((other) => overlap(box, other))) continue;
        taken.push(box);
        context.globalAlpha = item.matches ? 1 : 0.35;
        lines.forEach((line, k) => {
          const at = y - reach + LINE * (k + 0.5);
          context.strokeText(line, x, at);
          context.fillText(line, x, at);
        });
        context.globalAlpha = 1;
      }
    }

    labelPlace(item) {
      const x = this.toX(item.depth) + BAR + (item.hasChildren && !item.isOpen ? 12 : 5);
      return { x, y: this.toY(item.top + item.size / 2) };
    }

    labelOf(context, item) {
      const { x, y } = this.labelPlace(item);
      const isEnd = item.children.length === 0;
      const room = isEnd ? this.width - x - 2 : this.view.zoom * this.levelWidth - BAR - 8;
      if (x < 0 || x > this.width || y < 0 || y > this.height || room < SMALLEST_LABEL) return [];
      if (isEnd) return [fitted(context, this.content.nameOf(item.node), room)].filter((line) => line !== "");
      const lines = this.content.testOf(item.node).flatMap((line) => wrapped(context, line, room));
      return lines.filter((line) => line !== "");
    }

    // Moving

    zoomBy(factor, x = this.width / 2, y = this.height / 2) {
      const { view } = this;
      const zoom = Math.max(1, Math.min(LARGEST_ZOOM, view.zoom * factor));
      const ratio = zoom / view.zoom;
      view.x = zoom === 1 ? 0 : x - MARGIN - ratio * (x - MARGIN - view.x);
      view.y = zoom === 1 ? 0 : y - MARGIN - ratio * (y - MARGIN - view.y);
      view.zoom = zoom;
      this.draw();
    }

    fit() {
      Object.assign(this.view, { zoom: 1, x: 0, y: 0 });
      this.draw();
    }

    select(item) {
      this.selected = item.node;
      this.tell(item);
      this.draw();
    }

    useKey(event) {
      const item = this.items.find((other) => other.node === this.selected) ?? this.items[0];
      const level = this.items.filter((other) => other.depth === item.depth);
      const at = level.indexOf(item);
      const moves = {
        ArrowLeft: item.parent, ArrowRight: item.children[0], ArrowUp: level[at - 1], ArrowDown: level[at + 1],
      };
      const zooms = { "+": ZOOM_STEP, "=": ZOOM_STEP, "-": 1 / ZOOM_STEP };
      if (event.key in moves) this.select(moves[event.key] ?? item);
      else if (event.key in zooms) this.zoomBy(zooms[event.key]);
      else if (event.key === "0") this.fit();
      else if (event.key === "Enter" || event.key === " ") this.toggle(item);
      else return;
      event.preventDefault();
    }

    itemAt(event) {
      const box = this.canvas.getBoundingClientRect();
      const x = event.clientX - box.left, y = event.clientY - box.top;
      const isNear = (item) => {
        const [left, top] = [this.toX(item.depth), this.toY(item.top)];
        const bottom = top + this.view.zoom * item.size;
        return x >= left - STILL && x <= left + BAR + 10 && y >= top - STILL && y <= bottom + STILL;
      };
      return this.items.find(isNear) ?? null;
    }

    press(event) {
      this.start = { x: event.clientX, y: event.clientY, view: { ...this.view }, hasMoved: false };
    }

    move(event) {
      const { start, view } = this;
      if (start === null) {
        const item = this.itemAt(event);
        this.canvas.style.cursor = item === null ? "grab" : "pointer";
        if (item !== null && item.node !== this.selected) this.select(item);
        return;
      }
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      start.hasMoved ||= Math.abs(dx) + Math.abs(dy) > STILL;
      if (!start.hasMoved || view.zoom === 1) return;
      this.canvas.setPointerCapture(event.pointerId);
      Object.assign(view, { x: start.view.x + dx, y: start.view.y + dy });
      this.draw();
    }

    release(event) {
      const item = this.start !== null && !this.start.hasMoved ? this.itemAt(event) : null;
      this.start = null;
      if (item === null) return;
      this.select(item);
      this.toggle(item);
    }

    // Without the control key the wheel scrolls the page, unless the picture has been chosen.
    useWheel(event) {
      if (!event.ctrlKey && document.activeElement !== this.canvas) return;
      event.preventDefault();
      const box = this.canvas.getBoundingClientRect();
      this.zoomBy(Math.exp(-WHEEL_SPEED * event.deltaY), event.clientX - box.left, event.clientY - box.top);
    }
  }

  return { Flow };
})();
