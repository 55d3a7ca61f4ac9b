"""The page: a template, a style sheet, scripts and the data of a model in one file without any address."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from softwood.export.javascript_source import evaluator_source

# In the order in which they need one another; the evaluator of exported models comes first.
SCRIPTS = (
    "decoding.js", "words.js", "explaining.js", "certificates.js", "elements.js", "charts.js", "computing.js",
    "controls.js", "intervals.js", "flow_layout.js", "flow.js", "row_section.js", "flow_section.js", "model_section.js",
    "stream_section.js", "report.js",
)  # fmt: skip


def page(title: str, data: dict[str, Any]) -> str:
    """The text of the HTML file.

    Only the style sheet and the script of the page are allowed to run, by their hashes: text that becomes markup by
    mistake could neither run nor load anything.
    """
    folder = files("softwood.reporting")
    texts = [evaluator_source(), *(folder.joinpath(name).read_text(encoding="utf-8") for name in SCRIPTS)]
    parts = {
        "title": html.escape(title),
        "style": folder.joinpath("report.css").read_text(encoding="utf-8"),
        "script": "\n".join(texts),
        "data": _embedded(data),
    }
    parts["policy"] = (
        f"default-src 'none'; script-src {_hash(parts['script'])}; style-src {_hash(parts['style'])}; "
        "base-uri 'none'; form-action 'none'"
    )
    out: list[str] = []
    # Parts are put in between the pieces of the template, so that braces in a part mean nothing.
    pieces = folder.joinpath("page.html").read_text(encoding="utf-8").split("{{")
    out.append(pieces[0])
    for piece in pieces[1:]:
        name, _, rest = piece.partition("}}")
        out += [parts[name], rest]
    return "".join(out)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _embedded(data: dict[str, Any]) -> str:
    """JSON within a script element: no character of it can end the element or begin a comment."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
