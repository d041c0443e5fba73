"use strict";
// Narrows the page to what holds all words of the search, and to one operation. Without a script all of it is shown.
(() => {
  const search = document.getElementById("search");
  const operation = document.getElementById("operation");
  const count = document.getElementById("count");
  const parts = [...document.querySelectorAll(".group, .exchange")].map((part) => [part, part.textContent.toLowerCase()]);
  const narrow = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = { group: 0, exchange: 0 };
    for (const [part, text] of parts) {
      const fits =
        (!operation.value || part.dataset.operation === operation.value) && words.every((word) => text.includes(word));
      part.classList.toggle("narrowed", !fits);
      shown[part.classList.contains("group") ? "group" : "exchange"] += fits;
    }
    const of = (kind) => `${shown[kind]} of ${document.getElementsByClassName(kind).length}`;
    count.textContent = words.length || operation.value ? `${of("group")} differences, ${of("exchange")} exchanges` : "";
  };
  search.addEventListener("input", narrow);
  operation.addEventListener("change", narrow);
  document.getElementById("narrow").hidden = false;
})();
