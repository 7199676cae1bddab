"""A transition derivation as a self-contained HTML page to step through."""

from __future__ import annotations

import json
from dataclasses import asdict

from arcwise.transition.trace import Trace

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Derivation: __TITLE__</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff; }
.row { margin: .6rem 0; min-height: 2.2rem; } .row b { display: inline-block; width: 8rem; font-weight: 600; }
.token { display: inline-block; padding: .1rem .5rem; margin: .1rem; border: 1px solid #bbb;
  border-radius: .3rem; }
.active { border-color: #d9822b; background: #fdf0e1; }
table { border-collapse: collapse; } td { padding: .15rem .8rem .15rem 0; }
td.score { text-align: right; font-variant-numeric: tabular-nums; } tr.made { font-weight: 600; }
svg { width: 100%; height: auto; overflow: visible; }
button { font: inherit; padding: .3rem .9rem; }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #181818; } .active { background: #4a3414; } }
</style></head><body>
<h1>__TITLE__</h1>
<p><button id="back" aria-label="Previous step">←</button> <button id="on" aria-label="Next step">→</button>
<span id="where" aria-live="polite"></span> (or use the arrow keys)</p>
<div class="row"><b>operative, O</b><span id="operative"></span></div>
<div class="row"><b>input, U</b><span id="input"></span></div>
<svg id="arcs" role="img" aria-label="arcs so far"></svg>
<h2>Moves</h2><table id="moves"></table>
<script>
const trace = __DATA__;
let at = 0;
const $ = id => document.getElementById(id);
function span(t, active) {
  const e = document.createElement('span');
  e.className = 'token' + (active ? ' active' : '');
  e.textContent = trace.tokens[t];
  return e;
}
function svg(name, attributes, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}
function draw(step) {
  const box = $('arcs'), n = trace.tokens.length, gap = 90;
  const deepest = Math.max(1, ...step.arcs.map(a => Math.abs(a[0] - a[1])));
  const base = 24 + 16 * deepest;
  box.replaceChildren();
  box.setAttribute('viewBox', `0 0 ${n * gap} ${base + 30}`);
  const middle = {'text-anchor': 'middle', fill: 'currentColor'};
  trace.tokens.forEach((form, t) =>
    box.append(svg('text', {x: (t + .5) * gap, y: base + 20, ...middle}, form)));
  for (const [h, m, label] of step.arcs) {
    const x1 = (h + .5) * gap, x2 = (m + .5) * gap + (h < m ? -6 : 6);
    const top = base - 12 - 16 * Math.abs(h - m);
    const curve = `M ${x1} ${base} C ${x1} ${top} ${x2} ${top} ${x2} ${base}`;
    const tip = `M ${x2 - 4} ${base - 7} L ${x2 + 4} ${base - 7} L ${x2} ${base} z`;
    box.append(svg('path', {d: curve, fill: 'none', stroke: 'currentColor'}));
    box.append(svg('path', {d: tip, fill: 'currentColor'}));
    const position = {x: (x1 + x2) / 2, y: (base + 3 * top) / 4 - 3};
    box.append(svg('text', {...position, ...middle, 'font-size': 12}, label));
  }
}
function show() {
  const step = trace.steps[at];
  $('where').textContent = `step ${at} of ${trace.steps.length - 1}`;
  $('operative').replaceChildren(...step.operative.map(t => span(t, step.active.includes(t))));
  $('input').replaceChildren(...step.input.map(t => span(t, false)));
  $('moves').replaceChildren(...step.moves.map((m, k) => {
    const row = document.createElement('tr'); if (k === 0) row.className = 'made';
    for (const [text, name] of [[m.score.toFixed(3), 'score'], [m.words, '']]) {
      const cell = document.createElement('td');
      cell.className = name;
      cell.textContent = text;
      row.append(cell);
    }
    return row;
  }));
  draw(step);
  $('back').disabled = at === 0; $('on').disabled = at === trace.steps.length - 1;
}
function go(by) { at = Math.min(Math.max(at + by, 0), trace.steps.length - 1); show(); }
$('back').onclick = () => go(-1); $('on').onclick = () => go(1);
document.addEventListener('keydown', e => {
  if (e.key === 'ArrowLeft') go(-1);
  if (e.key === 'ArrowRight') go(1);
});
show();
</script></body></html>
"""


def trace_html(trace: Trace) -> str:
    """The HTML page of a derivation."""
    title = " ".join(trace.tokens[1:]).replace("&", "&amp;").replace("<", "&lt;")
    # "</script>" in a word would end the script.
    data = json.dumps(asdict(trace), ensure_ascii=False).replace("</", "<\\/")
    return _PAGE.replace("__TITLE__", title).replace("__DATA__", data)
