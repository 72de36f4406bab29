/* The search of the site. Its index consists of two scripts, one about the runs and one about the guide, because a page
   that is opened from disk may not fetch. They are loaded only when somebody searches.
   Every page loads this file before its own scripts, which also build their elements with chronicleMake. */
(() => {
  "use strict";
  const root = document.currentScript.src.replace(/assets\/search\.js.*$/, "");
  const SHOWN = 8;
  const docs = [];
  const make = window.chronicleMake = (tag, { dataset, ...properties } = {}, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    Object.assign(element.dataset, dataset);
    element.append(...children);
    return element;
  };
  const KINDS = [["run", "Runs", 1.2], ["pattern", "Patterns", 1.1], ["guide", "Guide", 1]]; // with a head start

  /* Words that mean the same to somebody who searches, one group a line. */
  const SAME = [
    "rise rose risen up increase grow", "fall fell fallen drop down decrease", "die died dead lost lose crash fail",
    "slow slower throughput", "restart resume relaunch", "validation val eval evaluation", "gradient grad", "lr rate",
    "hang hung stuck freeze frozen", "checkpoint ckpt", "begin start", "memory oom", "corrupt damaged broken",
    "node host machine hardware", "wandb wb",
  ];

  /* The words of a text in lower case, without accents, between single spaces. Groups of digits are one number: 58 897
     becomes 58897, and W&B becomes wb. */
  const fold = text => ` ${text.normalize("NFKD").toLowerCase().replace(/[\u0300-\u036f]/g, "")
    .replace(/(?<=\d)[\u202f\u00a0 ,](?=\d{3}(?!\d))|(?<=\p{L})&(?=\p{L})/gu, "").replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;

  /* A word without its ending: halve, halves, halved and halving become halv. */
  function stem(word) {
    const cut = word.replace(/(?:ing|ed|es|(?<!s)s|e)$/, "");
    const holds = cut.length > 2 && /[aeiouy]/.test(cut) && !/\d/.test(word);
    return holds ? cut.replace(/(?<=..)([bdgmnprt])\1$/, "$1") : word;
  }
  const alike = new Map();
  for (const group of SAME.map(line => line.split(" "))) for (const word of group) alike.set(stem(word), group);

  /* A compound is also known without its dash: warmup for warm-up. */
  const compounds = text => Array.from(text.matchAll(/[\p{L}\p{N}]+(?:[-_'][\p{L}\p{N}]+)+/gu),
    ([each]) => fold(each).replaceAll(" ", ""));

  function add(doc, fields, of = []) {
    docs.push(Object.assign(doc, { of, fields: fields.map(([text, weight]) => {
      const words = fold(`${text} ${compounds(text).join(" ")}`);
      const each = words.trim().split(" "); // a long text has many words that mean little
      return { words, stems: ` ${each.map(stem).join(" ")} `, weight: weight / (1 + each.length / 600) };
    }) }));
    return doc;
  }

  const script = name => new Promise((done, failed) => document.head.append(
    make("script", { src: `${root}assets/${name}.js`, onload: done, onerror: failed })));

  let loading = null, stop = [];
  const load = () => loading ||= script("search-runs").then(() => {
    const { patterns, runs } = window.chronicleSearch;
    stop = window.chronicleSearch.stop.split(" ");
    const known = patterns.map(([id, title, badge, names]) => add(
      { kind: "pattern", href: `patterns/${id}.html`, title, badge, more: names.split(" · ")[0], id }, [[id, .8], [title, .8], [names, .7]]));
    for (const [id, title, badge, project, places, text, folder] of runs) {
      const shown = places.map(place => known[place]);
      add({ kind: "run", href: `runs/${encodeURIComponent(folder || id)}/index.html`, title, badge, id,
            more: [project, ...shown.map(p => p.title)].filter(Boolean).join(" · ") },
          [[id, .8], [title, .8], [project, .6], [badge, .5], [text, .45]], shown);
    }
  }).then(() => script("search-guide")).then(() => {
    const patterns = docs.filter(doc => doc.kind === "pattern");
    for (const [href, title, text] of window.chronicleGuide)
      add({ kind: "guide", href, title, more: "" }, [[title, .8], [text, .4]], patterns.filter(doc => doc.href === href));
  });

  /* Whether two words differ by more than `most` typing errors: wrong, missing, additional or exchanged letters. */
  function far(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return true;
    let before = [], row = Array.from({ length: b.length + 1 }, (_, j) => j);
    for (let i = 1; i <= a.length; i++) {
      const next = [i];
      for (let j = 1; j <= b.length; j++) {
        const other = a[i - 1] !== b[j - 1];
        next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + other);
        if (other && i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
          next[j] = Math.min(next[j], before[j - 2] + 1);
      }
      if (Math.min(...next) > most) return true;
      [before, row] = [row, next];
    }
    return row[b.length] > most;
  }

  function place(field, word, root) { // the weight of a match: the word, its stem, a beginning, or inside a word
    if (field.words.includes(` ${word} `)) return field.weight;
    if (field.stems.includes(` ${root} `)) return .9 * field.weight;
    if (field.stems.includes(` ${root}`)) return (root.length > 3 ? .6 : .2) * field.weight;
    return word.length > 4 && field.words.includes(word) ? .3 * field.weight : 0;
  }

  /* The score of each document with this word. A run, or the advice on a pattern, gets a part of the score of its
     patterns, too. */
  function scores(word, share = 1, scored = new Map()) {
    const root = stem(word), here = new Map();
    for (const doc of docs) {
      const own = doc.fields.map(field => share * place(field, word, root));
      const best = Math.max(...own, ...doc.of.map(pattern => .6 * (here.get(pattern) || 0)));
      if (!best) continue;
      here.set(doc, best);
      scored.set(doc, Math.max(best, scored.get(doc) || 0));
    }
    return scored;
  }

  /* The known words that may be meant by a misspelled word. */
  let vocabulary = null;
  function meant(word) {
    vocabulary ||= new Set(docs.flatMap(doc => doc.fields.flatMap(field => field.words.trim().split(" "))));
    const most = word.length > 7 ? 2 : word.length > 3 ? 1 : 0;
    return [...vocabulary].filter(known => !far(word, known, most));
  }

  function matches(word) { // the scores of the word and of those that mean the same, or else of words that may be meant
    const hits = scores(word);
    for (const other of alike.get(stem(word)) || []) if (other !== word) scores(other, .7, hits);
    if (!hits.size) for (const near of meant(word)) scores(near, .4, hits);
    return hits;
  }

  /* The documents of each kind that match at least 0.4 times as well as the best one of it, the best first. A rare word
     counts more than a frequent one. If a text has all words as they were asked, they count once more together. */
  function ask(text) {
    const all = fold(text).trim().split(" ").filter(Boolean);
    const rare = all.filter(word => !stop.includes(word) && (word.length > 1 || /\d/.test(word)));
    const asked = rare.length ? rare : all, sum = new Map();
    const terms = [...new Set(asked)].map(matches);
    if (all.length > 1) terms.push(scores(all.join(" "), .5));
    for (const hits of terms) {
      const rarity = Math.log(1 + docs.length / hits.size);
      for (const [doc, score] of hits) sum.set(doc, (sum.get(doc) || 0) + rarity * score);
    }
    const best = {}; // of each kind
    for (const [doc, score] of sum) best[doc.kind] = Math.max(doc.score = score, best[doc.kind] || 0);
    return [...sum.keys()].filter(doc => doc.score > .4 * best[doc.kind]).sort((a, b) => b.score - a.score);
  }
  window.chronicleAsk = text => load().then(() => ask(text));

  const box = make("input", { type: "search", ariaLabel: "Search", placeholder: "A run, a pattern, a word of a note", autocomplete: "off" });
  const status = make("p", { className: "ch-small", role: "status" }), list = make("div", { className: "ch-found" });
  const close = make("button", { type: "button", textContent: "Close", className: "ch-link", onclick: () => dialog.close() });
  const dialog = make("dialog", { className: "ch-search md-typeset", ariaLabel: "Search" }, make("div", { className: "ch-bar" }, box, close), status, list);
  dialog.onclick = event => { if (event.target === dialog) dialog.close(); };

  function hit(doc) {
    const title = make("span", doc.badge ? { className: "ch-verdict", dataset: { v: doc.badge } } : {}, doc.title);
    return make("li", {}, make("a", { href: root + doc.href }, title, make("small", {}, doc.more)));
  }

  async function show() {
    const text = box.value.trim();
    status.textContent = text ? "Searching …" : "";
    if (!text) return list.replaceChildren();
    const hits = await window.chronicleAsk(text).catch(() => null);
    if (text !== box.value.trim()) return;
    const kinds = KINDS.map(([kind, name, ahead]) => ({ name, ahead, same: (hits || []).filter(doc => doc.kind === kind) }))
      .filter(({ same }) => same.length).sort((a, b) => b.ahead * b.same[0].score - a.ahead * a.same[0].score);
    list.replaceChildren(...kinds.flatMap(({ name, same }) => {
      const more = same.length > SHOWN ? `, the first ${SHOWN} of ${same.length}` : "";
      return [make("h2", { textContent: name + more }), make("ul", {}, ...same.slice(0, SHOWN).map(hit))];
    }));
    status.textContent = !hits ? "The index of the search could not be loaded."
      : hits.length ? `${hits.length} found` : "Nothing matches. Try fewer words.";
  }

  box.oninput = show;
  dialog.onkeydown = event => {
    if (event.key === "Escape") dialog.close(); // a field of type search would only be cleared
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [box, ...list.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
    if (step && at >= 0) { event.preventDefault(); (stops[at + step] || stops[at]).focus(); }
    if (event.key === "Enter" && at === 0 && stops[1]) stops[1].click();
  };
  function open() {
    if (!dialog.isConnected) document.body.append(dialog);
    dialog.showModal();
    box.select();
    load().catch(() => {});
  }
  document.querySelector(".md-header__inner").append(
    make("button", { type: "button", className: "ch-ask", title: "Search (/)", onclick: open }, "Search"));
  addEventListener("keydown", event => {
    const typing = event.target.closest("input, textarea, select, dialog, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { event.preventDefault(); open(); }
  });

  /* On a phone the rows of a wide table of the guide become blocks, in which each cell names its column. */
  const narrow = matchMedia("(max-width: 44.9em)");
  function stack() {
    for (const table of document.querySelectorAll(".md-typeset table:not([class]), table[data-stack]")) {
      const heads = [...table.querySelectorAll("thead th")].map(head => head.textContent.trim());
      delete table.dataset.stack;
      if (!narrow.matches || heads.length < 3 || table.offsetWidth <= table.closest(".md-content").clientWidth) continue;
      table.dataset.stack = "";
      for (const row of table.tBodies[0].rows) [...row.cells].forEach((cell, i) => { if (i) cell.dataset.k = heads[i]; });
    }
  }
  addEventListener("load", stack);
  narrow.addEventListener("change", stack);

  /* Lets the keyboard reach parts that scroll sideways, such as wide tables. */
  addEventListener("load", () => document.querySelectorAll(".md-typeset__scrollwrap, .ch-wrap").forEach(part => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }));
})();
