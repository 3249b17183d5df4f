// The list of runs: filters, newest first, with scores filled in as they arrive.
import { address, chip, fill, find, get, make, number, outcome, plain, say, state, typing, when, who } from "./common.js";

const FILTERS = ["text", "state", "simulated", "detector"];
const chosen = new Set();
let shown = 0, lastRequest = 0, filterTimer = null;

const summary = async (run, container) => {
  try {
    const data = await get("summary", { run: run.id });
    fill(container, ...outcome(data, 6));
  } catch { fill(container, make("li", { class: "soft" }, "–")); }
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
  const element = make("tr", {},
    make("td", {}, gateway ? "" : box),
    make("td", {}, make("span", { class: "run" }, name),
      run.simulated ? make("span", { class: "simulated" }, "SIMULATED") : "",
      make("span", { class: "when" }, `${when(run.started)} · ${kind}`)),
    make("td", {}, chip(state(run))),
    make("td", { "data-label": "players" }, make("ul", { class: "players" }, ...run.players.map((player, seat) =>
      make("li", {}, who(player.name, seat), " ", make("span", { class: "model" }, plain(player.model)))))),
    make("td", { class: "num", "data-label": "items" }, run.items === null ? "–" : number(run.items)),
    make("td", { "data-label": "detector" }, plain(run.detector) || "–"),
    make("td", { "data-label": "result" }, scores));
  return { made: element, fill: () => (gateway ? fill(scores, make("li", { class: "soft" }, "a gateway's ledger")) : summary(run, scores)) };
};

const list = async (more) => {
  const request = ++lastRequest;
  const filters = Object.fromEntries(FILTERS.map((name) => [name, find(name).value]));
  try {
    const data = await get("runs", { ...filters, start: more ? shown : 0 });
    if (request !== lastRequest) return;
    say(null);
    if (!more) { fill(find("rows")); shown = 0; }
    shown += data.runs.length;
    find("count").textContent = data.of === data.all ? `${number(data.all)} under this directory`
      : `${number(data.of)} of ${number(data.all)}`;
    find("more").hidden = shown >= data.of;
    const options = [...find("detector").options].map((option) => option.value);
    for (const name of data.detectors) {
      if (!options.includes(name)) find("detector").append(make("option", { value: name }, plain(name, 40)));
    }
    const rows = data.runs.map(row);
    find("rows").append(...rows.map((entry) => entry.made));
    if (!data.runs.length && !more) find("rows").append(make("tr", {}, make("td", { colspan: 7, class: "soft" }, "No run matches these filters.")));
    const waiting = [...rows];
    const work = async () => {
      for (let entry = waiting.shift(); entry && request === lastRequest; entry = waiting.shift()) await entry.fill();
    };
    await Promise.all([work(), work(), work()]);  // one long run does not hold up the others
  } catch (error) { say(error); }
};

for (const name of FILTERS) {
  find(name).addEventListener("input", () => { clearTimeout(filterTimer); filterTimer = setTimeout(() => list(false), 120); });
}
find("filters").addEventListener("submit", (event) => event.preventDefault());
find("more").addEventListener("click", () => list(true));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && !typing(event)) { event.preventDefault(); find("text").focus(); }
});
list(false);
