/* Marks what is new since the last visit of this reader, which the browser remembers. */
(() => {
  "use strict";
  const key = "chronicle.seen", rows = [...document.querySelectorAll(".ch-log [data-time]")];
  if (!rows.length) return;
  const moment = row => Date.parse(row.dataset.time) || 0;
  try {
    const seen = Number(localStorage.getItem(`${key} ${document.title}`));
    const fresh = rows.filter(row => moment(row) > seen);
    localStorage.setItem(`${key} ${document.title}`, Math.max(seen, ...rows.map(moment)));
    if (!seen || !fresh.length) return;
    fresh.forEach(row => row.classList.add("new"));
    document.getElementById("new").textContent = `${fresh.length} since you were last here.`;
  } catch { /* some browsers refuse storage to pages from disk */ }
})();
