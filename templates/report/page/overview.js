// The first screen: the picture of the failure, and both sides' numbers of the first wrong value.

/** The unit of the culprit, else the worst that is not fine, else none. */
function unitToShow() {
  const { culprit } = data;
  const isCulprit = (unit) => culprit !== null && unit.step === culprit.step && unit.rank === culprit.rank && unit.culprit === culprit.op;
  return data.units.find(isCulprit) ?? data.units.find((unit) => unit.culprit !== null)
    ?? data.units.reduce((worst, unit) => (worst === null || rank(unit) > rank(worst) ? unit : worst), null);
}

/** What the first lines are about; else a curve that failed, unless a dump names the operation; of a pass the curve. */
function pictured() {
  const [curve, unit] = [data.curves[0] ?? null, unitToShow()];
  const about = byId("picture").dataset.picture;
  if (about === "loss" && curve !== null) return { curve, unit: null };
  if (about === "divergence" && unit !== null) return { curve: null, unit };
  if (curve === null || unit === null) return { curve, unit };
  return unit.culprit !== null || rank(unit) > rank(curve) ? { curve: null, unit } : { curve, unit: null };
}

function drawPicture() {
  const { curve, unit } = pictured();
  const figure = byId("picture");
  if (curve === null && unit === null) return;
  figure.hidden = false;
  const caption = (text, href) => figure.querySelector("figcaption")
    .append(element("span", {}, text), element("a", { href }, word("page_closer")));
  const rooms = figure.querySelectorAll(".room");
  const fill = (room) => room.querySelector(".fill");
  if (curve === null) {
    rooms[1].hidden = true;
    caption(`${word("page_profile")} · ${nameOfUnit(unit)}`, "#profile");
    drawUnit(fill(rooms[0]), prepareProfile(unit), null);
    return;
  }
  const [shown, isAlone] = [prepared(curve), isOfOneRun(curve)];
  caption(`${curveName(curve)} · ${isAlone ? CANDIDATE : `${BASELINE} / ${CANDIDATE}`}`, "#curves");
  rooms[1].hidden = isAlone;
  drawSides(fill(rooms[0]), shown, null);
  if (!isAlone) drawDifference(fill(rooms[1]), shown, null);
}

/** The row of the value that the culprit is about. */
function culpritRow() {
  const { culprit } = data;
  if (culprit === null) return null;
  const place = unitPlaces.findIndex(([step, rank]) => step === culprit.step && rank === culprit.rank);
  return known.find((row) => columns.unit[row] === place && isCalled(row, culprit.tensor)) ?? null;
}

function drawCulprit() {
  const row = culpritRow();
  if (row === null) return;
  for (const host of document.querySelectorAll("[data-sides]")) {
    host.replaceChildren(host.dataset.sides === "short" ? shortSides(row) : longSides(row));
    host.hidden = false;
  }
}
