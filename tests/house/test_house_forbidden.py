"""What no module of the package does: run code that comes from data, load tensor libraries,
print.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from house.package import MODULES, name_of, room_of, tree_of

FORBIDDEN_MODULES = {
    "pickle",
    "cPickle",
    "dill",
    "cloudpickle",
    "joblib",
    "marshal",
    "shelve",
    "torch",
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}
FORBIDDEN_OPTIONS = {"allow_pickle"}


def modules_named_in(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []


def uses_of(tree: ast.Module, *, may_print: bool) -> Iterator[str]:
    """Each forbidden use, as ``line: what``."""
    calls = FORBIDDEN_CALLS if may_print else FORBIDDEN_CALLS | {"print"}
    for node in ast.walk(tree):
        for module in modules_named_in(node):
            if module.partition(".")[0] in FORBIDDEN_MODULES:
                yield f"{getattr(node, 'lineno', 0)}: imports {module}"
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id in calls:
                yield f"{node.lineno}: calls {node.func.id}"
            for keyword in node.keywords:
                if keyword.arg in FORBIDDEN_OPTIONS:
                    yield f"{node.lineno}: says {keyword.arg}"


def test_no_module_does_what_is_forbidden() -> None:
    assert [
        f"{name_of(path)}:{use}"
        for path in MODULES
        for use in uses_of(tree_of(path), may_print=room_of(path) == "cli")
    ] == []


def test_the_check_sees_what_it_forbids() -> None:
    forbidden = {
        "import pickle": "1: imports pickle",
        "from torch.nn import Module": "1: imports torch.nn",
        "def f(x):\n    return eval(x)": "2: calls eval",
        "exec('1')": "1: calls exec",
        "np.load(path, allow_pickle=True)": "1: says allow_pickle",
        "print(1)": "1: calls print",
    }
    found = {source: list(uses_of(ast.parse(source), may_print=False)) for source in forbidden}
    assert found == {source: [use] for source, use in forbidden.items()}


def test_the_check_lets_pass_what_it_allows() -> None:
    source = (
        '"""Never pickle, never eval()."""\nimport re\nre.compile("a")\nprint(1)\nself.evaluate(1)'
    )
    assert list(uses_of(ast.parse(source), may_print=True)) == []
