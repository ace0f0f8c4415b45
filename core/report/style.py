"""Style sheet of the HTML file: light, dark, and paper."""

STYLE = """:root {
  --ink: #16202c; --soft: #536070; --line: #d4dae2; --back: #ffffff; --head: #f2f5f8;
  --dot: #7a4fd0; --none: rgba(100, 110, 125, .22); --warn: #b26a00; --bad: #c81e1e;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6ebf2; --soft: #a3afbf; --line: #38424f; --back: #10161d; --head: #1a222c;
    --dot: #b494f0; --none: rgba(160, 170, 185, .24); --warn: #e5a43c; --bad: #ff7b72;
  }
}
* {box-sizing: border-box;}
body {margin: 0 auto; padding: 1.5rem 2rem 3rem; max-width: 1280px; background: var(--back);
  color: var(--ink); font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif;}
h1 {font-size: 1.55rem; margin: 0 0 .3rem;}
h2 {font-size: 1.2rem; margin: 2rem 0 .6rem; padding-bottom: .2rem;
  border-bottom: 2px solid var(--line);}
h3 {font-size: 1rem; margin: 1.4rem 0 .4rem;}
header p {margin: 0; color: var(--soft);}
.lines {margin: .5rem 0; padding: 0; list-style: none; max-width: 105ch;}
.lines li {padding: .12rem 0 .12rem .8rem; border-left: 3px solid var(--line);
  margin-bottom: .25rem; font-size: .9rem; overflow-wrap: anywhere;}
.lines.warning li {border-color: var(--warn); font-size: 1rem;}
.lines.bad li {border-color: var(--bad); font-weight: 600; font-size: 1rem;}
.scroll {overflow-x: auto; margin: .4rem 0 .6rem;}
table {border-collapse: collapse; width: 100%; font-size: .84rem;
  font-variant-numeric: tabular-nums;}
caption {text-align: left; color: var(--soft); font-size: .84rem; padding: .2rem 0;}
th {text-align: left; background: var(--head); font-weight: 600; vertical-align: bottom;}
th, td {padding: .28rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top;}
td {overflow-wrap: break-word;}
td.wide {overflow-wrap: anywhere;}
.num {text-align: right;}
.wide {min-width: 12em;}
td:first-child {min-width: 8em;}
td.num {white-space: nowrap; overflow-wrap: normal;}
td.num .unknown {white-space: normal;}
.unknown {background: repeating-linear-gradient(135deg, var(--none) 0 2px, transparent 2px 8px);
  border-radius: 3px; padding: 0 .3em; print-color-adjust: exact;
  -webkit-print-color-adjust: exact;}
td .bad {color: var(--bad); font-weight: 600;}
.empty {color: var(--soft);}
figure {margin: .6rem 0; break-inside: avoid;}
figcaption {font-size: .9rem; font-weight: 600;}
.chart {width: 100%; max-width: 920px; height: auto; display: block;}
.chart text {fill: var(--ink); font-size: 13px;}
.chart .tick {fill: var(--soft); font-size: 12px;}
.chart .grid {stroke: var(--line);}
.chart .mark {stroke: var(--soft); stroke-width: 2; stroke-dasharray: 3 4;}
.chart .bar {stroke: var(--dot); stroke-width: 3;}
.chart .dot {fill: var(--dot);}
.chart .faint {opacity: .5;}
.chart .none {fill: var(--none);}
footer {margin-top: 2.5rem; font-size: .84rem; color: var(--soft);}
footer h2 {color: var(--ink);}
dl {display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0;}
dt {font-weight: 600;}
dd {margin: 0; overflow-wrap: anywhere;}
@page {size: A4 landscape; margin: 12mm;}
@media print {
  body {padding: 0; max-width: none; font-size: 10pt;}
  .scroll {overflow: visible;}
  table {font-size: 7.5pt;}
  td, th {overflow-wrap: anywhere;}
  .wide, td:first-child {min-width: 0;}
  thead {display: table-header-group;}
  tr, figure, .lines li {break-inside: avoid;}
  h2, h3, caption {break-after: avoid;}
  td.num {white-space: normal;}
}
@media (max-width: 700px) {
  body {padding: 1rem;}
  dl {grid-template-columns: 1fr;}
}"""
