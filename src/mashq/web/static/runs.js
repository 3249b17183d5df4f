// The list of runs: filters, newest first, scores filled in as they come.
import { address, chip, fill, find, get, make, number, plain, say, score, state, typing, when, who } from "./common.js";

const FILTERS = ["text", "state", "simulated", "detector"];
const chosen = new Set();
let shown = 0, asking = 0, waiting = null;

const summary = async (run, place) => {
  try {
    const told = await get("summary", { run: run.id });
    const rows = told.players.slice(0, 6).map((player) => make("li",
      { class: player.name === told.winner ? "won" : "" }, `${score(player.q)} ${plain(player.name, 20)}`));
    fill(place, ...rows);
    if (told.so_far && rows.length) place.append(make("li", { class: "soft" }, "so far"));
    if (told.matches > 1) place.append(make("li", { class: "soft" }, `mean of ${number(told.matches)} matches`));
  } catch { fill(place, make("li", { class: "soft" }, "–")); }
};

const choose = (run, box) => {
  if (box.checked) chosen.add(run.id); else chosen.delete(run.id);
  find("choice").hidden = chosen.size === 0;
  find("chosen").textContent = chosen.size === 2 ? "Two runs chosen" : `${chosen.size} chosen, choose two to compare`;
  const [a, b] = chosen;
  find("compare").href = address("/compare", { a, b });
  find("compare").toggleAttribute("aria-disabled", chosen.size !== 2);
  if (chosen.size !== 2) find("compare").setAttribute("aria-disabled", "true");
};

const row = (run) => {
  const scores = make("ul", { class: "scores" }, make("li", { class: "soft" }, "…"));
  const box = make("input", { type: "checkbox", "aria-label": `Compare ${plain(run.id)}` });
  box.addEventListener("change", () => choose(run, box));
  const gateway = run.kind === "gateway";
  const kind = run.kind === "match" && run.trials > 1 ? `${number(run.trials)} trials` : run.kind;
  const name = gateway ? make("span", {}, plain(run.id)) : make("a", { href: address("/match", { run: run.id }) }, plain(run.id));
  const made = make("tr", {},
    make("td", {}, gateway ? "" : box),
    make("td", {}, make("span", { class: "run" }, name),
      run.simulated ? make("span", { class: "simulated" }, "SIMULATED") : "",
      make("span", { class: "when" }, `${when(run.started)} · ${kind}`)),
    make("td", {}, chip(state(run))),
    make("td", { "data-label": "players" }, make("ul", { class: "players" }, ...run.players.map((player, seat) =>
      make("li", {}, who(player.name, seat), " ", make("span", { class: "model" }, plain(player.model)))))),
    make("td", { class: "num", "data-label": "items" }, run.items === null ? "–" : number(run.items)),
    make("td", { "data-label": "detector" }, plain(run.detector) || "–"),
    make("td", { class: "num", "data-label": "Q" }, scores));
  return { made, fill: () => (gateway ? fill(scores, make("li", { class: "soft" }, "a gateway's ledger")) : summary(run, scores)) };
};

const list = async (more) => {
  const turn = ++asking;
  const wanted = Object.fromEntries(FILTERS.map((name) => [name, find(name).value]));
  try {
    const told = await get("runs", { ...wanted, start: more ? shown : 0 });
    if (turn !== asking) return;
    say(null);
    if (!more) { fill(find("rows")); shown = 0; }
    shown += told.runs.length;
    find("count").textContent = told.of === told.all ? `${number(told.all)} under this directory`
      : `${number(told.of)} of ${number(told.all)}`;
    find("more").hidden = shown >= told.of;
    const options = [...find("detector").options].map((option) => option.value);
    for (const name of told.detectors) {
      if (!options.includes(name)) find("detector").append(make("option", { value: name }, plain(name, 40)));
    }
    const rows = told.runs.map(row);
    find("rows").append(...rows.map((one) => one.made));
    if (!told.runs.length && !more) find("rows").append(make("tr", {}, make("td", { colspan: 7, class: "soft" }, "No run matches these filters.")));
    for (const one of rows) { if (turn !== asking) return; await one.fill(); }
  } catch (error) { say(error); }
};

for (const name of FILTERS) {
  find(name).addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(() => list(false), 120); });
}
find("filters").addEventListener("submit", (event) => event.preventDefault());
find("more").addEventListener("click", () => list(true));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !typing(event)) { event.preventDefault(); find("text").focus(); }
});
list(false);
