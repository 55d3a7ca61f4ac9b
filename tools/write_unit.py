"""Write a Cython unit from plain Python loops and their sheets of types.

    python tools/write_unit.py UNIT.pyx SOURCE.py [SOURCE.py ...] [--inline SOURCE.py ...] [--wide]

A source is ordinary Python, which also runs uncompiled: functions of arrays, numbers and named tuples of them. Its
sheet is the .pxd of the same name, with the types of the arguments, results and locals. A unit is one C file, so that
the compiler can inline functions of one source into those of another. For each function of the sheets, the unit has

- a C function without the GIL, named after the source and the function, which the compiler inlines if the sheet says
  ``cdef inline``, and
- for sources that are not `--inline`, a function that Python can call, which releases the GIL.

A class of a sheet is a named tuple of the source as C sees it, with typed fields. Python passes the tuple, or, if
there are many calls, an object of this class, ``Class(*tuple)``. A struct is a named tuple of numbers, which loops can
make, and which may be a field of a class; a packed struct is a row of a record array, with the fields of its numpy
type. ``SOURCES`` names the module that each function and class is from.

A field of a class may be an array of a fused type. It then is one field for each type, all but one None, and a
statement that uses it, to hand it to a function, is written once for each type.

A unit that is `--wide` is compiled twice, the second time as UNIT_avx2 for processors with AVX2: there, the first one
takes over the functions of the second one.

What is translated, all else is left to Cython:

- constants (names in capitals) become numbers;
- functions and types of numpy and math for single numbers become those of C, as does ``int(x).bit_length()``, and
  ``array.dtype.type`` that of the elements;
- fields of records, ``a[i]["name"]``, become members of structs;
- ``np.empty``, ``np.zeros`` and ``np.full`` make memory views.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

HEADER = """\
# cython: language_level=3
cimport cython
from libc.math cimport (
    INFINITY, NAN, ceil, copysign, erf, exp, fabs, floor, isfinite, isnan, log, log1p, log2, nextafter, pow, rint, sqrt
)
import numpy as np

ctypedef signed char i8
ctypedef int i32
ctypedef long long i64
ctypedef unsigned char u8
ctypedef unsigned short u16
ctypedef unsigned int u32
ctypedef unsigned long long u64
ctypedef float f32
ctypedef double f64

cdef extern from *:
    \"""
    #ifdef _MSC_VER
    #include <intrin.h>
    static __inline int bit_length(unsigned long long x) {
        unsigned long last;
        return _BitScanReverse64(&last, x) ? (int)last + 1 : 0;
    }
    #else
    static inline int bit_length(unsigned long long x) { return x ? 64 - __builtin_clzll(x) : 0; }
    #endif
    \"""
    int bit_length(u64 x) noexcept nogil

# bins of cells, few or many
ctypedef fused code:
    u8
    u32

# numbers of single or double precision
ctypedef fused real:
    f32
    f64

# sums of floats, or of whole numbers
ctypedef fused number:
    i64
    f64
"""

FUSED = {"code": ("u8", "u32"), "real": ("f32", "f64"), "number": ("i64", "f64")}
# At the end of a unit that is compiled twice.
WIDE = """
cdef extern from *:
    \"\"\"
    #if defined(__x86_64__) && defined(__GNUC__)
    #define HAS_AVX2 (__builtin_cpu_init(), __builtin_cpu_supports("avx2") != 0)
    #elif defined(_M_X64)
    __declspec(dllimport) int __stdcall IsProcessorFeaturePresent(unsigned long);
    #define HAS_AVX2 IsProcessorFeaturePresent(40)
    #else
    #define HAS_AVX2 0
    #endif
    \"\"\"
    const bint HAS_AVX2

if __name__ == "softwood.compiled.{name}" and HAS_AVX2:
    from softwood.compiled import {name}_avx2
    globals().update({{each: getattr({name}_avx2, each) for each in SOURCES}})
"""

TYPES = {
    "int8": "i8", "int32": "i32", "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float32": "f32", "float64": "f64", "bool_": "u8",
}  # fmt: skip
FUNCTIONS = {
    "ceil", "copysign", "erf", "exp", "floor", "isfinite", "isnan", "log", "log1p", "log2", "nextafter",
    "pow", "rint", "sqrt",
}  # fmt: skip
VALUES = {"inf": "INFINITY", "nan": "NAN"}
NUMPY_TYPES = {"i8": "int8", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
               "u64": "uint64", "f32": "float32", "f64": "float64"}  # fmt: skip


