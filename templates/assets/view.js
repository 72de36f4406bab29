// The interactive view of one run. Its data are a script (view_script in chronicle/figures), because a page that is
// opened from disk may not fetch. The hash of the address names the run (`#run=ID`) and contains the whole state, so that
// a link shows the same view. With `#run=A&run=B` several runs are drawn over each other, each with a colour and a dash.
"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const state = { runs: [], x: "step", from: null, to: null, log: false, dead: true, smooth: 0, hidden: new Set() };
  const PAD = { left: 64, right: 14, top: 24, bottom: 22 };
  const HEIGHTS = [300, 170];
  const FONT = "12px sans-serif", ROW = 16, SAMPLE = 22; // of the names above a panel: a row, and a piece of a line
  const SHOWN = 4; // number of panels that are drawn at first
  const WINDOWS = [0, 3, 5, 9, 17, 33, 65, 129, 257, 513, 1025];
  // The colour and the dash of each compared run.
  const STYLES = [["live", []], ["third", [1.2, 1.4]], ["second", [5, 1.6]], ["ink2", [5, 1.4, 1, 1.4]]];
  const loaded = [];
  let run = null, pointer = null, drag = null, frame = 0, lost = false; // lost: a value that is shown is not finite

  // --- the state in the address, and the colour scheme of the site
  function readHash() {
    const hash = new URLSearchParams(location.hash.slice(1));
    state.runs = [...new Set(hash.getAll("run"))].slice(0, STYLES.length);
    state.x = hash.get("x") || "step";
    for (const end of ["from", "to"]) state[end] = hash.has(end) ? Number(hash.get(end)) : null;
    state.log = hash.get("log") === "1";
    state.dead = hash.get("dead") !== "0";
    state.smooth = Math.min(10, Math.max(0, Number(hash.get("smooth")) || 0));
    state.hidden = hash.has("hide") ? new Set(hash.get("hide").split(",").filter(Boolean).map(Number)) : null;
  }
  function writeHash() {
    const hash = new URLSearchParams(state.runs.map(id => ["run", id]));
    if (state.x !== "step") hash.set("x", state.x);
    if (state.from !== null) { hash.set("from", state.from.toPrecision(9)); hash.set("to", state.to.toPrecision(9)); }
    if (state.log) hash.set("log", "1");
    if (!state.dead) hash.set("dead", "0");
    if (state.smooth) hash.set("smooth", String(state.smooth));
    hash.set("hide", [...state.hidden].join(","));
    history.replaceState(null, "", `#${hash}`);
  }
  function isDark() {
    try {
      for (let i = 0; i < localStorage.length; i++) {
        const key = localStorage.key(i);
        if (key.endsWith(".__palette")) return JSON.parse(localStorage.getItem(key)).color.scheme === "slate";
      }
    } catch { /* some browsers refuse storage to pages from disk */ }
    return matchMedia("(prefers-color-scheme: dark)").matches;
  }
  const token = name => getComputedStyle(document.body).getPropertyValue(`--c-${name.replace("_", "-")}`).trim();

  // --- data
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer();
  }
  window.chronicleView = view => loaded.push(view);
  async function opened(view) { // turns the columns of a view into typed arrays
    const block = await unpacked(view.block);
    const column = ([kind, place, length]) =>
      kind === "d" ? new Float64Array(block, place, length) : new Float32Array(block, place, length);
    for (const panel of view.panels) for (const line of panel.lines) for (const part of line.parts) {
      part.y = column(part.y);
      for (const axis of Object.keys(part.x)) part.x[axis] = column(part.x[axis]);
    }
    return view;
  }
  // Several runs as one view. The judged metrics share a panel, but for those that rise and those that fall. Other panels are
  // matched by their role, if each run has one panel of this role, and otherwise by their name. Those of several runs go first,
  // and among them, and among the others, what is judged. A validation loss beside the judged one has a panel of its own.
  function together(runs) {
    const panels = new Map(), attempts = [], RISING = ["objective", "score", "validation-score"];
    const isOnlyOne = (view, panel) => panel.role !== "other" && view.panels.filter(other => other.role === panel.role).length === 1;
    runs.forEach((view, k) => {
      const [token, dash] = STYLES[k], before = attempts.length;
      attempts.push(...view.attempts.map(name => `${view.title}, ${name}`));
      const [first, ...others] = view.panels, heldOut = first.lines.slice(1).filter(line => line.role === "validation-loss");
      const own = heldOut.slice(0, 1).map(line => ({ ...first, role: line.role, name: line.name, lines: [line] }));
      [first, ...own, ...others].forEach((panel, i) => {
        const key = !i ? `judged:${RISING.includes(panel.role)}` : isOnlyOne(view, panel) ? `role:${panel.role}` : panel.name;
        const name = i ? panel.name : panel.lines[0].name;
        if (!panels.has(key)) panels.set(key, { ...panel, name, lines: [], of: new Set(), judged: !i });
        const shared = panels.get(key);
        shared.of.add(k);
        if (!i && !shared.name.split(" · ").includes(name)) shared.name += ` · ${name}`;
        shared.lines.push(...panel.lines.slice(0, i ? undefined : 1).map(line => ({
          ...line, name: view.title, token, dash, parts: line.parts.map(part => ({ ...part, attempt: part.attempt + before })),
        })));
      });
    });
    const units = name => runs.map(view => view.axes.find(axis => axis.name === name)?.unit);
    const shared = runs[0].axes.filter(axis => !units(axis.name).includes(undefined))
      .map(axis => ({ ...axis, unit: [...new Set(units(axis.name))].join(" or ") })); // the units of the runs may differ
    const events = runs.flatMap((view, k) => view.events.map(event => ({ ...event, run: k })));
    const place = panel => 2 * (panel.of.size < 2) + !panel.judged;
    const ordered = [...panels.values()].sort((a, b) => place(a) - place(b));
    return { title: runs.map(view => view.title).join(" · "), axes: shared, attempts, panels: ordered, events };
  }
  async function start() {
    const runs = await Promise.all(loaded.map(opened));
    run = runs.length > 1 ? together(runs) : runs[0];
    run.runs = runs;
    if (!run.axes.some(axis => axis.name === state.x)) state.x = "step";
    state.hidden ??= new Set(run.panels.map((_, i) => i).filter(i => i >= SHOWN));
    setUp();
    draw();
  }

  const visible = () => run.panels.map((panel, i) => ({ panel, i })).filter(({ i }) => !state.hidden.has(i));
  const parts = panel => panel.lines.flatMap(line => line.parts.map(part => ({ line, part })))
    .filter(({ part }) => state.dead || part.live);
  function extent() {
    let first = Infinity, last = -Infinity;
    for (const { panel } of visible()) for (const { part } of parts(panel)) {
      const x = part.x[state.x];
      if (x.length) { first = Math.min(first, x[0]); last = Math.max(last, x[x.length - 1]); }
    }
    return first < last ? [first, last] : Number.isFinite(first) ? [first - 1, first + 1] : [0, 1];
  }
  const range = () => state.from === null ? extent() : [state.from, state.to];
  function show(from, to) {
    const [first, last] = extent(), least = Math.max((last - first) * 1e-7, Number.MIN_VALUE);
    if (to - from < least) { const mid = (from + to) / 2; from = mid - least / 2; to = mid + least / 2; }
    const width = Math.min(to - from, last - first);
    state.from = Math.min(Math.max(from, first), last - width);
    state.to = state.from + width;
    if (width >= (last - first) * (1 - 1e-9)) state.from = state.to = null;
    redraw();
  }
  function lower(x, value) { // the first index at which x is not below the value
    let a = 0, b = x.length;
    while (a < b) { const m = (a + b) >> 1; if (x[m] < value) a = m + 1; else b = m; }
    return a;
  }
  function smoothed(part, window) { // the centred mean over `window` samples, without those that are not finite
    part.means ??= {};
    if (part.means[window]) return part.means[window];
    const { y } = part, n = y.length, sums = new Float64Array(n + 1), counts = new Uint32Array(n + 1);
    for (let i = 0; i < n; i++) {
      const ok = Number.isFinite(y[i]);
      sums[i + 1] = sums[i] + (ok ? y[i] : 0);
      counts[i + 1] = counts[i] + ok;
    }
    const half = window >> 1, mean = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const a = Math.max(0, i - half), b = Math.min(n, i + half + 1), count = counts[b] - counts[a];
      mean[i] = count ? (sums[b] - sums[a]) / count : NaN;
    }
    return part.means[window] = mean;
  }

  // --- drawing: one canvas per panel; each pixel column reaches from its lowest to its highest sample
  // As in the figures, a loss scale and a gradient norm have a logarithmic axis if they cover a wide range.
  function isWide(panel) {
    if (!["loss-scale", "grad-norm"].includes(panel.role)) return false;
    let low = Infinity, high = -Infinity;
    for (const { parts } of panel.lines) for (const { y } of parts) for (const v of y)
      if (Number.isFinite(v)) { if (v < low) low = v; if (v > high) high = v; }
    return low > 0 && high / low >= 8;
  }
  const isLog = panel => state.log || (panel.wide ??= isWide(panel));
  function yRange(panel, from, to) {
    let low = Infinity, high = -Infinity;
    for (const { part } of parts(panel)) {
      const x = part.x[state.x], { y } = part;
      for (let i = lower(x, from), end = Math.min(x.length, lower(x, to) + 1); i < end; i++) {
        const v = y[i];
        if (Number.isFinite(v) && (!isLog(panel) || v > 0)) { if (v < low) low = v; if (v > high) high = v; }
      }
    }
    if (low > high) return [0, 1];
    if (low === high) return isLog(panel) ? [low / 1.1, high * 1.1] : [low - Math.abs(low) * .05 - 1e-12, high + Math.abs(high) * .05 + 1e-12];
    if (isLog(panel)) { const r = (high / low) ** .04; return [low / r, high * r]; }
    return [low - (high - low) * .04, high + (high - low) * .04];
  }
  function ticks(low, high, most) {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map(k => k * power).find(k => k >= raw) || raw;
    const values = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9 && values.length < 50; k++) values.push(k * step);
    return values;
  }
  function logTicks(low, high) {
    const values = [], several = Math.log10(high / low) < 2.5 ? [1, 2, 5] : [1];
    for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) for (const k of several) {
      const v = k * 10 ** e; if (v >= low && v <= high) values.push(v);
    }
    return values.length > 1 && values.length < 12 ? values : ticks(low, high, 4).filter(v => v > 0);
  }
  function number(v) {
    if (v === 0) return "0";
    if (Math.abs(v) >= 1e6 || Math.abs(v) < 1e-3) return v.toExponential(2).replace(/\.?0+e/, "e").replace("e+", "e");
    return String(Number(v.toPrecision(6))).replace(/\B(?<!\.\d*)(?=(\d{3})+(?!\d))/g, "\u202f");
  }
  const grouped = n => String(n).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  function place(v) {
    if (state.x !== "time") return number(Math.round(v * 100) / 100);
    const [from, to] = range();
    if (to - from > 7200) return `${number(Math.round(v / 36) / 100)} h`;
    return to - from > 120 ? `${number(Math.round(v / .6) / 100)} min` : `${number(v)} s`;
  }
  function straight(g, x0, y0, x1, y1, dash = []) { // draws a line
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
    g.setLineDash([]);
  }
  // What is written above a panel: its name, or each of its curves behind a piece of its line, in rows from the left.
  function heading(g, panel, width) {
    const several = panel.lines.length > 1 && run.runs.length < 2, about = [panel.unit, isLog(panel) ? "log scale" : ""].filter(Boolean).join(", ");
    const items = several ? panel.lines.map(line => ({ words: line.name, line })) : [{ words: panel.name }];
    if (about) items.push({ words: several ? `(${about})` : `· ${about}` });
    let x = 0, row = 0;
    return items.map(item => {
      const wide = (item.line ? SAMPLE + 6 : 0) + Math.min(g.measureText(item.words).width, width);
      if (x && x + wide > width) { x = 0; row += 1; }
      const placed = { ...item, x, row };
      x += wide + (several ? 16 : 4);
      return placed;
    });
  }
  function drawHeading(g, items, left, right) {
    g.textAlign = "left";
    for (const { words, line, x, row } of items) {
      const y = 10 + ROW * row, from = left + x + (line ? SAMPLE + 6 : 0);
      if (line) {
        g.strokeStyle = token(line.token); g.lineWidth = 2;
        straight(g, left + x, y, left + x + SAMPLE, y, line.dash);
        g.lineWidth = 1;
      }
      g.fillText(words, from, y, right - from);
    }
  }
  function drawPanel(canvas, { panel, i }, isLast) {
    const width = canvas.clientWidth, g = canvas.getContext("2d");
    g.font = FONT;
    const names = heading(g, panel, width - PAD.left - PAD.right), above = ROW * names[names.length - 1].row;
    const height = (i === visible()[0].i ? HEIGHTS[0] : HEIGHTS[1]) + above + (isLast ? PAD.bottom : 0);
    const ratio = devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
    g.scale(ratio, ratio);
    const [from, to] = range(), [low, high] = yRange(panel, from, to);
    const left = PAD.left, right = width - PAD.right, top = PAD.top + above, bottom = height - (isLast ? PAD.bottom : 4);
    const X = v => left + (v - from) / (to - from) * (right - left);
    const log = isLog(panel), f = log ? Math.log : v => v;
    const Y = v => bottom - (f(v) - f(low)) / (f(high) - f(low)) * (bottom - top);
    Object.assign(canvas, { scaleX: X, inverse: px => from + (px - left) / (right - left) * (to - from), box: [left, right, top, bottom], names });
    g.font = FONT; g.textBaseline = "middle"; g.lineWidth = 1;
    g.fillStyle = token("ink2");
    drawHeading(g, names, left, right);
    g.textAlign = "right";
    for (const v of log ? logTicks(low, high) : ticks(low, high, height > 200 ? 6 : 4)) {
      g.strokeStyle = token("grid");
      straight(g, left, Math.round(Y(v)) + .5, right, Math.round(Y(v)) + .5);
      g.fillText(number(v), left - 6, Y(v));
    }
    g.textAlign = "center";
    if (isLast) for (const v of ticks(from, to, Math.max(2, (right - left) / 110))) {
      const words = place(v), half = g.measureText(words).width / 2;
      g.fillText(words, Math.min(Math.max(X(v), half), width - half), bottom + 13);
    }
    g.save(); g.beginPath(); g.rect(left, top, right - left, bottom - top); g.clip();
    for (const event of run.events) drawEvent(g, event, X, top, bottom, from, to);
    const window = WINDOWS[state.smooth];
    for (const live of [false, true]) for (const { line, part } of parts(panel)) if (part.live === live) {
      g.strokeStyle = token(live ? line.token : "dead"); g.fillStyle = g.strokeStyle;
      g.setLineDash(live ? line.dash : [4, 3]); g.lineWidth = live ? 1.6 : 1.2;
      g.globalAlpha = window ? .35 : live ? 1 : .8;
      curve(g, part.x[state.x], part.y, X, Y, left, right, from, to, log, top);
      if (window) {
        g.globalAlpha = 1; g.lineWidth = 2; g.setLineDash(live ? line.dash : [4, 3]);
        curve(g, part.x[state.x], smoothed(part, window), X, Y, left, right, from, to, log, null);
      }
      g.globalAlpha = 1; g.setLineDash([]);
    }
    const rows = [...Array(Math.floor((bottom - top) / 25)).fill(-Infinity), -Infinity];
    if (run.runs.length === 1) for (const event of run.events) drawMark(g, event, X, top, from, to, rows);
    if (drag?.box) {
      g.fillStyle = token("accent"); g.globalAlpha = .18;
      g.fillRect(Math.min(drag.x0, drag.x1), top, Math.abs(drag.x1 - drag.x0), bottom - top);
      g.globalAlpha = 1;
    }
    if (pointer !== null) {
      g.strokeStyle = token("dead");
      straight(g, X(pointer), top, X(pointer), bottom, [2, 3]);
    }
    g.restore();
    g.strokeStyle = token("line"); g.strokeRect(left + .5, top + .5, right - left - 1, bottom - top - 1);
  }
  function drawEvent(g, event, X, top, bottom, from, to) {
    const [start, end] = event.x[state.x];
    if (!event.live && !state.dead) return;
    const last = end === null ? to : end;
    if (last < from || start > to || event.kind === "note") return;
    if (run.runs.length > 1 && event.kind !== "finding") return;
    g.fillStyle = g.strokeStyle = run.runs.length > 1 ? token(STYLES[event.run][0]) : event.verdict ? token(event.verdict) : token("dead");
    if (event.kind === "finding" && run.runs.length === 1) {
      // The end of a branch that was discarded is not known here: a finding that was not over there is marked where it begins.
      const isOpen = end === null, a = X(Math.max(start, from)), b = isOpen && !event.live ? a + (start < from ? 0 : 6) : X(Math.min(last, to));
      if (b - a < .9 * (X(to) - X(from))) { g.globalAlpha = isOpen ? .08 : .14; g.fillRect(a, top, Math.max(b - a, 2), bottom - top); }
      if (isOpen && start >= from) { g.globalAlpha = .6; straight(g, a, top, a, bottom); }
    } else {
      g.globalAlpha = .6;
      straight(g, X(start), top, X(start), bottom, [3, 3]);
    }
    g.globalAlpha = 1;
  }
  // The letter of a restart, or the number of a finding in the shape of its verdict, in the first row that has room for it.
  function drawMark(g, event, X, top, from, to, rows) {
    const [start, end] = event.x[state.x], isFinding = event.kind === "finding", path = new Path2D();
    if (!event.mark || (!event.live && !state.dead) || (end ?? to) < from || start > to) return;
    const x = Math.min(Math.max(X(start), X(from)), X(to) - 28), row = Math.max(rows.findIndex(taken => taken <= x), 0);
    rows[row] = x + (isFinding ? 28 : 14);
    const y = top + 14 + 25 * row;
    const corners = {
      worrying: [[0, -11], [12, 10], [-12, 10]], bad: [[-9, -9], [9, -9], [9, 9], [-9, 9]],
      unexpected: [[0, -13], [13, 0], [0, 13], [-13, 0]],
    }[event.verdict];
    g.font = "bold 11px sans-serif";
    g.fillStyle = token(event.verdict || "ink2");
    if (!isFinding || !event.verdict) {
      g.textAlign = "left";
      g.fillText(event.mark, x + 3, y);
    } else {
      if (corners) for (const [dx, dy] of corners) path.lineTo(x + 15 + dx, y + dy);
      else path.arc(x + 15, y, 9, 0, 7);
      g.fill(path);
      g.fillStyle = token(event.verdict === "worrying" ? "on-worrying" : "on-badge"); g.textAlign = "center";
      g.fillText(event.mark, x + 15, y + (event.verdict === "worrying" ? 4 : 1));
    }
    g.font = FONT;
  }
  function curve(g, x, y, X, Y, left, right, from, to, log, top) {
    const a = Math.max(0, lower(x, from) - 1), b = Math.min(x.length, lower(x, to) + 2);
    const many = b - a > 3 * (right - left);
    let open = false, column = null, low, high, entry, exit;
    const missing = [];
    const flush = () => { if (column === null) return;
      open ? g.lineTo(column, Y(entry)) : g.moveTo(column, Y(entry));
      if (low !== high) { g.lineTo(column, Y(low)); g.lineTo(column, Y(high)); g.lineTo(column, Y(exit)); }
      open = true; column = null; };
    g.beginPath();
    for (let i = a; i < b; i++) {
      const v = y[i];
      if (!Number.isFinite(v) || (log && v <= 0)) { flush(); open = false; if (!Number.isFinite(v)) missing.push(X(x[i])); continue; }
      const px = X(x[i]);
      if (!many) {
        open ? g.lineTo(px, Y(v)) : g.moveTo(px, Y(v));
        if (!open && !(Number.isFinite(y[i + 1]) && i + 1 < b)) g.lineTo(px + 1.5, Y(v)); // a single point
        open = true;
        continue;
      }
      const c = Math.round(px);
      if (c !== column) {
        flush();
        column = c;
        low = high = entry = v;
      } else { if (v < low) low = v; if (v > high) high = v; }
      exit = v;
    }
    flush();
    g.stroke();
    if (top !== null && missing.length) {
      lost = true;
      g.fillStyle = run.runs.length > 1 ? g.strokeStyle : token("bad");
      for (const px of missing) g.fillRect(px - 1, top, 2, 7);
    }
    if (many || b - a >= (right - left) / 6) return;
    g.fillStyle = g.strokeStyle;
    for (let i = a; i < b; i++) if (Number.isFinite(y[i])) { // few points have dots
      g.beginPath(); g.arc(X(x[i]), Y(y[i]), 2, 0, 7); g.fill();
    }
  }
  function draw() {
    const shown = visible(), box = $("panels");
    while (box.children.length > shown.length) box.lastChild.remove();
    while (box.children.length < shown.length) box.append(document.createElement("canvas"));
    lost = false;
    shown.forEach((entry, k) => drawPanel(box.children[k], entry, k === shown.length - 1));
    box.dataset.drawn = String(Number(box.dataset.drawn || 0) + 1);
    let held = 0, points = 0;
    for (const { panel } of shown) for (const { part } of parts(panel)) { held += part.y.length; points += part.points; }
    const which = held < points
      ? `${grouped(held)} of ${grouped(points)} points: of each bucket the lowest, the highest and the first that is not a number.`
      : `Every logged point: ${grouped(points)}.`;
    $("held").textContent = lost ? `${which} A bar at the upper edge of a panel marks values that are NaN or infinite.` : which;
    writeHash();
  }
  const redraw = () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(draw); };

  // --- the values at the pointer
  function read() {
    if (pointer === null) return;
    const bits = [[state.x === "step" ? run.axes[0].unit : state.x, place(state.x === "step" ? Math.round(pointer) : pointer)]];
    for (const { panel } of visible()) for (const line of panel.lines) {
      let best = null;
      for (const part of line.parts) if (state.dead || part.live) {
        const x = part.x[state.x];
        let i = lower(x, pointer);
        if (i > 0 && (i === x.length || pointer - x[i - 1] < x[i] - pointer)) i--;
        if (i === x.length) continue;
        const far = Math.abs(x[i] - pointer); // of two equally near points the live one is shown
        if (!best || far < best.far || (far === best.far && part.live && !best.live))
          best = { far, x: x[i], y: part.y[i], live: part.live, attempt: part.attempt };
      }
      if (!best) continue;
      const unit = panel.unit ? ` ${panel.unit}` : "", discarded = best.live ? "" : ", discarded";
      const attempt = run.attempts.length > 1 ? ` (${run.attempts[best.attempt]}${discarded})` : "";
      const name = panel.lines.length > 1 ? line.name : panel.name;
      bits.push([name, `${number(best.y)}${unit} at ${place(best.x)}${attempt}`]);
    }
    const shown = bits.flatMap(([name, words]) => [`${name} `, element("b", {}, words), " · "]);
    $("readout").replaceChildren(...shown.slice(0, -1));
  }

  // --- controls
  function zoom(factor, at) { const [from, to] = range(), c = at ?? (from + to) / 2; show(c - (c - from) * factor, c + (to - c) * factor); }
  function pan(share) { const [from, to] = range(), d = (to - from) * share; show(from + d, to + d); }
  const actions = {
    in: () => zoom(.5), out: () => zoom(2), all: () => { state.from = state.to = null; redraw(); },
    link: async () => {
      try {
        await navigator.clipboard.writeText(location.href);
        $("readout").textContent = "The link to this view was copied.";
      } catch { $("readout").textContent = location.href; } // some browsers refuse it to pages from disk
    },
  };
  function element(name, attributes, ...children) {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  }
  function setUp() {
    document.title = `${run.title} · ${run.runs.length > 1 ? "compared" : "interactive view"}`;
    $("title").textContent = run.title;
    $("axis").replaceChildren(...run.axes.map(({ name, unit, how }) =>
      element("option", { value: name, title: how || "", selected: name === state.x }, name === "step" ? unit : name)));
    $("log").checked = state.log; $("dead").checked = state.dead; $("smooth").value = state.smooth;
    $("dead").closest("label").hidden = run.panels.every(p => p.lines.every(l => l.parts.every(part => part.live)));
    words();
    $("metrics").lastElementChild.replaceChildren(...run.panels.map((panel, i) => {
      const box = element("input", { type: "checkbox", checked: !state.hidden.has(i) });
      box.addEventListener("change", () => {
        box.checked ? state.hidden.delete(i) : state.hidden.add(i);
        if (!visible().length) { state.hidden.delete(i); box.checked = true; } // the last panel stays
        redraw();
      });
      return element("label", {}, box, ` ${panel.name}`);
    }));
    compare();
    list();
  }
  function list() { // the events in the order of the axis, with a column for each run
    const several = run.runs.length > 1, at = event => event.left?.[state.x] ?? event.x[state.x]?.[0] ?? 0;
    $("events").className = several ? "columns" : "";
    $("events").style.setProperty("--runs", run.runs.length);
    const reached = []; // the events of a run keep their order: after a rollback they are placed behind it
    const order = new Map(run.events.map(e => [e, reached[e.run ?? 0] = Math.max(reached[e.run ?? 0] ?? -Infinity, at(e))]));
    const listed = several ? [...run.events].sort((a, b) => order.get(a) - order.get(b)) : run.events;
    $("events").replaceChildren(...listed.map(event => {
      const go = element("button", { type: "button" }, event.title);
      go.addEventListener("click", () => {
        const [start, end] = event.x[state.x], [first, last] = extent();
        const width = Math.max((end ?? last) - start, (last - first) * .004);
        show(start - width, (end ?? last) + width);
        $("panels").focus();
      });
      const mark = element("span", { className: "mark" }, event.mark || "·");
      if (event.verdict) mark.dataset.v = event.verdict;
      const of = several ? element("small", {}, run.runs[event.run].title) : "";
      const row = element("li", { className: event.live ? "" : "dead" }, mark, element("span", {}, of, go, ` ${event.sentence}`));
      if (several) row.style.setProperty("--column", event.run + 1);
      return row;
    }));
  }
  function compare() { // the legend, and the facts that differ
    const { runs } = run, box = $("compared");
    box.hidden = runs.length < 2;
    if (box.hidden) return;
    $("legend").replaceChildren(...runs.map((view, k) => {
      const sample = element("canvas", { width: 60, height: 12 }), g = sample.getContext("2d");
      g.strokeStyle = token(STYLES[k][0]); g.lineWidth = 3;
      straight(g, 2, 6, 58, 6, STYLES[k][1].map(d => 2 * d));
      const link = element("a", { href: `../runs/${encodeURIComponent(state.runs[k])}/index.html` }, view.title);
      return element("li", {}, sample, link, ` ${view.verdict}. ${view.headline}`);
    }));
    const names = [...new Set(runs.flatMap(view => view.facts.map(([name]) => name)))];
    const value = (view, name) => view.facts.find(fact => fact[0] === name)?.[1] ?? "–";
    const rows = names.map(name => [name, ...runs.map(view => value(view, name))]).filter(([, ...values]) => new Set(values).size > 1);
    const cells = (kind, row) => element("tr", {}, ...row.map((text, i) => element(i ? kind : "th", {}, text)));
    const head = element("thead", {}, cells("th", ["What differs", ...runs.map(view => view.title)]));
    $("facts").replaceChildren(head, element("tbody", {}, ...rows.map(row => cells("td", row))));
  }
  const words = () => { $("smooth-words").textContent = state.smooth ? `mean of ${WINDOWS[state.smooth]} points` : "off"; };
  $("axis").addEventListener("change", e => { state.x = e.target.value; state.from = state.to = null; pointer = null; list(); redraw(); });
  $("log").addEventListener("change", e => { state.log = e.target.checked; redraw(); });
  $("dead").addEventListener("change", e => { state.dead = e.target.checked; redraw(); });
  $("smooth").addEventListener("input", e => { state.smooth = Number(e.target.value); words(); redraw(); });
  $("controls").addEventListener("submit", e => e.preventDefault());
  $("controls").addEventListener("click", e => {
    const button = e.target.closest("[data-do]");
    if (button && run) actions[button.dataset.do]();
  });
  const box = $("panels"), fingers = new Map();
  const inside = e => e.target.inverse ? e.target.inverse(e.offsetX) : null;
  box.addEventListener("wheel", e => {
    if (!run || inside(e) === null) return;
    e.preventDefault();
    zoom(1.0015 ** e.deltaY, inside(e));
  }, { passive: false });
  box.addEventListener("pointerdown", e => {
    if (inside(e) === null) return;
    e.target.setPointerCapture(e.pointerId);
    fingers.set(e.pointerId, e.offsetX);
    drag = { canvas: e.target, x0: e.offsetX, x1: e.offsetX, range: range(), box: e.shiftKey };
  });
  box.addEventListener("pointermove", e => {
    if (!run || !e.target.inverse) return;
    if (fingers.has(e.pointerId)) fingers.set(e.pointerId, e.offsetX);
    if (fingers.size === 2) { // two fingers zoom
      const [p, q] = [...fingers.values()], spread = Math.abs(p - q) || 1;
      if (drag?.spread) zoom(drag.spread / spread, e.target.inverse((p + q) / 2));
      drag = { ...drag, spread, box: false };
      return;
    }
    if (drag && !drag.spread) {
      drag.x1 = e.offsetX;
      if (!drag.box) {
        const [left, right] = e.target.box, [from, to] = drag.range;
        const moved = (drag.x0 - e.offsetX) / (right - left) * (to - from);
        show(from + moved, to + moved);
        return;
      }
    }
    pointer = inside(e); read(); redraw();
  });
  const release = e => {
    fingers.delete(e.pointerId);
    if (drag?.box && drag.x0 !== drag.x1) {
      const [from, to] = [drag.x0, drag.x1].sort((p, q) => p - q).map(drag.canvas.inverse);
      drag = null;
      show(from, to);
    }
    if (!fingers.size) { drag = null; if (run) redraw(); }
  };
  for (const name of ["pointerup", "pointercancel"]) box.addEventListener(name, release);
  box.addEventListener("pointerleave", () => { pointer = null; if (run) redraw(); });
  box.addEventListener("dblclick", () => run && actions.all());
  box.addEventListener("keydown", e => {
    const { in: closer, out: farther, all } = actions;
    const keys = { ArrowLeft: () => pan(-.2), ArrowRight: () => pan(.2), "+": closer, "=": closer, "-": farther, 0: all };
    if (run && keys[e.key]) { e.preventDefault(); keys[e.key](); }
  });
  addEventListener("resize", () => run && redraw());
  addEventListener("hashchange", () => location.reload()); // a link to another view was followed

  // --- start
  readHash();
  document.body.dataset.mdColorScheme = isDark() ? "slate" : "default";
  const isName = name => /^[\w.%~-]+$/.test(name) && !/^\.*$/.test(name);
  if (!state.runs.length || !state.runs.every(isName)) { $("title").textContent = "The address names no run."; return; }
  const folder = name => `../runs/${encodeURIComponent(name)}`;
  $("back").href = state.runs.length > 1 ? "../browse.html" : `${folder(state.runs[0])}/index.html`;
  if (state.runs.length > 1) $("back").textContent = "Browse";
  const script = name => new Promise((done, failed) => document.body.append(
    element("script", { src: `${folder(name)}/view.js`, onload: done, onerror: failed })));
  state.runs.reduce((before, name) => before.then(() => script(name)), Promise.resolve())
    .then(start, () => { $("title").textContent = "There are no data for a run that the address names."; });
})();
