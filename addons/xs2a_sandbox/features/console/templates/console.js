"use strict";
(() => {
  const find = id => document.getElementById(id);
  const rows = find("rows"), split = find("split"), pane = find("pane"), live = find("live"), pause = find("pause"), most = 10000;

  // Copying
  const showCopies = root => root.querySelectorAll("[data-copy],[data-copy-text]").forEach(button => { button.hidden = false; });
  document.addEventListener("click", async event => {
    const button = event.target.closest("[data-copy],[data-copy-text]");
    if (!button) return;
    const text = button.dataset.copyText || find(button.dataset.copy).textContent, name = button.textContent;
    try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
    catch { button.textContent = "Not copied: select the text below"; }
    setTimeout(() => { button.textContent = name; }, 1500);
  });
  showCopies(document);

  // A command that runs in the background: each part of its page is replaced when it has changed
  const run = document.querySelector("[data-refresh]"), shown = new Map();
  const refresh = async () => {
    let html;
    try {
      const answer = await fetch(run.dataset.refresh);
      if (!answer.ok) throw new Error(answer.status);
      html = await answer.text();
    } catch { setTimeout(refresh, 2000); return; }
    const fresh = document.createElement("template");
    fresh.innerHTML = html;
    const isLive = fresh.content.querySelector("[data-live]");
    fresh.content.querySelectorAll("[data-part]").forEach(part => {
      if (shown.get(part.id) === part.outerHTML) return;
      shown.set(part.id, part.outerHTML);
      showCopies(part);
      find(part.id).replaceWith(part);
    });
    if (isLive) setTimeout(refresh, 1000);
  };
  if (run) {
    run.querySelectorAll("[data-part]").forEach(part => shown.set(part.id, part.outerHTML));
    setTimeout(refresh, 1000);
  }
  if (!rows) return;

  // The exchange beside the list
  let opened = find("open").value || null, asked = 0;
  const rowOf = number => rows.querySelector(`tr[data-number="${CSS.escape(number)}"]`);
  const mark = () => rows.querySelectorAll("tr").forEach(row => {
    if (row.dataset.number === opened) row.setAttribute("aria-current", "true"); else row.removeAttribute("aria-current");
  });
  const remember = () => {
    const withOpen = address => {
      const url = new URL(address);
      if (opened) url.searchParams.set("open", opened); else url.searchParams.delete("open");
      return url.href;
    };
    history.replaceState(null, "", withOpen(location.href));
    // A search, and links to other searches, keep the exchange open.
    find("open").value = opened || ""; find("open").disabled = !opened;
    document.querySelectorAll(".keeps-open").forEach(link => { link.href = withOpen(link.href); });
  };
  const ready = () => {
    showCopies(pane);
    const close = find("close");
    if (close) { close.hidden = false; close.addEventListener("click", shut); }
  };
  const shut = () => {
    const row = opened && rowOf(opened);
    opened = null; asked++; pane.replaceChildren(); split.classList.remove("open"); mark(); remember();
    if (row) row.querySelector("a").focus();
  };
  const open = async number => {
    opened = number; mark();
    const row = rowOf(number), mine = ++asked;
    if (row) row.scrollIntoView({ block: "nearest" });
    let html;
    try {
      const answer = await fetch(rows.dataset.page + number + "?part=true");
      if (!answer.ok) throw new Error(answer.status);
      html = await answer.text();
    } catch { location.href = rows.dataset.page + number; return; }
    if (mine !== asked) return;
    const part = document.createElement("template");
    part.innerHTML = html;
    pane.replaceChildren(part.content); pane.scrollTop = 0;
    split.classList.add("open"); ready(); remember();
  };
  rows.addEventListener("click", event => {
    const row = event.target.closest("tr"), other = event.ctrlKey || event.metaKey || event.shiftKey || event.button;
    if (!row || other || String(getSelection())) return;
    event.preventDefault(); open(row.dataset.number);
  });
  const step = by => {
    const row = opened && rowOf(opened);
    const next = row ? (by > 0 ? row.nextElementSibling : row.previousElementSibling) : rows.firstElementChild;
    if (next) open(next.dataset.number);
  };
  const help = find("help"), keys = find("keys");
  keys.hidden = false;
  keys.addEventListener("click", () => help.showModal());
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.target.matches("input,textarea,select,[contenteditable]")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const inPane = pane.contains(document.activeElement) && document.activeElement !== pane;
    const does = {
      j: () => step(1), k: () => step(-1), "/": () => find("search").focus(), "?": () => help.showModal(),
      p: () => pause.hidden || pause.click(), Escape: () => opened && shut(),
      Enter: () => { if (opened && !inPane && !document.activeElement.matches("a,button,summary")) location.href = rows.dataset.page + opened; },
      ArrowDown: inPane ? null : () => step(1), ArrowUp: inPane ? null : () => step(-1),
    }[event.key];
    if (!does) return;
    if (event.key !== "Enter") event.preventDefault();
    does();
  });
  mark(); ready();

  // Completing the last term of a search
  const box = find("search"), list = find("terms"), terms = [...list.options].map(option => option.value);
  box.addEventListener("input", () => {
    const before = box.value.replace(/\S*$/, ""), sign = /(^|\s)!\S*$/.test(box.value) ? "!" : "";
    list.replaceChildren(...terms.map(term => { const option = document.createElement("option"); option.value = before + sign + term; return option; }));
  });

  // Rows that come by themselves
  if (!rows.dataset.events || !window.EventSource) return;
  let last = rows.dataset.last, source, stopped = false;
  const say = text => { if (live.textContent !== text) live.textContent = text; };
  const listen = () => {
    const query = new URLSearchParams(rows.dataset.query);
    query.set("since", last);
    if (find("held").children.length) query.set("held", "true");
    source = new EventSource(rows.dataset.events + "?" + query);
    source.addEventListener("open", () => say("Live"));
    source.addEventListener("rows", event => {
      last = event.lastEventId;
      const part = document.createElement("template");
      part.innerHTML = event.data;
      const list = rows.closest(".list"), height = list.scrollTop ? rows.offsetHeight : 0;
      rows.prepend(part.content);
      // Keep the position of a user who has scrolled down.
      if (height) list.scrollTop += rows.offsetHeight - height;
      while (rows.children.length > most) rows.lastElementChild.remove();
      const none = find("none");
      if (none) none.remove();
    });
    source.addEventListener("held", event => { find("held").innerHTML = event.data; });
    // The server ends the stream now and then, so that it can stop at any time.
    source.addEventListener("again", () => { source.close(); if (!stopped) listen(); });
    source.addEventListener("reload", () => { source.close(); location.reload(); });
    source.addEventListener("error", () => { source.close(); say("Not connected"); if (!stopped) setTimeout(listen, 2000); });
  };
  pause.hidden = false;
  pause.addEventListener("click", () => {
    stopped = !stopped;
    pause.textContent = stopped ? "Continue" : "Pause";
    if (stopped) { source.close(); say("Paused"); } else listen();
  });
  listen();
})();
