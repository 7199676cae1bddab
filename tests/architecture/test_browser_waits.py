"""Browser tests wait for functions, not for expressions: a page whose security policy forbids ``eval`` can
ask an expression once and no second time, so that such a test passes only where the answer is there at
once."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1] / "web" / "browser"


def expressions_waited_for(source: str) -> list[str]:
    """The arguments of ``wait_for_function`` that are not functions; a name stands for its string."""
    program = ast.parse(source)
    strings = {
        node.targets[0].id: ast.unparse(node.value)
        for node in ast.walk(program)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }
    waits = [
        ast.unparse(node.args[0])
        for node in ast.walk(program)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "wait_for_function"
    ]
    return [argument for argument in waits if "=>" not in strings.get(argument, argument)]


def test_browser_tests_wait_for_functions() -> None:
    files = sorted(TESTS.glob("*.py"))
    assert len(files) > 5
    assert {path.name: found for path in files if (found := expressions_waited_for(path.read_text()))} == {}


def test_an_expression_is_found() -> None:
    source = 'page.wait_for_function("own.ready")\npage.wait_for_function("() => own.ready")\n'
    assert expressions_waited_for(source) == ["'own.ready'"]
    named = 'READY = "own.ready"\nSHOWN = "() => own.shown"\n' + "".join(
        f"page.wait_for_function({name})\n" for name in ("READY", "SHOWN", "unknown")
    )
    assert expressions_waited_for(named) == ["READY", "unknown"]
