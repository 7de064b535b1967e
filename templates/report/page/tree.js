// The modules of a step and rank, as a tree.

/** Operations of a unit by the module they ran in, and how many rows below each module differ. */
function modules() {
  const parent = new Map();
  const differs = new Map();
  let first = null;
  for (const row of rowsOf(data.units[chosenUnit])) {
    const op = columns.op[row];
    parent.set(op, columns.module[row]);
    if (codeOf(row) === DIFFERS) differs.set(op, (differs.get(op) ?? 0) + 1);
    if (first === null && isFirst(row)) first = op;
  }
  const children = new Map();
  for (const [op, module] of parent) {
    if (texts[module] === "" || module === op) continue;
    if (!children.has(module)) children.set(module, []);
    children.get(module).push(op);
  }
  const roots = [...children.keys()].filter((op) => !parent.has(op) || texts[parent.get(op)] === "");
  return { children, differs, roots, path: above(parent, first) };
}

/** An operation and the modules around it; a damaged tree may hold a circle. */
function above(parent, op) {
  const path = new Set();
  for (let at = op; at !== null && at !== undefined && !path.has(at); at = parent.get(at)) path.add(at);
  return path;
}

/** Everything below a module. */
function below(children, op, seen = new Set()) {
  const open = [op];
  while (open.length > 0) {
    const next = open.pop();
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(children.get(next) ?? []));
  }
  return seen;
}

function drawTree() {
  const host = byId("tree");
  const { children, differs, roots, path } = modules();
  host.hidden = roots.length === 0;
  host.replaceChildren(moduleButton(null, word("page_all_modules"), 0, children, path));
  const drawnOnce = new Set();
  const branch = (op, open) => {
    if (drawnOnce.has(op)) return null;
    drawnOnce.add(op);
    const count = [...below(children, op)].reduce((sum, one) => sum + (differs.get(one) ?? 0), 0);
    const button = moduleButton(op, texts[op], count, children, path);
    const parts = (children.get(op) ?? []).filter((child) => children.has(child));
    if (parts.length === 0) return button;
    const details = element("details", open ? { open: "" } : {}, element("summary", { tabindex: "-1" }, button));
    const fill = () => details.append(...parts.map((child) => branch(child, parts.length === 1 || path.has(child))).filter(Boolean));
    // A deep model has thousands of modules: a branch is made when it is opened.
    if (open) fill();
    else details.addEventListener("toggle", fill, { once: true });
    return details;
  };
  host.append(...roots.map((op) => branch(op, roots.length === 1 || path.has(op))).filter(Boolean));
}

function moduleButton(op, name, count, children, path) {
  const kind = `${count > 0 ? "differs" : ""} ${path.has(op) ? "holds" : ""}`.trim();
  const brief = name.replace(/^Module\./, "");
  const label = element("span", { class: kind === "" ? null : kind }, count > 0 ? `${brief} (${count})` : brief);
  const button = element("button", { type: "button", title: name, "aria-pressed": String(op === chosenModule) }, label);
  button.addEventListener("click", () => {
    chosenModule = op;
    inModule = op === null ? null : below(children, op);
    byId("tree").querySelectorAll("button").forEach((one) => one.setAttribute("aria-pressed", String(one === button)));
    const note = byId("chosen-module");
    note.hidden = op === null;
    note.textContent = op === null ? "" : `${word("page_module")} ${name}`;
    zoomTo(inModule);
    // A module is looked at whole: what agrees in it belongs to the picture.
    if (op !== null && byId("state").value === "wrong") byId("state").value = "";
    filter();
  });
  return button;
}
