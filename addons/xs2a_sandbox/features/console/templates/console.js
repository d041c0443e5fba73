"use strict";
(() => {
  const rows = document.getElementById("rows");
  if (!rows || !rows.dataset.events || !window.EventSource) return;
  const live = document.getElementById("live"), pause = document.getElementById("pause"), most = 10000;
  let last = rows.dataset.last, source, stopped = false;
  const say = text => { if (live.textContent !== text) live.textContent = text; };
  const open = () => {
    const query = new URLSearchParams(rows.dataset.query);
    query.set("since", last);
    source = new EventSource(rows.dataset.events + "?" + query);
    source.addEventListener("open", () => say("Live"));
    source.addEventListener("rows", event => {
      last = event.lastEventId;
      const part = document.createElement("template");
      part.innerHTML = event.data;
      rows.prepend(part.content);
      while (rows.children.length > most) rows.lastElementChild.remove();
      const none = document.getElementById("none");
      if (none) none.remove();
    });
    // The server ends the stream now and then, so that it can stop at any time.
    source.addEventListener("again", () => { source.close(); if (!stopped) open(); });
    source.addEventListener("reload", () => { source.close(); location.reload(); });
    source.addEventListener("error", () => { source.close(); say("Not connected"); if (!stopped) setTimeout(open, 2000); });
  };
  pause.hidden = false;
  pause.addEventListener("click", () => {
    stopped = !stopped;
    pause.textContent = stopped ? "Go on" : "Pause";
    if (stopped) { source.close(); say("Paused"); } else open();
  });
  open();
})();
