"""``softwood export``: a saved model for other programs."""

from __future__ import annotations

import argparse
from typing import Any

from softwood.cli.arguments import add_general, add_model, add_number, add_output, check_output
from softwood.cli.errors import CommandError, UsageError

# What it is, and the function of `softwood.export` that makes it.
FORMATS = {
    "json": ("JSON with a published schema", "to_json"),
    "onnx": ("ONNX graph", "to_onnx"),
    "c": ("C without dependencies, a header and a source", "to_c"),
    "sql": ("SQL query", "to_sql"),
    "python": ("Python function", "to_python"),
    "javascript": ("JavaScript function", "to_javascript"),
    "dot": ("text for Graphviz", "to_dot"),
    "mermaid": ("text for diagrams in Markdown", "to_mermaid"),
}
SUFFIXES = {"onnx": (".onnx",), "c": (".c",)}


def add(commands: Any) -> None:
    """Describe the arguments."""
    listed = "\n".join(f"  {name:<11} {what}" for name, (what, _) in FORMATS.items())
    parser = commands.add_parser(
        "export",
        help="write a saved model as ONNX, JSON, C, SQL, Python, JavaScript or a diagram",
        description="Write a saved model in a form that needs no softwood.",
        epilog=f"formats:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model(parser)
    parser.add_argument("--to", required=True, choices=tuple(FORMATS), metavar="FORMAT", help="see below")
    parser.add_argument("--table", default="data", metavar="NAME", help="table of an SQL query (default %(default)s)")
    add_number(parser, "--tree", 0, "tree of a diagram, from 0")
    add_output(parser, "file to write (default: standard output); needed for onnx and c")
    add_general(parser, run, json=False)


def run(chosen: argparse.Namespace) -> int:
    """Write the export."""
    from importlib import import_module

    from softwood.cli.names import load_model
    from softwood.cli.printing import in_python, print_text

    check_output(chosen.output, SUFFIXES.get(chosen.to, ()))
    if chosen.output is None and chosen.to in SUFFIXES:
        raise UsageError(f"--output: {chosen.to} needs a file, which ends in {SUFFIXES[chosen.to][0]}.")
    name = FORMATS[chosen.to][1]
    function = getattr(import_module("softwood.export"), name)
    model = load_model(chosen.model)
    options: dict[str, Any] = {}
    if chosen.to == "sql":
        options["table"] = chosen.table
    elif chosen.to in ("dot", "mermaid"):
        options["tree"] = chosen.tree
    elif chosen.to == "c":
        options["name"] = chosen.output.stem
        if not chosen.output.stem.isidentifier():
            raise UsageError(f"--output: {chosen.output.stem!r} cannot be the name of a function in C.")
    words = "".join(f", {key}={value!r}" for key, value in options.items())
    in_python(
        chosen,
        "import softwood",
        f"from softwood.export import {name}",
        f"{name}(softwood.load({str(chosen.model)!r}){words})",
    )
    try:
        made = function(model, **options)
    except IndexError:
        raise UsageError(f"--tree: there is no tree {chosen.tree}.") from None
    except (TypeError, NotImplementedError) as error:
        raise CommandError(str(error)) from None
    if chosen.output is None:
        print_text(made)
    else:
        _write(chosen, made)
    return 0


def _write(chosen: argparse.Namespace, made: Any) -> None:
    from softwood.cli.printing import write_text
    from softwood.files.atomic import replacing

    if chosen.to == "onnx":
        with replacing(chosen.output) as file:
            file.write(made.SerializeToString())
    elif chosen.to == "c":
        write_text(chosen.output.with_suffix(".h"), made.header)
        write_text(chosen.output, made.source)
    else:
        write_text(chosen.output, made if made.endswith("\n") else made + "\n")
