/* Buttons at the events of a run: copy the event as Markdown, and download its data as CSV. The data are those of the
   script of the interactive view. */
(() => {
  "use strict";
  const make = window.chronicleMake, button = (text, onclick) => make("button", { type: "button", className: "ch-link", onclick }, text);
  const words = (item, selector) => item.querySelector(selector)?.innerText.replace(/\s+/g, " ").trim() || "";
  const escaped = text => text.replace(/[\\`*_[\]<>#|]/g, "\\$&");

  function markdown(item) {
    const link = `${location.href.split("#")[0]}#${item.id}`, run = document.querySelector("h1").firstChild.textContent.trim();
    const when = words(item, ".ch-when"), sentence = words(item, "h3 ~ p");
    return `**[${escaped(words(item, "h3"))}](${link})** (${escaped([run, when].filter(Boolean).join(", "))}): ${escaped(sentence)}\n`;
  }

  async function copy(text) {
    try { await navigator.clipboard.writeText(text); } catch { // some browsers refuse it to pages from disk
      const area = make("textarea", { value: text });
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
    }
  }

  let loading = null;
  const data = () => loading ||= new Promise((done, failed) => {
    window.chronicleView = done;
    document.head.append(make("script", { src: "view.js", onerror: failed }));
  }).then(async view => {
    const bytes = Uint8Array.from(atob(view.block), c => c.charCodeAt(0));
    const block = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).arrayBuffer();
    return { ...view, column: ([kind, place, length]) => new (kind === "d" ? Float64Array : Float32Array)(block, place, length) };
  });

  /* The points of an event, and of as many steps before and after it as it lasted. */
  async function csv(id) {
    const view = await data(), event = view.events.find(other => other.id === id);
    const [from, to] = event.x.step, ends = view.panels.flatMap(p => p.lines.flatMap(l => l.parts.map(part => view.column(part.x.step).at(-1))));
    const last = to ?? Math.max(...ends), wide = Math.max(last - from, 20);
    const quoted = text => `"${String(text).replaceAll('"', '""')}"`, rows = ["attempt,metric,live,step,value"];
    for (const panel of view.panels) for (const line of panel.lines) for (const part of line.parts) {
      const steps = view.column(part.x.step), values = view.column(part.y);
      steps.forEach((step, i) => {
        if (step >= from - wide && step <= last + wide)
          rows.push([quoted(view.attempts[part.attempt]), quoted(line.name), part.live, step, values[i]].join(","));
      });
    }
    return rows.join("\n") + "\n";
  }

  /* The theme opens every fold before printing; only those that the reader has opened are printed. */
  for (const fold of document.querySelectorAll(".ch-fold > summary"))
    fold.addEventListener("click", () => fold.parentElement.classList.toggle("ch-read"));

  for (const item of document.querySelectorAll(".ch-log > li[id]")) {
    const status = make("span", { className: "ch-no", role: "status" });
    const place = make("p", { className: "ch-do" }, button("copy as Markdown", async () => { await copy(markdown(item)); status.textContent = "copied"; }));
    if (item.querySelector("figure")) place.append(button("data as CSV", async () => {
      const address = URL.createObjectURL(new Blob([await csv(item.id)], { type: "text/csv" }));
      make("a", { href: address, download: `${item.id}.csv` }).click();
    }));
    place.append(status);
    item.lastElementChild.append(place);
  }
})();