@dataclass
class Function:
    """A function of a sheet."""

    name: str
    result: str
    arguments: list[tuple[str, str]]  # type and name
    locals: dict[str, str]
    is_inline: bool  # callers contain it, which saves the time of handing it many arrays


@dataclass
class Sheet:
    """What a .pxd says."""

    records: list[str] = field(default_factory=list)  # texts of structs that are lines of record arrays
    structs: dict[str, list[tuple[str, str]]] = field(default_factory=dict)  # named tuples of numbers
    classes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)


@dataclass
class Source:
    """A source, its sheet, and what its names mean."""

    module: str
    tree: ast.Module
    sheet: Sheet
    is_inline: bool
    constants: dict[str, int | float] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)  # to the names of C functions

    @property
    def name(self) -> str:
        """The last part of the module's name."""
        return self.module.rpartition(".")[2]


# ---------------------------------------------------------------- sheets


def split_arguments(text: str) -> list[str]:
    """Parts between commas that are in no bracket."""
    parts, depth, current = [], 0, ""
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += character
    return [" ".join(part.split()) for part in [*parts, current] if part.strip()]


def typed(text: str) -> tuple[str, str]:
    """Type and name of a declaration."""
    kind, _, name = text.rpartition(" ")
    return kind, name


def read_sheet(text: str, path: Path) -> Sheet:
    """The declarations of a .pxd."""
    sheet = Sheet()
    text = re.sub(r"#.*", "", text)
    for block in re.split(r"\n(?=\S)", re.sub(r"\)\n(?=cdef )", ") ", text)):
        block = block.strip()
        if not block or block.startswith(("cimport", "from", "ctypedef", ")")):
            continue
        if block.startswith("cdef packed struct"):
            sheet.records.append(block)
        elif match := re.match(r"cdef (class|struct) (\w+):", block):
            lines = [line.strip().removeprefix("cdef ") for line in block.splitlines()[1:] if line.strip()]
            (sheet.classes if match[1] == "class" else sheet.structs)[match[2]] = [typed(line) for line in lines]
        elif match := re.match(
            r"(?:@cython\.locals\((?P<locals>.*?)\) )?cdef (?P<inline>inline )?(?P<result>[^(]*?|\([^)]*\) )"
            r"(?P<name>\w+)\((?P<arguments>.*)\) noexcept nogil$",
            block,
            re.S,
        ):
            pairs = (part.partition("=") for part in split_arguments(match["locals"] or ""))
            sheet.functions[match["name"]] = Function(
                match["name"],
                match["result"].strip(),
                [typed(part) for part in split_arguments(match["arguments"])],
                {name: kind.strip('"') for name, _, kind in pairs},
                match["inline"] is not None,
            )
        else:
            raise SystemExit(f"{path}: not understood:\n{block}")
    return sheet


# ---------------------------------------------------------------- sources


def constant_values(tree: ast.Module, known: dict[str, int | float]) -> dict[str, int | float]:
    """Numbers that a source gives names in capitals."""
    found: dict[str, int | float] = {}
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        try:
            names = {"range": range, "float": float, "math": math, **known, **found}
            value = eval(compile(ast.Expression(node.value), "", "eval"), {"__builtins__": {}}, names)
        except Exception:  # not a number: a type of records, say
            continue
        for target in node.targets:
            targets = target.elts if isinstance(target, ast.Tuple) else [target]
            values = list(value) if isinstance(target, ast.Tuple) else [value]
            for name, number in zip(targets, values, strict=True):
                if isinstance(name, ast.Name) and name.id.isupper() and isinstance(number, (int, float)):
                    found[name.id] = number
    return found


