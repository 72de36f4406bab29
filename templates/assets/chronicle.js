/* Filters the events of window.chronicleEvents (events.js) by words, kind, person, project and run. The hash of the
   address contains the whole state. The list in the page is replaced only when a filter is set. */
(() => {
  "use strict";
  const root = document.getElementById("happened");
  const FIELDS = ["time", "kind", "verdict", "mark", "title", "sentence", "who", "run", "name", "href", "project"];
  const all = (window.chronicleEvents || []).map(row =>
    Object.assign({}, ...FIELDS.map((name, i) => ({ [name]: row[i] }))));
  all.forEach(e => { e.text = [e.title, e.sentence, e.who, e.run, e.name, e.kind].join(" ").toLowerCase(); });

  const make = window.chronicleMake, find = selector => root.querySelector(selector);
  const box = find("input"), days = find(".ch-days"), more = find(".ch-more"), status = find("[role=status]");
  const ANY = { kind: "All kinds", who: "Everybody", project: "All projects", run: "All runs" };
  const FILTERS = Object.keys(ANY).map((key, i) => ({ key, select: root.querySelectorAll("select")[i] }));
  const SAID = ["note", "decision", "lesson", "hypothesis", "tried", "outcome", "review"];
  const PAGE = 150, given = [...days.childNodes];
  let shown = PAGE;

  const dated = (day, parts) => new Date(day).toLocaleDateString("en-GB", { month: "long", timeZone: "UTC", ...parts });
  const monthOf = e => /^\d{4}-\d\d/.test(e.time) ? dated(e.time.slice(0, 7), { year: "numeric" }) : "No date";
  const dayOf = e => /^\d{4}-\d\d-\d\d/.test(e.time) ? dated(e.time.slice(0, 10), { day: "numeric" }) : "";
  const hourOf = e => {
    const clock = /^[T ](\d\d:\d\d)[\d:.]*(Z|[+-][\d:]+)?$/.exec(e.time.slice(10));
    return clock ? clock[1] + (clock[2] || "") : dayOf(e) ? "day only" : "no date";
  };

  function badge(e) {
    const dataset = e.verdict ? { v: e.verdict } : { kind: e.kind };
    return make("span", { className: e.verdict ? "ch-n" : e.mark ? "ch-n join" : "ch-n dot", dataset }, e.mark);
  }

  function row(e) {
    return make("li", { className: SAID.includes(e.kind) ? "said" : "" },
      make("span", { className: "ch-when", textContent: hourOf(e) }), badge(e),
      make("div", {}, make("p", {}, make("a", { href: e.href, textContent: e.title }), " ", e.sentence),
        make("p", { className: "ch-when", textContent: [e.name, e.who].filter(Boolean).join(" · ") })));
  }

  function draw() {
    const words = box.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const hits = all.filter(e => words.every(w => e.text.includes(w)) &&
      FILTERS.every(f => !f.select.value || e[f.key] === f.select.value));
    const filtered = words.length || FILTERS.some(f => f.select.value);
    status.textContent = filtered ? `${hits.length} of ${all.length} events` : `${all.length} events`;
    more.hidden = hits.length <= shown;
    root.classList.toggle("ch-on", true);
    if (!filtered && shown === PAGE) { days.replaceChildren(...given); return; }
    days.replaceChildren();
    let month, day, list;
    for (const e of hits.slice(0, shown)) {
      if (monthOf(e) !== month) {
        month = monthOf(e);
        day = list = null;
        days.append(make("div", { className: "ch-month" }, make("h2", { textContent: month }), make("div")));
      }
      if (list === null || dayOf(e) !== day) {
        day = dayOf(e);
        list = make("ol", { className: "ch-log timed" });
        const place = days.lastChild.lastChild;
        if (day) place.append(make("h3", { textContent: day }));
        place.append(list);
      }
      list.append(row(e));
    }
    if (!hits.length) days.append(make("p", { textContent: "No event matches. Remove a word or a filter." }));
  }

  function change() {
    shown = PAGE;
    const hash = new URLSearchParams();
    FILTERS.forEach(f => { if (f.select.value) hash.set(f.key, f.select.value); });
    if (box.value.trim()) hash.set("q", box.value.trim());
    history.replaceState(null, "", "#" + hash);
    draw();
  }

  function follow() {
    const hash = new URLSearchParams(location.hash.slice(1));
    FILTERS.forEach(f => { f.select.value = hash.get(f.key) || ""; });
    box.value = hash.get("q") || "";
    draw();
  }

  FILTERS.forEach(f => {
    const seen = new Map();
    all.forEach(e => { if (e[f.key]) seen.set(e[f.key], f.key === "run" ? e.name : e[f.key]); });
    const options = [...seen].sort((a, b) => a[1].localeCompare(b[1], undefined, { numeric: true }));
    f.select.append(make("option", { value: "", textContent: ANY[f.key] }),
      ...options.map(([value, text]) => make("option", { value, textContent: text })));
    f.select.hidden = !options.length;
    f.select.onchange = change;
  });
  box.oninput = change;
  more.onclick = () => { shown += PAGE; draw(); };
  addEventListener("hashchange", follow);
  follow();
})();
