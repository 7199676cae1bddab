"""The HTML report of ``arcwise mine`` in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from arcwise.mining import mine
from arcwise.mining.report import html_report
from mining.planted import planted


def test_filters_show_the_suspects_of_one_kind_label_signal_or_document(browser: Any, tmp_path: Path) -> None:
    bank, _ = planted(60)
    suspects = mine(bank, signals=["variation", "frames"]).suspects(25)
    path = tmp_path / "report.html"
    path.write_text("".join(html_report(suspects, bank)), "utf-8")
    context = browser.new_context()
    page = context.new_page()
    errors: list[str] = []
    requests: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    figures = page.locator("figure")
    assert figures.count() == page.locator("figure:visible").count() == 25
    for name in ("change", "label", "signals", "document"):
        select = page.locator(f"select[name={name}]")
        values = select.locator("option").evaluate_all("all => all.map(one => one.value)")
        assert values[0] == ""
        assert len(values) > 1
        for value in values[1:]:
            select.select_option(value)
            shown = page.locator("figure:visible")
            data = shown.evaluate_all(f"all => all.map(one => one.dataset.{name})")
            assert data
            assert all(value in json.loads(each) for each in data)
            assert page.locator("#count").inner_text() == str(len(data))
        select.select_option("")
    page.locator("select[name=label]").select_option(suspects[0].label)
    page.locator("select[name=document]").select_option(index=1)
    both = page.locator("figure:visible").count()
    page.locator("select[name=document]").select_option("")
    assert both <= page.locator("figure:visible").count() < 25
    assert errors == []
    assert requests == [path.as_uri()]
    context.close()
