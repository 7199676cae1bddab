"""Browser tests wait for functions, not for expressions: a page whose security policy forbids ``eval`` can
ask an expression once and no second time, so that such a test passes only where the answer is there at
once."""

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1] / "web" / "browser"


def expressions_waited_for(source: str) -> list[str]:
    """What ``wait_for_function`` is given in this source that is no function."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    waits = [
        call
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "wait_for_function"
    ]
    return [said for wait in waits if "=>" not in (said := ast.unparse(wait.args[0]))]


def test_browser_tests_wait_for_functions() -> None:
    files = sorted(TESTS.glob("*.py"))
    assert len(files) > 5
    assert {path.name: found for path in files if (found := expressions_waited_for(path.read_text()))} == {}


def test_an_expression_is_found() -> None:
    source = 'page.wait_for_function("own.ready")\npage.wait_for_function("() => own.ready")\n'
    assert expressions_waited_for(source) == ["'own.ready'"]
