// Two runs side by side: players, the items that changed most, the settings that differ.
import { address, chip, dollars, fill, find, get, make, number, plain, query, say, score, state, when, who } from "./common.js";

const FIGURES = [["H", "h", score], ["H before review", "h_before_review", score], ["words", "words", (v) => number(v)], ["coverage", "coverage", (v) => number(v, 3)], ["copied", "copied", (v) => number(v, 3)], ["calls", "calls", (v) => number(v, v % 1 ? 1 : 0)],
  ["tokens", "tokens", (v) => number(v)], ["reviews", "reviews", (v) => number(v, v % 1 ? 1 : 0)], ["seconds", "seconds", (v) => number(v, 1)],
  ["dollars", "dollars", dollars], ["P", "penalty", (v) => (v === null ? "–" : v.toFixed(3))], ["Q", "q", score]];
let data = null;

const head = (run, letter) => make("div", { class: "panel" }, make("h2", {}, `${letter}: `, make("a", { href: address("/match", { run: run.id }) }, plain(run.id))),
  make("p", { class: "soft" }, `${when(run.started)} · ${number(run.items)} items scored${run.units > run.items ? ` in ${number(run.units)} units (an item in a trial)` : ""} · ${plain(run.detector) || "no detector"}`),
  make("p", {}, chip(state(run)), " ", run.simulated ? make("span", { class: "simulated" }, "SIMULATED") : "", " ",
    run.winner ? `winner ${plain(run.winner, 60)} ★` : run.so_far ? "so far" : "", run.matches > 1 ? ` · mean of ${number(run.matches)} matches` : ""));

const change = (a, b, digits) => {
  if (a === null || a === undefined || b === null || b === undefined) return "";
  const delta = b - a, text = number(Math.abs(delta), digits);
  return (/[1-9]/.test(text) ? (delta > 0 ? "+" : "−") : "") + text;
};
const digits = (key) => (["h", "h_before_review", "q"].includes(key) ? 4 : ["penalty", "coverage", "copied"].includes(key) ? 3 : key === "dollars" ? 4 : key === "seconds" ? 1 : 0);

const players = () => {
  const [a, b] = data.runs;
  const names = [...new Set([...a.players, ...b.players].map((player) => player.name))];
  const rows = names.flatMap((name, seat) => {
    const both = [a, b].map((run) => run.players.find((player) => player.name === name));
    const line = (letter, entry) => make("tr", { class: letter === "A" ? "first" : "" }, make("td", {}, letter === "A" ? who(name, seat) : ""),
      make("td", {}, letter), make("td", {}, entry ? plain(entry.model, 40) : "not in this run"),
      ...FIGURES.map(([, key, format]) => make("td", { class: "num" }, entry ? format(entry[key] ?? null) : "")));
    const delta = both[0] && both[1] ? make("tr", { class: "delta" }, make("td", {}), make("td", { colspan: 2 }, "B − A"),
      ...FIGURES.map(([, key]) => make("td", { class: "num" }, change(both[0][key], both[1][key], digits(key))))) : null;
    return [line("A", both[0]), line("B", both[1]), delta].filter(Boolean);
  });
  fill(find("players"), make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Players of both runs" },
    make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...["Player", "Run", "Model"].map((name) => make("th", { scope: "col" }, name)),
      ...FIGURES.map(([name]) => make("th", { scope: "col", class: "num" }, name)))), make("tbody", {}, ...rows))));
  return names.filter((name) => data.runs.every((run) => run.players.some((player) => player.name === name)));
};

const items = async () => {
  const [a, b] = data.runs.map((run) => run.id);
  const result = await get("differences", { a, b, player: find("player").value });
  const rows = result.items.map(([position, id, before, after]) => make("tr", {},
    make("td", {}, plain(id, 60)),
    ...[[a, before], [b, after]].map(([run, h]) => make("td", { class: "num" }, make("a", { href: address("/item", { run, match: "0", item: position }) }, h.toFixed(4)))),
    make("td", { class: "num" }, change(before, after, 4))));
  fill(find("items"), rows.length ? make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Item"),
    ...["H in A", "H in B", "B − A"].map((name) => make("th", { scope: "col", class: "num" }, name)))), make("tbody", {}, ...rows))
    : make("p", { class: "soft" }, "No item was scored differently."));
};

const settings = () => {
  const format = (value) => (value === null || value === undefined ? "–" : typeof value === "object" ? JSON.stringify(value) : String(value));
  fill(find("settings"), data.settings.length ? make("table", { class: "settings" }, make("thead", {}, make("tr", {},
    ...["Setting", "A", "B"].map((name) => make("th", { scope: "col" }, name)))), make("tbody", {}, ...data.settings.map(([key, a, b]) =>
    make("tr", {}, make("td", {}, plain(key)), make("td", {}, plain(format(a), 200)), make("td", {}, plain(format(b), 200))))))
    : make("p", { class: "soft" }, "The runs have the same settings."));
};

const compare = async () => {
  const a = find("a").value, b = find("b").value;
  history.replaceState(null, "", address("/compare", { a, b }));
  const parts = ["players-part", "items-part", "settings-part"];
  if (!a || !b || a === b) {
    for (const part of parts) find(part).hidden = true;
    fill(find("heads"), make("p", { class: "soft" }, a && a === b ? "Choose two different runs." : "Choose two runs."));
    return;
  }
  try {
    data = await get("compare", { a, b });
    say(null);
    find("simulated").hidden = !data.runs.some((run) => run.simulated);
    fill(find("heads"), head(data.runs[0], "A"), head(data.runs[1], "B"));
    const common = players();
    settings();
    for (const part of parts) find(part).hidden = false;
    find("items-part").hidden = !data.same_items || !common.length;
    if (data.same_items && common.length) {
      fill(find("player"), ...common.map((name) => make("option", { value: name }, plain(name, 60))));
      find("items-note").textContent = data.runs.some((run) => run.matches > 1) ? "The first match of each run." : "";
      await items();
    }
  } catch (error) { say(error); }
};

const begin = async () => {
  const page = await get("runs", { start: 0 });
  const choices = page.runs.filter((run) => run.kind !== "gateway");
  for (const letter of ["a", "b"]) {
    const wanted = query.get(letter);
    if (wanted && !choices.some((run) => run.id === wanted)) choices.push({ id: wanted, started: null });
  }
  for (const letter of ["a", "b"]) {
    fill(find(letter), make("option", { value: "" }, "choose a run"), ...choices.map((run) => make("option",
      { value: run.id, selected: run.id === query.get(letter) }, `${plain(run.id, 60)}${run.simulated ? " (SIMULATED)" : ""}`)));
    find(letter).addEventListener("change", compare);
  }
  find("player").addEventListener("change", () => items().catch(say));
  await compare();
};
begin().catch(say);
