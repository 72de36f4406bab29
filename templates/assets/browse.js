/* Filters the runs of window.chronicleEntries (entries.js) by facets. The values of one facet are combined by OR,
   different facets by AND. The hash of the address contains the whole state, so that any page can link to a selection. */
(() => {
  "use strict";
  const root = document.getElementById("browse");
  const FIELDS = ["id", "title", "verdict", "patterns", "project", "joins", "source", "points",
                  "measure", "meta", "href", "thumb", "day", "discarded", "facts"];
  const all = (window.chronicleEntries || []).map((row, place) =>
    Object.assign({ place }, ...FIELDS.map((name, i) => ({ [name]: row[i] }))));
  const titles = window.chroniclePatterns || {};

  const FACETS = [
    { key: "verdict", name: "Verdict", of: e => [e.verdict] },
    { key: "pattern", name: "Pattern", of: e => e.patterns },
    { key: "project", name: "Project", of: e => [e.project] },
    { key: "join", name: "Restarts", of: e => e.joins },
    { key: "source", name: "Source", of: e => [e.source] },
  ];
  /* A fact of run.toml (model, owner, cluster) is a facet if on average two or more runs share a value of it; not a seed or
     another bare number. */
  const isNumber = value => /^[-+]?\d[\d\s.,]*(e[-+]?\d+)?$/i.test(value);
  const stated = new Map();
  all.forEach(e => e.facts.forEach(([name, value]) => stated.set(name, (stated.get(name) || new Set()).add(value))));
  stated.forEach((values, name) => {
    const of = e => e.facts.filter(fact => fact[0] === name).map(fact => fact[1]);
    const runs = all.filter(e => of(e).length).length;
    if (2 * values.size <= runs && values.size > 1 && ![...values].every(isNumber)) FACETS.push({ key: `fact:${name}`, name, of });
  });
  const VERDICTS = ["good", "worrying", "bad", "unexpected", "cannot tell"];
  const SORT = {
    bad: (a, b) => a.place - b.place,
    new: (a, b) => b.day.localeCompare(a.day) || a.place - b.place,
    cost: (a, b) => b.discarded - a.discarded || a.place - b.place,
    size: (a, b) => b.points - a.points || a.place - b.place,
    name: (a, b) => a.title.localeCompare(b.title, undefined, { numeric: true }),
  };
  const ROWS = 7, PAGE = 24, MOST = 4;
  const ticked = new Set();

  const state = { words: "", sort: "bad", shown: PAGE };
  const label = (facet, value) => facet.key === "pattern" ? titles[value] || value : value;
  const make = window.chronicleMake, find = selector => root.querySelector(selector);
  const side = find(".ch-facets"), grid = find(".ch-cards"), chips = find(".ch-chips"), more = find(".ch-more"),
        compare = find(".ch-compare"), box = find("input[type=search]"), order = find("select"), status = find("[role=status]");

  const textOf = e => e.text ||= [e.id, e.title, e.measure, e.project, e.verdict, e.day, ...e.facts.map(f => f[1]),
                                  ...e.patterns.map(p => titles[p] || p)].join(" ").toLowerCase();

  function read() {
    const hash = new URLSearchParams(location.hash.slice(1));
    FACETS.forEach(f => { f.chosen = new Set(hash.getAll(f.key).flatMap(v => split(f, v))); });
    state.words = hash.get("q") || "";
    state.sort = hash.get("sort") in SORT ? hash.get("sort") : "bad";
    state.shown = Math.max(PAGE, Number(hash.get("n")) || 0);
  }

  /* One key may have several values, separated by commas. A value that itself contains a comma is not split. */
  function split(facet, text) {
    return facet.values.includes(text) ? [text] : text.split(",").filter(Boolean);
  }

  function write() {
    const hash = new URLSearchParams();
    FACETS.forEach(f => [...f.chosen].forEach(v => hash.append(f.key, v)));
    if (state.words) hash.set("q", state.words);
    if (state.sort !== "bad") hash.set("sort", state.sort);
    if (state.shown > PAGE) hash.set("n", state.shown);
    history.replaceState(null, "", "#" + hash);
  }

  /* The runs that match all facets. The count beside a value is the number of runs that a click on it would give. For this
     the other facets have to match: a run counts for all facets if it matches all, and if it fails one, for that one. */
  function filter() {
    const words = state.words.toLowerCase().split(/\s+/).filter(Boolean), asked = FACETS.filter(f => f.chosen.size);
    FACETS.forEach(f => { f.counts = new Map(); });
    return all.filter(e => {
      if (!words.every(w => textOf(e).includes(w))) return false;
      const failed = asked.filter(f => !f.held[e.place].some(v => f.chosen.has(v)));
      for (const f of failed.length > 1 ? [] : failed.length ? failed : FACETS)
        for (const value of f.held[e.place]) f.counts.set(value, (f.counts.get(value) || 0) + 1);
      return !failed.length;
    });
  }

  function change() {
    state.shown = PAGE;
    write();
    draw();
  }

  /* The rows are built once. Afterwards only their counts and states change, so that the focus is never lost. */
  function build(facet) {
    const seen = new Map();
    facet.held = all.map(facet.of);
    facet.held.flat().forEach(v => seen.set(v, (seen.get(v) || 0) + 1));
    facet.values = facet.key === "verdict" ? VERDICTS.filter(v => seen.has(v))
      : [...seen.keys()].sort((a, b) => seen.get(b) - seen.get(a) || a.localeCompare(b));
    const set = make("fieldset", {}, make("legend", { textContent: facet.name }));
    facet.rows = facet.values.map((value, i) => {
      const input = make("input", { type: "checkbox" });
      input.onchange = () => { facet.chosen[input.checked ? "add" : "delete"](value); change(); };
      const count = make("span", { className: "ch-count" });
      const look = facet.key === "verdict" ? { className: "ch-verdict", dataset: { v: value } } : {};
      const text = make("span", look, label(facet, value));
      const row = make("label", { className: i < ROWS ? "" : "ch-rest" }, input, text, count);
      set.append(row);
      return { value, input, count, row };
    });
    if (facet.values.length > ROWS) set.append(unfold(set, facet.values.length));
    if (facet.values.length) side.append(set);
  }

  function unfold(set, number) {
    const button = make("button", { type: "button", className: "ch-link", textContent: `all ${number}` });
    button.onclick = () => {
      button.textContent = set.classList.toggle("ch-all") ? "fewer" : `all ${number}`;
    };
    return button;
  }

  function card(entry) {
    const picture = entry.thumb
      ? make("img", { className: "ch-thumb", src: entry.thumb, width: 320, height: 160, alt: "" })
      : make("span", { className: "ch-thumb" });
    const tick = make("input", { type: "checkbox", checked: ticked.has(entry.href), ariaLabel: `Compare ${entry.title}` });
    tick.onchange = () => { ticked[tick.checked ? "add" : "delete"](entry.href); drawCompare(); };
    return make("li", {}, make("label", { className: "ch-tick" }, tick, "compare"), make("a", { className: "ch-card", href: entry.href }, picture,
      make("span", { className: "ch-verdict", dataset: { v: entry.verdict } }, entry.verdict),
      make("strong", {}, entry.title),
      make("span", { className: "ch-measure" }, entry.measure),
      make("span", { className: "ch-meta" }, entry.meta)));
  }

  /* The interactive view draws up to four runs over each other, if its hash names several. */
  function drawCompare() {
    const ids = [...ticked].map(href => decodeURIComponent(href.split("/")[1]));
    const link = compare.querySelector("a");
    compare.hidden = !ids.length;
    link.hidden = ids.length < 2 || ids.length > MOST;
    link.href = `assets/view.html#${new URLSearchParams(ids.map(id => ["run", id]))}`;
    compare.firstChild.textContent = ids.length < 2 ? "Tick one more run to compare. "
      : ids.length > MOST ? `${ids.length} runs are ticked, and ${MOST} can be compared. ` : `${ids.length} runs are ticked. `;
  }

  function chip(text, className, remove) {
    const button = make("button", { type: "button", className, textContent: text });
    button.onclick = () => { remove(); change(); box.focus(); };
    return button;
  }

  function drawChips() {
    chips.replaceChildren(...FACETS.flatMap(f =>
      [...f.chosen].map(v => chip(`${label(f, v)} ×`, "ch-chip", () => f.chosen.delete(v)))));
    if (chips.children.length || state.words)
      chips.append(chip("clear all", "ch-link", () => {
        FACETS.forEach(f => f.chosen.clear());
        state.words = box.value = "";
      }));
  }

  function draw() {
    const hits = filter().sort(SORT[state.sort]);
    for (const facet of FACETS) {
      for (const { value, input, count, row } of facet.rows) {
        const number = facet.counts.get(value) || 0;
        count.textContent = number;
        input.checked = facet.chosen.has(value);
        row.classList.toggle("ch-none", !number && !input.checked);
      }
    }
    grid.replaceChildren(...hits.slice(0, state.shown).map(card));
    if (!hits.length) grid.append(make("li", {}, "No run matches. Remove a word or a filter."));
    status.textContent = `${hits.length} of ${all.length} runs`;
    more.hidden = hits.length <= state.shown;
    more.textContent = `Show ${Math.min(PAGE, hits.length - state.shown)} more`;
    drawChips();
  }

  function follow() {
    read();
    box.value = state.words;
    order.value = state.sort;
    draw();
  }

  FACETS.forEach(build);
  side.onsubmit = () => false;
  box.oninput = () => { state.words = box.value.trim(); change(); };
  order.onchange = () => { state.sort = order.value; change(); };
  more.onclick = () => {
    const first = state.shown;
    state.shown += PAGE;
    write();
    draw();
    grid.children[first].querySelector("a").focus();
  };
  find("details").open = matchMedia("(min-width: 60em)").matches;
  addEventListener("hashchange", follow);
  follow();
  root.classList.add("ch-on");
})();
