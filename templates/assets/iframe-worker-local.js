/* Search without a server. Browsers refuse new Worker() on file://, so Material asks for a stand-in.
   Ours runs the worker's scripts in a hidden iframe of the same origin and passes messages both ways.
   The file name must contain "iframe-worker": by it the offline plugin knows not to add a CDN address. */
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.title = "search worker";
      document.body.append(frame);
      const inner = this.inner = frame.contentWindow;
      inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      inner.importScripts = (...urls) =>
        urls.reduce((before, each) => before.then(() => this.load(each)), Promise.resolve());
      this.load(String(url)).then(() => {
        const waiting = this.waiting;
        this.waiting = null;
        waiting.forEach(data => this.post(data));
      });
    }
    load(src) {
      return new Promise((onload, onerror) => {
        const script = this.inner.document.createElement("script");
        this.inner.document.head.append(Object.assign(script, { src, onload, onerror }));
      });
    }
    post(data) {
      this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data }));
    }
    postMessage(data) {
      this.waiting ? this.waiting.push(data) : this.post(data);
    }
    terminate() {}
  };
