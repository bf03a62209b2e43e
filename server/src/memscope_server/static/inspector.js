"use strict";
// A page that the browser kept for Back and Forward may show what has been corrected or forgotten since: load it again.
addEventListener("pageshow", (event) => { if (event.persisted) { location.reload(); } });
// On a narrow screen, scroll the tab of this page into view.
const tab = document.querySelector("nav [aria-current]");
if (tab) { tab.parentNode.scrollLeft = tab.offsetLeft - (tab.parentNode.clientWidth - tab.offsetWidth) / 2; }
// Load the next rows shortly before the end of a list comes into view.
const rows = document.getElementById("rows");
const seen = new IntersectionObserver(async (entries) => {
  for (const entry of entries.filter((one) => one.isIntersecting)) {
    seen.unobserve(entry.target);
    const reply = await fetch(entry.target.querySelector("a").href, { headers: { "x-rows": "1" } });
    if (!reply.ok) { continue; }
    const made = new DOMParser().parseFromString(await reply.text(), "text/html");
    entry.target.replaceWith(...made.body.children);
    watch();
  }
}, { rootMargin: "3000px" });
function watch() { for (const more of rows?.querySelectorAll(".more") ?? []) { seen.observe(more); } }
watch();
// The slider sets the date field next to it.
for (const range of document.querySelectorAll("[data-range]")) {
  const field = document.getElementById(range.dataset.range);
  const day = 86400000, first = Date.parse(range.dataset.first), last = Date.parse(range.dataset.last);
  range.max = Math.max(0, Math.round((last - first) / day));
  range.value = field.value ? Math.round((Date.parse(field.value) - first) / day) : range.max;
  range.addEventListener("input", () => { field.value = new Date(first + range.value * day).toISOString().slice(0, 10); });
  range.addEventListener("change", () => range.form.requestSubmit());
}