def read_sources(paths: list[tuple[Path, bool]]) -> list[Source]:
    """The sources in an order in which each comes after those that it imports from."""
    sources: dict[str, Source] = {}
    for path, is_inline in paths:
        sheet_path = path.with_suffix(".pxd")
        sheet = read_sheet(sheet_path.read_text(), sheet_path) if sheet_path.exists() else Sheet()
        module = ".".join(path.with_suffix("").parts[path.parts.index("softwood") :])
        sources[module] = Source(module, ast.parse(path.read_text()), sheet, is_inline)
    done: dict[str, Source] = {}

    def finish(source: Source) -> None:
        if source.module in done:
            return
        for node in source.tree.body:
            other = sources.get(node.module or "") if isinstance(node, ast.ImportFrom) else None
            if other is None:
                continue
            finish(other)
            for alias in node.names:
                name = alias.asname or alias.name
                if alias.name in other.constants:
                    source.constants[name] = other.constants[alias.name]
                if alias.name in other.functions:
                    source.functions[name] = other.functions[alias.name]
        source.constants |= constant_values(source.tree, source.constants)
        source.functions |= {name: f"{source.name}_{name}" for name in source.sheet.functions}
        done[source.module] = source

    for source in sources.values():
        finish(source)
    return list(done.values())


class Translation(ast.NodeTransformer):
    """From the Python of a source to that of Cython."""

    def __init__(self, source: Source, function: Function, arrays: set[str], classes: dict) -> None:
        self.source, self.function, self.arrays = source, function, arrays
        self.names = {name: kind for kind, name in function.arguments} | function.locals
        # fields of arguments that are arrays of a fused type
        self.fused = {
            f"{name}.{field}": kind
            for name, group in self.names.items()
            for field, kind in fused_fields(classes.get(group, [])).items()
        }

    def visit(self, node: ast.AST) -> ast.AST:
        if not isinstance(node, (ast.Assign, ast.Expr, ast.Return)):
            return super().visit(node)
        used = {ast.unparse(part) for part in ast.walk(node) if isinstance(part, ast.Attribute)} & set(self.fused)
        if not used:
            return super().visit(node)
        first, second = FUSED[self.fused[min(used)]]
        text = ast.unparse(super().visit(node))
        own = [re.sub(rf"\b({'|'.join(map(re.escape, used))})\b", rf"\1_{kind}", text) for kind in (first, second)]
        return ast.parse(f"if {min(used)}_{first} is not None:\n    {own[0]}\nelse:\n    {own[1]}").body[0]

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id in self.source.constants:
            value = self.source.constants[node.id]
            if isinstance(value, float) and not math.isfinite(value):
                return ast.Name("NAN" if math.isnan(value) else "INFINITY" if value > 0 else "(-INFINITY)")
            return self.visit_Constant(ast.Constant(value))
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if type(node.value) is int and node.value >= 2**31:
            return ast.Name(f"{node.value}{'U' if node.value < 2**32 else 'ULL'}")
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        # Cython counts by a step that is no number only in its own form of the statement.
        bounds = node.iter.args if isinstance(node.iter, ast.Call) else []
        if len(bounds) == 3 and not isinstance(bounds[2], (ast.Constant, ast.UnaryOp)):
            i, (begin, end, step) = ast.unparse(node.target), map(ast.unparse, bounds)
            node.target, node.iter = ast.Name(f"{i} from {begin} <= {i} < {end} by {step} #"), ast.Name("")
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id in ("np", "math") and node.attr in VALUES:
            return ast.Name(VALUES[node.attr])
        if isinstance(node.value, ast.Name) and node.value.id == "math" and node.attr == "pi":
            return ast.Constant(math.pi)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
            return ast.Attribute(node.value, node.slice.value, node.ctx)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        if isinstance(called, ast.Name) and called.id in self.source.functions:
            node.args = [self.visit(argument) for argument in node.args]
            node.func = ast.Name(self.source.functions[called.id])
            return node
        if isinstance(called, ast.Attribute) and called.attr == "bit_length":
            return ast.Call(ast.Name("bit_length"), [self.visit(called.value.args[0])], [])
        if match := re.fullmatch(r"(\w+)\.dtype\.type", ast.unparse(called)):  # a number of the type of an array
            kind = self.names[match[1]].removeprefix("const ").partition("[")[0]
            return ast.Name(f"(<{kind}> ({ast.unparse(self.visit(node.args[0]))}))")  # the form that knows fused types
        if isinstance(called, ast.Name) and called.id in ("int", "float"):
            kind = {"int": "i64", "float": "f64"}[called.id]
            return ast.Call(ast.Name("cython.cast"), [ast.Name(kind), self.visit(node.args[0])], [])
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id in ("np", "math")
        ):
            if called.attr in TYPES:
                return ast.Call(ast.Name("cython.cast"), [ast.Name(TYPES[called.attr]), self.visit(node.args[0])], [])
            if called.attr in FUNCTIONS:
                return ast.Call(ast.Name(called.attr), [self.visit(argument) for argument in node.args], [])
        return self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr in ("empty", "zeros", "full")
            and isinstance(node.targets[0], ast.Name)
        ):
            kind = self.names.get(node.targets[0].id)
            if kind is None or "[" not in kind:
                raise SystemExit(
                    f"{self.source.name}.{self.function.name}: {node.targets[0].id} needs a type in the sheet."
                )
            sizes = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
            self.arrays.add(kind)
            name = f"{call.func.attr}_{array_name(kind)}"
            arguments = [*sizes, call.args[1]] if call.func.attr == "full" else sizes
            return ast.Assign(node.targets, ast.Call(ast.Name(name), [self.visit(a) for a in arguments], []), lineno=0)
        return self.generic_visit(node)


