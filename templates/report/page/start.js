// What is there is drawn; what is not stays hidden, and out of the contents.

function chooseUnit(index) {
  chosenUnit = index;
  chosenModule = inModule = null;
  byId("chosen-module").hidden = true;
  drawTree();
  drawProfile();
  filter();
}

function startUnits() {
  byId("profile").hidden = false;
  byId("unit").append(...data.units.map((unit, index) => element("option", { value: index }, `${nameOfUnit(unit)} · ${word(`verdict_${unit.verdict}`)}`)));
  byId("unit").addEventListener("change", (event) => chooseUnit(Number(event.target.value)));
  document.querySelector('[data-zoom="in"]').addEventListener("click", () => zoom(0.25));
  document.querySelector('[data-zoom="out"]').addEventListener("click", () => zoom(0));
  // The unit that holds the culprit first: that is what a reader looks for.
  const first = Math.max(0, data.units.indexOf(unitToShow()));
  byId("unit").value = String(first);
  chooseUnit(first);
}

/** Takes the rows that are not there yet; what a reader has chosen stays chosen. */
async function readBlocks() {
  const isRead = await takeBlocks().then(() => true, () => false);
  byId("operations").removeAttribute("aria-busy");
  byId("unread").hidden = isRead;
  const row = shown[chosenRow];
  drawCulprit();
  sort();
  if (data.units.length > 0) chooseUnit(chosenUnit);
  else filter();
  if (row !== undefined) choose(shown.indexOf(row));
}

/** Marks in the contents the part that is being read. */
function followReading() {
  const links = [...document.querySelectorAll("#contents a")].filter((link) => !link.hidden);
  const parts = links.map((link) => document.querySelector(link.getAttribute("href")));
  const mark = () => {
    const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2;
    const passed = parts.filter((part) => part.getBoundingClientRect().top < innerHeight / 3);
    const current = atEnd && scrollY > 0 ? parts[parts.length - 1] : passed[passed.length - 1] ?? parts[0];
    links.forEach((link, index) => (parts[index] === current ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
  };
  let waiting = false;
  addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; mark(); });
  }, { passive: true });
  mark();
}

data.units = data.units.filter((unit) => unit.order.length > 0);
drawCulprit();
if (count > known.length) {
  byId("operations").setAttribute("aria-busy", "true");
  // The blocks stand behind the scripts: the page is drawn before a browser has read them.
  addEventListener("DOMContentLoaded", () => setTimeout(readBlocks));
}
if (count > 0) startTable();
if (data.units.length > 0) startUnits();
else if (count > 0) filter();
drawCurves();
document.querySelectorAll("[data-needs]").forEach((link) => {
  const part = document.querySelector(link.getAttribute("href"));
  link.hidden = part === null || part.hidden;
});
// Last, when everything beside it has its height.
drawPicture();
followReading();
