/* The order of search results: tutorials and guides first, changes and lab notes last. Sphinx sorts by score, then by title. */
var Scorer = {
  score: ([docName, title, anchor, description, score]) =>
    score + (docName.startsWith("tutorials/") ? 2 : 0) - (/^(lab\/|changes$|deviations$|design$)/.test(docName) ? 4 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
