// A number was clicked: only the runs behind it are listed. The address keeps them, so that the view can be sent on.
const bar = document.getElementById("filter"), all = [...document.querySelectorAll("details.run")];
function show() {
  const m = /^#runs=([\w.,-]*)$/.exec(location.hash);
  const wanted = m && new Set(m[1].split(","));
  for (const d of all) d.hidden = !!wanted && !wanted.has(d.dataset.run);
  bar.hidden = !wanted;
  if (!wanted) return;
  const n = all.filter(d => !d.hidden).length;
  bar.querySelector("span").textContent = `${n} of ${all.length} runs: those behind the number you followed`;
  document.getElementById("rows").scrollIntoView();
}
for (const a of document.querySelectorAll("a.num")) a.href = "#runs=" + a.dataset.runs;
bar.querySelector("button").onclick = () => { history.replaceState(null, "", "#rows"); show(); };
addEventListener("hashchange", show);
show();
