"""Faults that could be planted in a module: each a small piece of its text and its replacement.

Not changed: annotations, docstrings, wording (error messages, logging), `if TYPE_CHECKING`, `__all__`, assertions,
and guards that only a programming mistake triggers (`frozen`, `slots`, `strict`).
"""

import ast
import math
import re
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise

COMPARED: dict[type[ast.cmpop], tuple[str, tuple[str, ...]]] = {
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: (r"is\s+not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: (r"not\s+in", ("in",)),
}
COUNTED: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "/"),
    ast.Mod: ("%", "//"),
    ast.Pow: ("**", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
PAIRS = (
    *(("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("floor", "ceil"), ("any", "all")),
    *(("startswith", "endswith"), ("sum", "mean")),
)
OPPOSITE = {**dict(PAIRS), **{second: first for first, second in PAIRS}}
UNWRAPPED = {"sorted": "list({})", "reversed": "list({})", "abs": "({})"}
SYMMETRIC = {*("min", "max", "minimum", "maximum", "isclose", "gcd", "hypot", "logaddexp")}
TYPED = {*("isinstance", "issubclass", "cast", "getattr", "hasattr", "setattr", "TypeVar", "NewType")}
TAKE_KEYS = {"get", "pop", "setdefault", "getattr"}
GUARDS = {"frozen", "slots", "kw_only", "strict", "stacklevel", "repr", "ensure_ascii", "usedforsecurity"}
LOGS = {"log", "logger", "logging", "warnings"}
LOGGED = {"debug", "info", "warn", "warning", "error", "exception", "critical"}
BARE = {"dataclass", "overload", "override", "runtime_checkable"}
CACHES = {"cache", "lru_cache"}
KEY = re.compile(r"[A-Za-z0-9_.:/\-]+")
DIGITS = re.compile(rb"(?<=[.])(\d)(?=[fe%g]\})")
Function = ast.FunctionDef | ast.AsyncFunctionDef
Branch = ast.If | ast.While | ast.IfExp


@dataclass(frozen=True, slots=True)
class Fault:
    """One change of one module. Its key has texts and the function, so that it survives changes elsewhere."""

    file: str
    function: str
    original: str  # the lines it touches, joined into one
    mutated: str
    nth: int  # number among equal faults in the function, from 1
    line: int
    touched: tuple[int, int]  # the lines of the statement it is in
    at_import: bool  # not in the body of a function, or in a cached one
    start: int  # of the bytes that are replaced
    end: int
    put: bytes

    @property
    def key(self) -> tuple[str, str, str, str, int]:
        """The identity of the fault in the reviewed list and in stored results."""
        return self.file, self.function, self.original, self.mutated, self.nth

    def planted(self, source: bytes) -> bytes:
        """Return the module with the fault in it."""
        return source[: self.start] + self.put + source[self.end :]


def differs(source: bytes, mutated: bytes) -> bool:
    """Whether the mutated source is valid Python and a different program."""
    try:
        return ast.dump(ast.parse(mutated)) != ast.dump(ast.parse(source))
    except SyntaxError:
        return False


def faults(file: str, source: bytes) -> list[Fault]:
    """Return all possible faults of a module, in the order of its text."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    seen: Counter[tuple[str, ...]] = Counter()
    numbered: list[Fault] = []
    for fault in sorted(finder.found, key=lambda item: (item.start, item.end, item.put)):
        key = fault.function, fault.original, fault.mutated
        seen[key] += 1
        numbered.append(replace(fault, nth=seen[key]))
    return numbered


def _called(node: ast.expr) -> str:
    """Return the last name of what is called: `math.floor` gives `floor`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=function):
            return _called(function)
        case _:
            return ""


def _root(node: ast.expr) -> str:
    """Return the first name: `logging.getLogger` gives `logging`."""
    while isinstance(node, ast.Attribute | ast.Call):
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return node.id.lower().strip("_") if isinstance(node, ast.Name) else ""


def _logs(node: ast.Call) -> bool:
    """Whether a call only writes to the log."""
    return isinstance(node.func, ast.Attribute) and node.func.attr in LOGGED and _root(node.func) in LOGS


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


class _Finder(ast.NodeVisitor):
    """Visits a module and collects its possible faults."""

    def __init__(self, file: str, source: bytes) -> None:
        self.file, self.source = file, source
        self.found: list[Fault] = []
        self.offsets = [0]
        for line in source.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        self.names: list[str] = []
        self.bodies = 0  # function bodies around the visited node
        self.once = False  # in a function whose result is cached
        self.in_text = False  # in an f-string, where older Pythons give wrong positions
        self.statement: ast.stmt | None = None

    # Positions

    def _start(self, node: ast.expr | ast.stmt) -> int:
        return self.offsets[node.lineno - 1] + node.col_offset

    def _end(self, node: ast.expr | ast.stmt) -> int:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offsets[node.end_lineno - 1] + node.end_col_offset

    def _text(self, node: ast.expr | ast.stmt) -> str:
        return self.source[self._start(node) : self._end(node)].decode(errors="replace")

    def _misplaced(self, node: ast.expr) -> bool:
        """Whether the node's position is wrong (in an f-string before Python 3.12)."""
        if not self.in_text:
            return False
        try:
            return ast.dump(ast.parse(f"({self._text(node)})", mode="eval").body) != ast.dump(node)
        except SyntaxError:
            return True

    def _touched(self) -> tuple[int, int]:
        """Return the first and last line of the enclosing statement, without a block inside it."""
        statement = self.statement
        assert statement is not None
        assert statement.end_lineno is not None
        inner: list[ast.stmt] = getattr(statement, "body", [])
        last = max(statement.lineno, inner[0].lineno - 1) if inner else statement.end_lineno
        return statement.lineno, last

    def _note(self, start: int, end: int, put: str) -> None:
        first = self.source.count(b"\n", 0, start)
        last = self.source.count(b"\n", 0, end)
        before, after = self.offsets[first], self.offsets[last + 1]
        encoded = put.encode()
        original, mutated = (
            " ".join(text.decode(errors="replace").split())
            for text in (
                self.source[before:after],
                self.source[before:start] + encoded + self.source[end:after],
            )
        )
        at_import = not self.bodies or self.once
        function = ".".join(self.names) or "<module>"
        self.found.append(
            Fault(
                self.file, function, original, mutated, 1, first + 1, self._touched(), at_import, start, end, encoded
            )
        )

    def _swap(self, node: ast.expr | ast.stmt, put: str) -> None:
        if not (isinstance(node, ast.expr) and self._misplaced(node)):
            self._note(self._start(node), self._end(node), put)

    def _operator(self, left: ast.expr, right: ast.expr, pattern: str, put: str) -> None:
        """Replace the operator between two expressions."""
        if self._misplaced(left) or self._misplaced(right):
            return
        start, end = self._end(left), self._start(right)
        if match := re.search(pattern.encode(), self.source[start:end]):
            self._note(start + match.start(), start + match.end(), put)

    # What is visited, and what is not changed

    def visit(self, node: ast.AST) -> None:
        """Remember the enclosing statement, which gives the lines."""
        outer = self.statement
        if isinstance(node, ast.stmt):
            self.statement = node
        super().visit(node)
        self.statement = outer

    @contextmanager
    def _named(self, name: str, body: int) -> Generator[None]:
        self.names.append(name)
        self.bodies += body
        yield
        self.bodies -= body
        self.names.pop()

    def _visit_all(self, nodes: Iterator[ast.AST] | list[ast.expr] | list[ast.stmt]) -> None:
        for node in nodes:
            self.visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Visit the body, and the decorators that have an effect."""
        self._visit_all([decorator for decorator in node.decorator_list if _called(decorator) not in BARE])
        with self._named(node.name, 0):
            self._visit_all(node.body)

    def _function(self, node: Function) -> None:
        decorators = {_called(decorator) for decorator in node.decorator_list}
        if "overload" in decorators:
            return
        self._visit_all([decorator for decorator in node.decorator_list if _called(decorator) not in BARE])
        with self._named(node.name, 0):
            self._visit_all([*node.args.defaults, *(default for default in node.args.kw_defaults if default)])
        outer = self.once
        self.once = outer or bool(decorators & CACHES)
        with self._named(node.name, 1):
            self._visit_all(node.body)
        self.once = outer

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Visit defaults and body."""
        self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        """Visit defaults and body."""
        self._function(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip: assertions are for the type checker."""

    def visit_Import(self, node: ast.Import) -> None:
        """Skip."""

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Skip."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Do not raise; the message is wording."""
        self._swap(node, "pass")

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Visit only the value."""
        if node.value is not None:
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Visit the value; drop an assignment to an attribute or item."""
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        if names & {"__all__", "__slots__"}:
            return
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self._swap(node, "pass")
        self.generic_visit(node)

    # The faults

    def visit_Expr(self, node: ast.Expr) -> None:
        """Drop a call."""
        value = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(value, ast.Call):
            if _logs(value):
                return
            self._swap(node, "pass")
        self.generic_visit(node)

    def visit_Return(self, node: ast.Return) -> None:
        """Return None."""
        if node.value is not None:
            if not isinstance(node.value, ast.Constant):
                self._swap(node, "return None")
            self.visit(node.value)

    def visit_Break(self, node: ast.Break) -> None:
        """Continue the loop."""
        self._swap(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        """End the loop."""
        self._swap(node, "break")

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Use the opposite operator, or drop the statement."""
        self._swap(node, "pass")
        if known := COUNTED.get(type(node.op)):
            self._operator(node.target, node.value, re.escape(f"{known[0]}="), f"{known[1]}=")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Move the limit, negate the comparison, or change a key."""
        for (left, right), operator in zip(pairwise([node.left, *node.comparators]), node.ops, strict=True):
            token, others = COMPARED[type(operator)]
            for other in others:
                self._operator(left, right, token, other)
        for side in (node.left, *node.comparators):
            listed = side.elts if isinstance(side, ast.Tuple | ast.Set | ast.List) else [side]
            self._keys(listed)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Use a related operator, except where text is concatenated."""
        if (known := COUNTED.get(type(node.op))) and not (_is_text(node.left) or _is_text(node.right)):
            self._operator(node.left, node.right, re.escape(known[0]), known[1])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap `and` and `or`."""
        word, other = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in pairwise(node.values):
            self._operator(left, right, rf"\b{word}\b", other)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop the minus sign or the `not`."""
        word = "not" if isinstance(node.op, ast.Not) else "-"
        if isinstance(node.op, ast.Not | ast.USub) and not self._misplaced(node):
            self._note(self._start(node), self._start(node) + len(word), "")
        self.generic_visit(node)

    def _negated(self, test: ast.expr) -> None:
        """Negate a condition that has no operator to change."""
        simple = isinstance(test, ast.Compare | ast.Constant) or (
            isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
        )
        if not simple:
            self._swap(test, f"not ({self._text(test)})")

    def _branch(self, node: Branch) -> None:
        self._negated(node.test)
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        """Take the other branch."""
        guard = ast.unparse(node.test)
        if guard.endswith("TYPE_CHECKING") or guard.startswith("__name__ =="):
            self._visit_all(node.orelse)
        else:
            self._branch(node)

    def visit_While(self, node: ast.While) -> None:
        """Negate the loop's condition."""
        self._branch(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Choose the other value."""
        self._branch(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Negate the filter."""
        for test in node.ifs:
            self._negated(test)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Call the opposite function, drop a sort or `abs`, or swap arguments."""
        name = _called(node.func)
        if _logs(node):
            return
        builtin_sum = name == "sum" and isinstance(node.func, ast.Name)  # there is no builtin `mean`
        if name in OPPOSITE and not builtin_sum and not self._misplaced(node.func):
            self._note(self._end(node.func) - len(name), self._end(node.func), OPPOSITE[name])
        if name in UNWRAPPED and isinstance(node.func, ast.Name) and node.args:
            self._swap(node, UNWRAPPED[name].format(self._text(node.args[0])))
        if name in TAKE_KEYS:
            self._keys(node.args[:2])
        if len(node.args) > 1 and name not in SYMMETRIC | TYPED:
            self._swapped(*node.args[:2])
        self.visit(node.func)
        self._visit_all([argument for argument in node.args if not (name == "cast" and argument is node.args[0])])
        self._visit_all([keyword.value for keyword in node.keywords if keyword.arg not in GUARDS])

    def _swapped(self, first: ast.expr, second: ast.expr) -> None:
        fixed_types = (ast.Constant, ast.JoinedStr, ast.Starred, ast.Lambda)
        if (
            isinstance(first, fixed_types)
            or isinstance(second, fixed_types)
            or self._text(first) == self._text(second)
        ):
            return
        if not (self._misplaced(first) or self._misplaced(second)):
            start, end = self._start(first), self._end(second)
            between = self.source[self._end(first) : self._start(second)].decode(errors="replace")
            self._note(start, end, f"{self._text(second)}{between}{self._text(first)}")

    def visit_Constant(self, node: ast.Constant) -> None:
        """Add one, subtract one, negate a boolean, or double a float."""
        value = node.value
        if isinstance(value, bool):
            self._swap(node, str(not value))
        elif isinstance(value, int):
            self._swap(node, str(value + 1))
            if value > 0:
                self._swap(node, str(value - 1))
        elif isinstance(value, float) and math.isfinite(value):
            self._swap(node, repr(value * 2 if value else 1.0))

    def _keys(self, nodes: list[ast.expr]) -> None:
        """Change strings that are used as keys."""
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and KEY.fullmatch(node.value):
                text = self._text(node)
                self._swap(node, f"{text[:-1]}X{text[-1]}")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Change a key; a type is not changed."""
        if _called(node.value) == "Literal":
            return
        self._keys([node.slice])
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """Change the keys, and visit the values."""
        self._keys([key for key in node.keys if key is not None])
        self.generic_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> None:
        """Change the value of a case."""
        self._keys([node.value])
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Visit the shown values, and change the number of digits."""
        outer, self.in_text = self.in_text, True
        if not outer:
            start = self._start(node)
            for match in DIGITS.finditer(self.source[start : self._end(node)]):
                self._note(start + match.start(), start + match.end(), str((int(match[1]) + 1) % 10))
        self._visit_all([part.value for part in node.values if isinstance(part, ast.FormattedValue)])
        self.in_text = outer
