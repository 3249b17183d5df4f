// Two runs side by side: the document of `mashq compare`, the items that changed most, the settings that differ.
import { address, amount, chip, fill, find, get, make, number, outcome, plain, query, say, score, spentOn, state, when, who } from "./common.js";

let data = null;

// Each figure: its heading, its key, how a value is written, and with how many digits a difference is.
const fixed = (digits) => (value) => (value === null || value === undefined ? "–" : number(value, digits));
const figures = () => {
  const entries = data.comparison.players.flatMap((player) => player.runs);
  const carried = [["words", "words", fixed(0), 0], ["coverage", "coverage", fixed(3), 3], ["copied", "copied", fixed(3), 3]];
  const costs = spentOn(data.table, entries).map((row) => {
    const isMean = !row.measures.length && entries.some((entry) => entry[row.name] % 1);
    const shown = isMean ? { ...row, digits: 1 } : row;
    return [row.name, row.name, (value, entry) => amount(shown, value, Boolean(entry.charged?.[row.name])), shown];
  });
  return [["H", "h", score, 4], ["H before review", "h_before_review", score, 4],
    ...carried.filter(([, key]) => entries.some((entry) => entry[key] !== null)), ...costs, ["P", "penalty", fixed(3), 3], ["Q", "q", score, 4]];
};

const standing = (run) => (run.winner ? run.clear ? `${plain(run.winner, 60)} ★ winner` : `${plain(run.winner, 60)} leads` : run.tied.length ? `tied: ${plain(run.tied.join(", "), 80)}` : "");
const counts = (run) => `${number(run.items)} of ${number(run.scored)} scored items compared${run.units ? `, ${number(run.units)} of ${number(run.units_scored)} units (an item in a trial)` : ""}`;
const head = (run, entry, letter) => make("div", { class: "panel" }, make("h2", {}, `${letter}: `, make("a", { href: address("/match", { run: run.id }) }, plain(run.id))),
  make("p", { class: "soft" }, [when(run.started), entry ? counts(entry) : "", run.trials > 1 ? `${number(run.trials)} trials` : "", plain(run.detector) || "scored as drawn"].filter(Boolean).join(" · ")),
  make("p", {}, chip(state(run)), " ", run.simulated ? make("span", { class: "simulated" }, "SIMULATED") : "", " ", entry ? standing(entry) : run.kind),
  entry ? null : make("ul", { class: "scores" }, ...outcome(run.outcome, 12)));

const change = (a, b, unit) => {
  if (a === null || a === undefined || b === null || b === undefined) return "";
  const delta = b - a;
  const text = typeof unit === "number" ? number(Math.abs(delta), unit) : amount(unit, Math.abs(delta));
  return (/[1-9]/.test(text) ? (delta > 0 ? "+" : "−") : "") + text;
};

const players = () => {
  const columns = figures();
  const rows = data.comparison.players.flatMap((player, seat) => {
    const line = (letter, entry) => make("tr", { class: letter === "A" ? "first" : "" }, make("td", {}, letter === "A" ? who(player.name, seat) : ""),
      make("td", {}, letter), make("td", {}, plain(entry.model, 40)),
      ...columns.map(([, key, format]) => make("td", { class: "num" }, format(entry[key] ?? null, entry))));
    const [a, b] = player.runs;
    return [line("A", a), line("B", b), make("tr", { class: "delta" }, make("td", {}), make("td", { colspan: 2 }, "B − A"),
      ...columns.map(([, key, , unit]) => make("td", { class: "num" }, change(a[key], b[key], unit))))];
  });
  fill(find("players"), ...data.comparison.notes.map((note) => make("p", {}, plain(note, 600))),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Players of both runs" },
      make("table", { class: "figures" }, make("thead", {}, make("tr", {}, ...["Player", "Run", "Model"].map((name) => make("th", { scope: "col" }, name)),
        ...columns.map(([name]) => make("th", { scope: "col", class: "num" }, name)))), make("tbody", {}, ...rows))));
};

// The H of an item: a link to it, or a mean with links to its trials.
const itemH = (run, position, { h, of, trials }) => {
  const link = (match, text) => make("a", { href: address("/item", { run, match, item: position }) }, text);
  if (of === 1) return link(trials[0][0], h.toFixed(4));
  const links = trials.flatMap(([match, value]) => [" ", link(match, value.toFixed(3))]);
  return make("span", {}, h.toFixed(4), make("span", { class: "soft" }, ", the mean of", ...links, of > trials.length ? ` and ${number(of - trials.length)} more` : ""));
};

const items = async () => {
  const [a, b] = data.runs.map((run) => run.id);
  const result = await get("differences", { a, b, player: find("player").value });
  const rows = result.items.map(([position, id, before, after]) => make("tr", {},
    make("td", {}, plain(id, 60)), make("td", { class: "num" }, itemH(a, position, before)), make("td", { class: "num" }, itemH(b, position, after)),
    make("td", { class: "num" }, change(before.h, after.h, 4))));
  const areMeans = result.items.some(([, , before, after]) => before.of > 1 || after.of > 1);
  find("items-note").textContent = areMeans ? "H of an item is its mean over the trials that both runs scored, or over a run's own if these differ; each trial is linked." : "";
  fill(find("items"), rows.length ? make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Items that changed most" },
    make("table", {}, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Item"),
      ...["H in A", "H in B", "B − A"].map((name) => make("th", { scope: "col", class: "num" }, name)))), make("tbody", {}, ...rows)))
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
    fill(find("heads"), ...data.runs.map((run, index) => head(run, data.comparison?.runs[index], "AB"[index])));
    for (const part of parts) find(part).hidden = false;
    settings();
    if (data.comparison) players(); else fill(find("players"), make("p", {}, plain(data.why, 600)));
    find("items-part").hidden = !data.same_items || !data.comparison;
    if (data.same_items && data.comparison) {
      fill(find("player"), ...data.comparison.players.map((player) => make("option", { value: player.name }, plain(player.name, 60))));
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
