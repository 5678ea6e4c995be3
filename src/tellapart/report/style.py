"""The style sheet of the report: one column, calm, two inks that every eye can tell apart, light, dark and on paper."""

from __future__ import annotations

# Inks with at least 4.5 : 1 against their paper; tests compute it.
LIGHT = {
    "paper": "#fdfcf9",
    "shade": "#f3f1ea",
    "ink": "#1f1e1b",
    "quiet": "#5d5a53",
    "rule": "#d9d5ca",
    "x": "#1f5f9e",
    "y": "#b04a05",
}
DARK = {
    "paper": "#17181b",
    "shade": "#212327",
    "ink": "#e9e6df",
    "quiet": "#aaa69c",
    "rule": "#3a3c41",
    "x": "#82b9f0",
    "y": "#f0a35e",
}


def _inks(inks: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in inks.items())


STYLE = (
    f":root{{color-scheme:light dark;{_inks(LIGHT)}}}"
    f"@media (prefers-color-scheme:dark){{:root{{{_inks(DARK)}}}}}"
    f"@media print{{:root{{color-scheme:light;{_inks(LIGHT)}--paper:#fff}}}}"
    + """
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);-webkit-text-size-adjust:100%;text-size-adjust:100%;
 font:1.0625rem/1.6 Charter,"Bitstream Charter","Sitka Text",Cambria,Georgia,serif}
body{max-width:46rem;margin:0 auto;padding:1.5rem 1.25rem 4rem;overflow-wrap:anywhere}
header,figure,table,dl,.quiet,nav,.ends,footer,svg text,summary{
 font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif;
 font-variant-numeric:tabular-nums}
p{margin:.6rem 0;max-width:75ch}
h1,h2,h3{line-height:1.25;font-weight:600;text-wrap:balance}
h1{font-size:clamp(1.7rem,1.2rem + 2.4vw,2.5rem);margin:2.5rem 0 1.25rem;letter-spacing:-.01em}
h1 .then{display:block;margin-top:.4rem;font-size:1.15rem;font-weight:400;color:var(--quiet);letter-spacing:0}
h2{font-size:1.4rem;margin:0 0 .75rem}
h3{font-size:1.05rem;margin:0 0 .25rem}
section{margin-top:3.5rem;padding-top:1.5rem;border-top:1px solid var(--rule)}
a{color:inherit;text-decoration-color:var(--quiet);text-underline-offset:.2em}
a:hover{text-decoration-thickness:2px}
:focus-visible{outline:3px solid var(--x);outline-offset:3px;border-radius:2px}
.skip{position:absolute;left:-100rem;background:var(--paper);color:var(--ink);padding:.5rem 1rem}
.skip:focus{left:1rem;top:1rem}
.nowhere{position:absolute;left:0;top:0}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.brand{margin:0 0 1rem;font-size:.8rem;letter-spacing:.14em;text-transform:uppercase;color:var(--quiet)}
.samples{list-style:none;margin:0;padding:0;font-size:.9rem;line-height:1.7}
.samples span{color:var(--quiet);white-space:nowrap}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;margin:1.75rem 0 0;padding:0;font-size:.85rem}
.quiet{color:var(--quiet);font-size:.875rem;line-height:1.5}
.figures{display:flex;flex-wrap:wrap;gap:1.25rem 2.5rem;margin:1rem 0 1.5rem}
.figures div{flex:1 1 11rem;max-width:16rem}
.figures dt{font-size:.8rem;color:var(--quiet)}
.figures dd{margin:0;font-size:.8rem;line-height:1.45;color:var(--quiet)}
.figures b{display:block;font-size:1.9rem;line-height:1.3;font-weight:500;color:var(--ink)}
figure{margin:1rem 0 0}
figcaption{margin-top:.4rem;font-size:.8rem;line-height:1.5;color:var(--quiet)}
svg{display:block;max-width:100%}
svg svg.open,.open{overflow:visible}
svg text{font-size:12px;fill:var(--ink)}
svg text.quiet{fill:var(--quiet);font-size:11px}
.key{display:inline-block;vertical-align:-1px}
svg .axis{stroke:var(--quiet);stroke-width:1}
.track{stroke:var(--rule);stroke-width:1}
.join{stroke:var(--quiet);stroke-width:2}
.zero{stroke:var(--quiet);stroke-dasharray:3 3}
.x{fill:var(--x)}
.y{fill:var(--y)}
.area.x{fill:var(--x);fill-opacity:.4}
.steps.y{fill:none;stroke:var(--y);stroke-width:2;vector-effect:non-scaling-stroke;stroke-linejoin:round}
.swatch{display:inline-block;width:1.1em;height:.75em;margin:0 .3em 0 0}
.swatch.x{background:var(--x);opacity:.5}
.swatch.y{border-top:2px solid var(--y);height:.3em;margin-left:1.2em}
.ends{display:flex;justify-content:space-between;gap:1rem;margin:.1rem 0 0;font-size:.8rem;color:var(--quiet);
 max-width:none}
.columns{margin-top:1.5rem}
.column{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,20rem);gap:.5rem 2rem;padding:1.25rem 0;
 border-top:1px solid var(--rule)}
.column:first-child{border-top:0}
.column figure{margin:0}
.column p,.pair p{margin:.15rem 0}
.faint{color:var(--quiet)}
.rank{color:var(--quiet);font-weight:400;font-variant-numeric:tabular-nums;margin-right:.25em}
.pair{margin-top:1.75rem}
.heat{display:grid;grid-template-columns:6.4rem minmax(0,1fr) minmax(0,1fr);gap:.75rem;max-width:34rem;overflow:clip}
.heat text{font-size:10px}
.frame{fill:none;stroke:var(--rule)}
.wide{overflow-x:auto;margin:1.25rem 0}
table{border-collapse:collapse;width:100%;font-size:.85rem;line-height:1.4}
caption{text-align:left;font-weight:600;padding-bottom:.4rem}
caption .key{margin-right:.2em}
th,td{text-align:left;vertical-align:top;padding:.4rem .9rem .4rem 0;font-weight:400;
 border-bottom:1px solid var(--rule)}
thead th{color:var(--quiet);font-size:.78rem;border-bottom:1px solid var(--quiet)}
th:last-child,td:last-child{padding-right:0}
th,td{overflow-wrap:break-word;max-width:16rem}
.whole{white-space:nowrap}
th.n,td.n{text-align:right;white-space:nowrap}
td svg{width:7rem}
.rule:first-child{min-width:8rem}
.rule{display:block}
details{margin-top:1.5rem;border-top:1px solid var(--rule);padding-top:.9rem}
summary{cursor:pointer;font-size:.9rem}
.map{border:1px solid var(--rule)}
.for-x{fill:var(--x);stroke:var(--x)}
.for-y{fill:var(--paper);stroke:var(--y);stroke-width:1.5}
.strength-0{opacity:.3}
.strength-1{opacity:.6}
pre{background:var(--shade);padding:.9rem 1rem;border-radius:4px;font-size:.82rem;line-height:1.5;white-space:pre-wrap}
code{font-family:ui-monospace,"SF Mono",Menlo,Consolas,monospace}
footer{margin-top:4rem;font-size:.8rem;color:var(--quiet)}
@media (max-width:40rem){
 .column{grid-template-columns:minmax(0,1fr)}
 section{margin-top:2.5rem}
 .heat{grid-template-columns:6.2rem minmax(0,1fr) minmax(0,1fr);gap:.4rem}
}
@media print{
 @page{size:A4;margin:18mm 16mm}
 html{font-size:10pt}
 body{max-width:none;padding:0}
 nav,.skip{display:none}
 h2,h3,caption,section>p{break-after:avoid}
 figure,tr,.column,.figures,pre{break-inside:avoid}
 .wide{overflow:visible}
 section{margin-top:1.6rem;padding-top:1rem}
}
@media (prefers-contrast:more){:root{--quiet:var(--ink)}}
"""
)
