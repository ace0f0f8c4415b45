"""Styles of the HTML this room writes, and the one way to put text into it."""

from html import escape

STYLE = """<style>
.block-container {padding-top: 4.2rem; padding-bottom: 2rem; max-width: none;}
.pw-demo {background: repeating-linear-gradient(135deg, rgba(217,154,28,.30) 0 12px,
  rgba(217,154,28,.16) 12px 24px); border-radius: 6px; padding: .45rem .8rem; font-weight: 600;}
.pw-fresh {font-size: .9rem; opacity: .85;}
.pw-title {font-size: 1.15rem; font-weight: 650; min-height: 2.4rem; display: flex;
  align-items: center;}
.pw-tiles {display: grid; grid-template-columns: repeat(auto-fit, minmax(165px, 1fr)); gap: .6rem;}
.pw-tile {border: 1px solid rgba(128,128,128,.35); border-radius: 8px; padding: .6rem .75rem;
  border-top: 4px solid var(--c); min-width: 0;}
.pw-tile .n {font-size: .95rem; font-weight: 600; opacity: .9;}
.pw-tile .v {font-size: 1.95rem; font-weight: 700; line-height: 1.25; white-space: nowrap;
  font-variant-numeric: tabular-nums;}
.pw-tile .v small {font-size: .95rem; font-weight: 600; opacity: .85;}
.pw-tile .v.i {font-size: 1.4rem; line-height: 1.75;}
.pw-tile .t {font-size: .82rem; opacity: .85; overflow-wrap: anywhere;}
.pw-tile .d {font-size: .85rem; opacity: .95; font-weight: 600;}
.pw-hatch {background: repeating-linear-gradient(135deg, rgba(128,128,128,.42) 0 2px,
  rgba(128,128,128,.10) 2px 8px); border-radius: 4px;}
.pw-tile .v.pw-hatch {font-size: 1.2rem; padding: .15rem .5rem; margin: .2rem 0;
  white-space: normal; font-weight: 600; line-height: 1.6;}
.bad {outline: 2px solid #C81E1E;}
.pw-line {font-size: .95rem; line-height: 1.55; overflow-wrap: anywhere;}
.pw-found {font-size: 1.1rem; font-weight: 600; overflow-wrap: anywhere;}
.pw-list > div {font-size: .95rem; line-height: 1.5; padding: .22rem 0 .22rem .8rem;
  border-left: 3px solid rgba(128,128,128,.35); margin-bottom: .3rem; overflow-wrap: anywhere;}
.pw-verdict {border: 1px solid rgba(128,128,128,.35); border-left: 8px solid #8593A6;
  border-radius: 8px; padding: .5rem .9rem; margin: .3rem 0;}
.pw-verdict .v {font-size: 1.9rem; font-weight: 700; line-height: 1.3;}
.pw-verdict .t {font-size: 1rem; opacity: .9; overflow-wrap: anywhere;}
.pw-verdict.non_inferior {border-left-color: #3B8FE5;}
.pw-verdict.regression {border-left-color: #C81E1E;}
.pw-verdict.hold {border-left-color: #D99A1C; background: repeating-linear-gradient(135deg,
  rgba(217,154,28,.16) 0 2px, transparent 2px 10px);}
.pw-none {min-height: 180px; padding: 1.2rem; font-size: 1rem;}
.pw-none .v {font-size: 1.2rem; font-weight: 600;}
.pw-bar {height: 4px; background: rgba(128,128,128,.25); border-radius: 2px; margin-top: .45rem;}
.pw-bar > div {height: 4px; background: var(--c); border-radius: 2px;}
.pw-scroll {overflow: auto; max-height: 480px; border: 1px solid rgba(128,128,128,.3);
  border-radius: 8px;}
.pw-scroll.whole {max-height: none;}
.pw-table {border-collapse: collapse; width: 100%; font-size: .88rem;
  font-variant-numeric: tabular-nums;}
.pw-table th {position: sticky; top: 0; text-align: left; font-weight: 600; padding: .35rem .5rem;
  background: var(--pw-head, Canvas); border-bottom: 1px solid rgba(128,128,128,.5);
  vertical-align: bottom; z-index: 1;}
.pw-table td {padding: .3rem .5rem; border-bottom: 1px solid rgba(128,128,128,.18);
  vertical-align: top;}
.pw-table a, .pw-table a:visited {color: inherit; text-decoration: underline;
  text-underline-offset: 2px;}
.pw-table .num {text-align: right;}
.pw-table small {display: block; font-size: .78rem; opacity: .8;}
.pw-table td.num {white-space: nowrap;}
.pw-table td.nowrap {white-space: nowrap;}
.pw-table .wide {min-width: 170px; overflow-wrap: anywhere;}
@media (max-width: 1150px) {
  .pw-table {font-size: .8rem;}
  .pw-table th, .pw-table td {padding-left: .3rem; padding-right: .3rem;}
  .pw-table .nowrap {white-space: normal;}
  .pw-table td:first-child {white-space: nowrap;}
  .pw-table .wide {min-width: 110px;}
  [class*="st-key-grid"] [data-testid="stColumn"] {min-width: 100%;}
  .st-key-grid-bench_plan [data-testid="stColumn"] [data-testid="stColumn"] {min-width: 30%;}
  .st-key-scope [data-testid="stColumn"] {min-width: 150px; flex: 1 1 150px;}
  .st-key-scope [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
  [class*="st-key-grid"] [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
  [class*="st-key-fields"] [data-testid="stColumn"] {min-width: 190px; flex: 1 1 190px;}
  [class*="st-key-fields"] [data-testid="stHorizontalBlock"] {flex-wrap: wrap;}
}
</style>"""


def escaped(text: object) -> str:
    """Any text as harmless HTML."""
    return escape(str(text), quote=True)


def plain(text: str, *, bold: bool = False) -> str:
    """Text from outside as Markdown that means nothing but itself."""
    if bold:
        return text
    for mark in "\\`*_{}[]<>#|~$:":
        text = text.replace(mark, "\\" + mark)
    return text
