"""What holds for pictures with text."""


def no_overlap(ax):
    """Whether no text lies on another one or on a bar, or is cut off."""
    renderer = ax.figure.canvas.get_renderer()
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent(renderer) for text in ax.texts]
    boxes += [text.get_bbox_patch().get_window_extent(renderer) for text in ax.texts if text.get_bbox_patch()]
    owners = [*range(len(ax.texts)), *(k for k, text in enumerate(ax.texts) if text.get_bbox_patch())]
    bars = [patch.get_window_extent() for patch in ax.patches if patch.get_facecolor()[3] == 0]  # frames
    boxes += bars
    owners += [-1 - k for k in range(len(bars))]
    if ax.get_legend() is not None:
        boxes.append(ax.get_legend().get_window_extent(renderer))
        owners.append(10_000)
    pairs = [(a, b) for a in range(len(boxes)) for b in range(a) if owners[a] != owners[b]]
    page = ax.figure.bbox
    inside = all(page.x0 <= box.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1 for box in boxes)
    return inside and not any(boxes[a].overlaps(boxes[b]) for a, b in pairs)