def fused_fields(fields: list[tuple[str, str]]) -> dict[str, str]:
    """The fused types of the elements of those fields that have one."""
    elements = {name: kind.removeprefix("const ").partition("[")[0] for kind, name in fields}
    return {name: element for name, element in elements.items() if element in FUSED}


def array_name(kind: str) -> str:
    """Part of a name that says the type of an array."""
    element, _, rest = kind.partition("[")
    return f"{element}_{rest.count(':') - 1}d"


def array_makers(kinds: set[str]) -> str:
    """Functions that make arrays, called without the GIL."""
    text = ""
    for kind in sorted(kinds):
        element = kind.partition("[")[0]
        n_axes = kind.count(":") - 1
        sizes = ", ".join(f"i64 n{k}" for k in range(n_axes))
        shape = "(" + ", ".join(f"n{k}" for k in range(n_axes)) + ",)"
        for how in ("empty", "zeros"):
            text += f"\ncdef {kind} {how}_{array_name(kind)}({sizes}) noexcept with gil:\n"
            text += f"    return np.{how}({shape}, np.{NUMPY_TYPES[element]})\n\n"
        text += f"\ncdef {kind} full_{array_name(kind)}({sizes}, {element} value) noexcept with gil:\n"
        text += f"    return np.full({shape}, value, np.{NUMPY_TYPES[element]})\n\n"
    return text


def c_function(source: Source, node: ast.FunctionDef, arrays: set[str], classes: dict) -> str:
    """Text of a C function."""
    function = source.sheet.functions[node.name]
    names = [argument.arg for argument in node.args.args]
    if names != [name for _, name in function.arguments]:
        raise SystemExit(
            f"{source.name}.{node.name}: arguments {names}; the sheet has {[n for _, n in function.arguments]}"
        )
    body = (
        node.body[1:]
        if isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        else node.body
    )
    translation = Translation(source, function, arrays, classes)
    body = [ast.fix_missing_locations(translation.visit(statement)) for statement in body]
    head = ", ".join(f"{kind} {name}" for kind, name in function.arguments)
    inline = "inline " if function.is_inline else ""
    text = f"\ncdef {inline}{function.result} {source.functions[node.name]}({head}) noexcept nogil:\n"
    text += "".join(f"    cdef {kind} {name}\n" for name, kind in function.locals.items())
    lines = (re.sub(r" # in :$", ":", line) for line in ast.unparse(body).splitlines())
    return text + "".join(f"    {line}\n" for line in lines)


