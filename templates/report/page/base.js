// Words, numbers and elements. Text from artifacts only ever becomes textContent.
const data = JSON.parse(document.getElementById("data").textContent);
const isChinese = document.documentElement.lang.startsWith("zh");

/** A phrase with values in its places; in Chinese a name in Latin letters keeps a space to the text around it. */
function word(key, values = {}) {
  const put = (text, [name, value]) => text.replace(new RegExp(`(.?)\\{${name}\\}(.?)`, "su"), (_, before, after) => {
    const apart = (beside) => (isChinese && /^[\x21-\x7e]/.test(value) && /\p{Script=Han}/u.test(beside) ? " " : "");
    return `${before}${apart(before)}${value}${apart(after)}${after}`;
  });
  return Object.entries(values).reduce(put, data.words[key] ?? key);
}

const byId = (id) => document.getElementById(id);
const [BASELINE, CANDIDATE] = data.labels;
/** Names of the sides, for words that hold a place for them. */
const NAMES = { baseline: BASELINE, candidate: CANDIDATE };
const NOTHING = "—";

/** An element with attributes, text and children. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** JSON carries NaN and infinity as words. */
const number = (value) => (typeof value === "string" ? { nan: NaN, inf: Infinity, "-inf": -Infinity }[value] : value);
const named = (value) => ({ nan: "NaN", NaN: "NaN" }[value] ?? value);
const plain = (value, digits) => value.toExponential(digits).replace(/\.?0+e/, "e").replace("e+", "e");

/** `value` with at most `digits` significant digits, as src/report/messages.rs writes it. */
function rounded(value, digits) {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-4 || size >= 1e6) return plain(value, digits - 1);
  return String(Number(value.toFixed(Math.max(0, digits - 1 - Math.floor(Math.log10(size))))));
}

/** A number as the other documents show it: four significant digits. */
function short(value) {
  if (value === null || value === undefined) return NOTHING;
  return typeof value === "string" ? named(value) : rounded(value, 4);
}

/** A ratio: a percentage from 0.01 % on, a plain number below, a multiple beyond 1000 %. */
function ratio(value, digits) {
  const size = Math.abs(value);
  if (size > 10 && Number.isFinite(size)) return `${rounded(value, digits)}×`;
  if (!Number.isFinite(size) || (size !== 0 && size < 1e-4)) return rounded(value, digits);
  return `${size >= 1 ? Math.round(value * 100) : rounded(value * 100, digits)} %`;
}

/** A relative error with two digits; a zero at the end says that the number was rounded: 5.046 % is 5.0 %, and 5 % is 5 %. */
function relative(value) {
  if (value === null || value === undefined || typeof value === "string") return short(value);
  const text = ratio(value, 2);
  return text.length === 3 && text.endsWith("%") && text !== ratio(value, 4) ? text.replace(" %", ".0 %") : text;
}

/** A mark of an axis of relative errors, and of one of differences: as the pictures beside the page have them. */
const tick = (value) => `${value < 0 ? "−" : ""}${ratio(Math.abs(value), 3)}`;
const signedTick = (value) => `${value > 0 ? "+" : ""}${tick(value)}`;

/** A value of one side: whole numbers in full (65504 tells fp16), others with five digits; empty where the dump has none. */
function recorded(text) {
  if (text === undefined || text === null || text === "" || text === "null") return NOTHING;
  const value = Number(text);
  if (!Number.isFinite(value)) return named(text);
  if (Number.isInteger(value) && Math.abs(value) < 1e7) return String(value);
  const size = Math.abs(value);
  return size < 1e-4 || size >= 1e6 ? plain(value, 3) : String(Number(value.toPrecision(5)));
}
