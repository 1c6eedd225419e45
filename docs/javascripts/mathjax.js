window.MathJax = {
  tex: { inlineMath: [["\\(", "\\)"]], displayMath: [["\\[", "\\]"]], processEscapes: true },
  options: { ignoreHtmlClass: ".*|", processHtmlClass: "arithmatex" },
};
// pages are swapped without a reload, so typeset each one as it arrives
document$.subscribe(() => window.MathJax.typesetPromise && window.MathJax.typesetPromise());
