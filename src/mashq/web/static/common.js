// What all pages share. Text from a run only ever becomes a text node: nothing here writes HTML.

export const find = (id) => document.getElementById(id);
export const query = new URLSearchParams(location.search);
export const SHAPES = ["●", "■", "▲", "◆", "✚", "★"];
export const DASHES = ["", "6 3", "2 3", "9 3 2 3", "1 4", "12 4"];

// Control characters (except tab and newline), direction marks, invisible and private characters, lone surrogates.
const ODD = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f"
  + "\\ufeff\\ufff9-\\ufffb\\ue000-\\uf8ff\\u{e0000}-\\u{e007f}\\ud800-\\udfff]", "gu");

const code = (character) => "U+" + character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");

// Returns a name on one line, with odd characters spelled out.
export const plain = (text, longest = 120) => {
  const shown = String(text ?? "").replace(/\r\n?/g, "\n").replace(/[\n\t]+/g, " ").replace(ODD, (c) => `⟨${code(c)}⟩`);
  const cut = [...shown.slice(0, 2 * longest)];
  return cut.length > longest ? cut.slice(0, longest - 1).join("") + "…" : cut.join("");
};

// Returns a text as nodes: odd characters become small labelled boxes.
export const visible = (text) => {
  const out = document.createDocumentFragment();
  const normalised = String(text ?? "").replace(/\r\n/g, "\n");
  let from = 0, boxes = 0;
  for (const match of normalised.matchAll(ODD)) {
    out.append(normalised.slice(from, match.index));
    from = match.index + match[0].length;
    if (boxes++ < 2000) out.append(make("span", { class: "ctl", title: "a character that cannot be seen" }, code(match[0])));
    else out.append("�");
  }
  out.append(normalised.slice(from));
  return out;
};

// Creates an element with attributes and children; strings become text nodes.
export const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

export const fill = (container, ...children) => container.replaceChildren(...children.filter((c) => c !== null && c !== undefined));
export const address = (path, values) => path + "?" + new URLSearchParams(
  Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== ""));

export const get = async (name, values = {}, signal = undefined) => {
  const reply = await fetch(address("/api/" + name, values), { signal });
  const data = await reply.json();
  if (!reply.ok) throw new Error(data.error || "the server did not answer");
  return data;
};

export const say = (error) => {
  const box = find("trouble");
  box.hidden = !error;
  box.textContent = error ? plain(error.message ?? error, 400) : "";
};

const grouped = new Map();
export const number = (value, digits = 0) => {
  if (value === null || value === undefined) return "?";
  if (!grouped.has(digits)) {
    grouped.set(digits, new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits }));
  }
  return grouped.get(digits).format(value);
};
export const score = (value) => (value === null || value === undefined ? "–" : value.toFixed(4).replace("-", "−"));

// An amount of a resource, a row of the table that the server sends. Small amounts get enough digits to tell them apart.
const digitsOf = (row, value) => {
  const size = Math.abs(value);
  const power = size > 0 ? Math.floor(Math.log10(size)) : 0;
  if (row.unit === "$") return size >= 10 ? 2 : size >= 0.001 || size === 0 ? 4 : Math.min(12, 1 - power);
  const isLost = Math.abs(Number(size.toFixed(row.digits)) - size) > size / 10;
  return isLost ? Math.min(12, 2 - power) : row.digits;
};
export const amount = (row, value, isCharged = false) => {
  if (value === null || value === undefined) return row.unit === "$" ? "$ ?" : "?";
  const text = (isCharged ? "~" : "") + number(value, digitsOf(row, value));
  return row.unit === "$" ? `$ ${text}` : row.unit === row.name ? text : `${text} ${row.unit}`;
};
// The resources to show: those that count, and any other that somebody has spent.
export const spentOn = (table, rows, counted = []) => table.filter((row) => row.always || counted.includes(row.name) || rows.some((entry) => entry[row.name]));
export const when = (stamp) => {
  if (stamp === null || stamp === undefined) return "";
  const time = new Date(typeof stamp === "number" ? stamp * 1000 : stamp);
  return Number.isNaN(time.getTime()) ? "" : time.toLocaleString("en-GB",
    { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });
};
export const mark = (seat) => make("span", { class: `mark s${seat % 6}`, "aria-hidden": "true" }, SHAPES[seat % 6]);
export const who = (name, seat) => make("span", { class: "who" }, mark(seat), " ", plain(name, 80));
// The outcome of a run, as its own document has it: a line per player (or, of a game, per equilibrium).
export const outcome = (data, most) => {
  const line = (entry) => make("li", {}, make("b", {}, plain(entry.text, 120)), ` ${plain(entry.name, 40)}`,
    entry.mark ? make("span", { class: entry.mark === "winner" ? "won" : "soft" }, ` ${entry.mark === "winner" ? "★ winner" : plain(entry.mark, 40)}`) : null);
  const note = (text) => make("li", { class: "soft" }, text);
  const trials = data.kind === "trials" ? `${number(data.matches)} trials` : data.matches > 1 ? `${number(data.matches)} matches` : "";
  const notes = [data.heading === "Q" ? "" : data.heading, trials, data.so_far ? "so far" : "",
    data.lines.length > most ? `${number(data.lines.length - most)} more` : ""].filter(Boolean);
  return [...data.lines.slice(0, most).map(line), ...(notes.length ? [note(notes.join(" · "))] : [])];
};
export const state = (run) => (run.ended ? "finished" : run.playing ? "playing" : "stopped");
export const chip = (kind) => make("span", { class: `chip ${kind}` }, kind);

// Shows a cut text with a button that fetches the full text. `decorate` may mark parts of it.
export const longText = (text, length, fetchAll, decorate = visible) => {
  const box = make("div", { class: "text", dir: "auto" }, decorate(text));
  if (length <= [...text].length) return box;
  const more = make("button", { type: "button", class: "small" }, `Show all ${number(length)} characters`);
  more.addEventListener("click", async () => {
    more.disabled = true;
    try { fill(box, decorate(await fetchAll())); more.remove(); } catch (error) { more.disabled = false; say(error); }
  });
  return make("div", {}, box, make("p", {}, more));
};
export const wholeText = async (values) => {
  const reply = await fetch(address("/api/text", values));
  if (!reply.ok) throw new Error("the text could not be read");
  return reply.text();
};
export const typing = (event) => event.ctrlKey || event.metaKey || event.altKey
  || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range";