def python_function(source: Source, function: Function, classes: set[str], structs: dict) -> str:
    """Text of the function that Python calls."""
    groups = {*classes, *structs}
    head = ", ".join(name if kind in groups else f"{kind} {name}" for kind, name in function.arguments)
    text = f"\ndef {function.name}({head}):\n"
    for kind, name in function.arguments:
        if kind in classes:
            # None stays None
            is_ready = f"{name} is None or isinstance({name}, {kind})"
            text += f"    cdef {kind} {name}_ = {name} if {is_ready} else {kind}(*{name})\n"
        if kind in structs:
            values = ", ".join(f"{name}[{k}]" for k in range(len(structs[kind])))
            text += f"    cdef {kind} {name}_ = {kind}({values})\n"
    call = ", ".join(f"{name}_" if kind in groups else name for kind, name in function.arguments)
    call = f"{source.functions[function.name]}({call})"
    if function.result == "void":
        return text + f"    with nogil:\n        {call}\n"
    result = "result"
    if function.result in structs:
        result = ", ".join(f"result.{name}" for _, name in structs[function.result])
    return text + f"    cdef {function.result} result\n    with nogil:\n        result = {call}\n    return {result}\n"


def struct_text(name: str, fields: list[tuple[str, str]]) -> str:
    """Text of a struct of numbers."""
    return f"\ncdef struct {name}:\n" + "".join(f"    {kind} {name}\n" for kind, name in fields)


def class_text(name: str, fields: list[tuple[str, str]], classes: set[str], structs: dict) -> str:
    """Text of a class of typed fields."""
    fused = fused_fields(fields)
    declared, values = "", ""
    for kind, field_name in fields:
        if field_name in fused:
            for own in FUSED[fused[field_name]]:
                declared += f"    cdef {kind.replace(fused[field_name], own)} {field_name}_{own}\n"
                condition = f"{field_name}.dtype == np.{NUMPY_TYPES[own]}"
                values += f"        self.{field_name}_{own} = {field_name} if {condition} else None\n"
            continue
        value = field_name
        if kind in classes:
            value = (
                f"{field_name} if {field_name} is None or isinstance({field_name}, {kind}) else {kind}(*{field_name})"
            )
        if kind in structs:
            value = f"{kind}({', '.join(f'{field_name}[{k}]' for k in range(len(structs[kind])))})"
        declared += f"    cdef {kind} {field_name}\n"
        values += f"        self.{field_name} = {value}\n"
    text = f"\n@cython.final\ncdef class {name}:\n{declared}"
    return text + f"\n    def __init__(self, {', '.join(name for _, name in fields)}):\n{values}"


def unit(sources: list[Source]) -> str:
    """Text of a unit."""
    records = {block: None for source in sources for block in source.sheet.records}
    structs = {name: fields for source in sources for name, fields in source.sheet.structs.items()}
    classes = {name: fields for source in sources for name, fields in source.sheet.classes.items()}
    arrays: set[str] = set()
    functions = ""
    for source in sources:
        defined = {node.name: node for node in source.tree.body if isinstance(node, ast.FunctionDef)}
        for name in defined:
            if name in source.sheet.functions:
                functions += "\n" + c_function(source, defined[name], arrays, classes)
            elif not source.is_inline:
                raise SystemExit(f"{source.name}: the sheet has no function {name}.")
        if missing := set(source.sheet.functions) - set(defined):
            raise SystemExit(f"{source.name}: the sheet has functions that the source does not have: {missing}")
    exported: dict[str, str] = {}
    for source in sources:
        for function in [] if source.is_inline else source.sheet.functions.values():
            if function.name in exported:
                raise SystemExit(f"Both {exported[function.name]} and {source.name} have a function {function.name}.")
            exported[function.name] = source.module
            functions += "\n" + python_function(source, function, set(classes), structs)
    exported |= {name: source.module for source in sources for name in source.sheet.classes}
    functions += f"\n\nSOURCES = {exported!r}\n"
    text = HEADER + "\n" + "\n\n".join(records) + "\n"
    text += "".join("\n" + struct_text(name, fields) for name, fields in structs.items())
    text += "".join("\n" + class_text(name, fields, set(classes), structs) for name, fields in classes.items())
    return text + "\n" + array_makers(arrays) + functions


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("sources", nargs="+", type=Path)
    parser.add_argument("--inline", nargs="*", type=Path, default=[])
    parser.add_argument("--wide", action="store_true")
    arguments = parser.parse_args()
    paths = [(path, True) for path in arguments.inline] + [(path, False) for path in arguments.sources]
    text = unit(read_sources(paths))
    arguments.output.write_text(text + (WIDE.format(name=arguments.output.stem) if arguments.wide else ""))


if __name__ == "__main__":
    main()
