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
  const KINDS = [["run", "Runs"], ["pattern", "Patterns"], ["guide", "Guide"]];

  /* The words of a text in lower case, without accents, between single spaces. Groups of digits are one number: 58 897 becomes 58897. */
  const fold = text => ` ${text.normalize("NFKD").toLowerCase().replace(/[\u0300-\u036f]/g, "")
    .replace(/(?<=\d)[\u202f\u00a0 ](?=\d{3}(?!\d))/g, "").replace(/[^\p{L}\p{N}]+/gu, " ").trim()} `;

  function add(doc, fields, of = []) {
    docs.push(Object.assign(doc, { fields: fields.map(([text, weight]) => [fold(text), weight, text]), of }));
    return doc;
  }

  const script = name => new Promise((done, failed) => document.head.append(
    make("script", { src: `${root}assets/${name}.js`, onload: done, onerror: failed })));

  let loading = null;
  const load = () => loading ||= script("search-runs").then(() => {
    const { patterns, runs } = window.chronicleSearch;
    const known = patterns.map(([id, title, badge, names]) => add(
      { kind: "pattern", href: `patterns/${id}.html`, title, badge, more: names.split(" · ")[0], id }, [[id, 9], [title, 8], [names, 6]]));
    for (const [id, title, badge, project, places, text, folder] of runs) {
      const shown = places.map(place => known[place]);
      add({ kind: "run", href: `runs/${encodeURIComponent(folder || id)}/index.html`, title, badge, id,
            more: [project, ...shown.map(p => p.title)].filter(Boolean).join(" · ") },
          [[id, 9], [title, 8], [project, 5], [badge, 4], [text, 3]], shown);
    }
  }).then(() => script("search-guide")).then(() => {
    for (const [href, title, text] of window.chronicleGuide) add({ kind: "guide", href, title, more: "" }, [[title, 8], [text, 2]]);
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

  function place(text, word) { // the weight of a match: a whole word, the beginning of a word, or inside a word
    if (!text.includes(word)) return 0;
    if (text.includes(` ${word} `)) return 1;
    return text.includes(` ${word}`) ? word.length > 3 ? .6 : .2 : word.length > 3 ? .3 : 0;
  }

  function scores(word, share = 1) { // of each document with this word; a run also gets a part of the score of its patterns
    const scored = new Map();
    for (const doc of docs) {
      const own = doc.fields.map(([text, weight]) => share * weight * place(text, word));
      const best = Math.max(...own, ...doc.of.map(pattern => .6 * (scored.get(pattern) || 0)));
      if (best) scored.set(doc, best);
    }
    return scored;
  }

  /* The known words that may be meant by a misspelled word. A compound is also known without its dash: blowup for blow-up. */
  let vocabulary = null;
  function meant(word) {
    if (!vocabulary) {
      vocabulary = new Map();
      for (const doc of docs) for (const [text, , whole] of doc.fields) {
        for (const each of text.split(" ")) vocabulary.set(each, each);
        for (const [each] of whole.matchAll(/[\p{L}\p{N}]+(?:[-_'][\p{L}\p{N}]+)+/gu))
          vocabulary.set(fold(each).replaceAll(" ", ""), fold(each).trim());
      }
    }
    const most = word.length > 7 ? 2 : word.length > 3 ? 1 : 0;
    return [...vocabulary.keys()].filter(known => !far(word, known, most)).map(known => vocabulary.get(known));
  }

  function matches(word) { // the scores of the word itself, or else of words that may be meant
    const hits = scores(word);
    if (!hits.size) for (const near of meant(word))
      for (const [doc, score] of scores(near, .4)) hits.set(doc, Math.max(score, hits.get(doc) || 0));
    return hits;
  }

  function ask(text) {
    const sum = new Map(), asked = fold(text).trim();
    for (const word of asked.split(" ").filter(Boolean))
      for (const [doc, score] of matches(word)) sum.set(doc, (sum.get(doc) || 0) + score + 100);
    const most = Math.max(0, ...[...sum.values()].map(score => Math.floor(score / 100)));
    return [...sum].filter(([, score]) => score >= 100 * most) // those that match most of the words
      .map(([doc, score]) => [doc, score + 20 * place(doc.fields[0][0], asked)])
      .sort((a, b) => b[1] - a[1]).map(([doc]) => doc);
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
    list.replaceChildren(...hits ? KINDS.flatMap(([kind, name]) => {
      const same = hits.filter(doc => doc.kind === kind);
      if (!same.length) return [];
      const more = same.length > SHOWN ? `, the first ${SHOWN} of ${same.length}` : "";
      return [make("h2", { textContent: name + more }), make("ul", {}, ...same.slice(0, SHOWN).map(hit))];
    }) : []);
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

  /* Lets the keyboard reach parts that scroll sideways, such as wide tables. */
  addEventListener("load", () => document.querySelectorAll(".md-typeset__scrollwrap, .ch-wrap").forEach(part => {
    if (part.scrollWidth > part.clientWidth) part.tabIndex = 0;
  }));
})();
