// One match: live while it is played, and a replay of any moment.
import { address, fill, find, get, make, number, plain, query, say, typing } from "./common.js";
import { drawChart } from "./chart.js";
import { drawLanes } from "./lanes.js";
import { Log } from "./log.js";
import { Chooser } from "./matches.js";

const run = query.get("run") ?? "";
const page = { meta: null, frame: null, verdict: null, log: null, starts: [], follow: false, timer: null, cursor: null, abort: null, source: null, wanted: null };
const target = () => ({ run, match: page.meta?.match ?? query.get("match") });

const draw = (frame) => {
  page.frame = { ...frame, verdict: page.verdict };
  const { meta } = page, slider = find("slider");
  slider.max = frame.total;
  slider.value = frame.at;
  slider.setAttribute("aria-valuetext", `move ${frame.at} of ${frame.total}, round ${frame.round}`);
  const reading = frame.read < frame.total ? ` · reading ${number((100 * frame.read) / frame.total)} %` : "";
  find("where").textContent = `move ${number(frame.at)} of ${number(frame.total)} · round ${number(frame.round)}${reading}`;
  const kind = frame.ended ? "finished" : frame.playing ? "playing" : "stopped";
  find("state").className = `chip ${kind}`;
  find("state").textContent = kind;
  find("follow").hidden = frame.ended;
  find("follow").setAttribute("aria-pressed", String(page.follow && !frame.ended));
  drawLanes(find("lanes"), meta, page.frame, moveLane);
  find("headline").hidden = !frame.final || !page.verdict;
  if (frame.final && !page.verdict) verdict();
  page.log.show(frame.log, frame.at);
  page.cursor?.(frame.at);
  for (const beat of find("story").children) beat.classList.toggle("later", Number(beat.dataset.round) > frame.round);
};

// The verdict takes longer than a frame: it is asked for once, when the match is over, and drawn when it is there.
const verdict = async () => {
  if (page.judging) return;
  page.judging = true;
  try {
    page.verdict = await get("verdict", target());
    find("headline").textContent = plain(page.verdict.headline, 600);
    draw(page.frame);
  } catch (error) { say(error); }
};

const moveLane = (seat, start) => {
  page.starts = page.meta.players.map((_, index) => (index === seat ? start : page.starts[index] ?? null));
  if (page.starts.every((laneStart) => laneStart === null)) page.starts = [];
  go(page.frame.at);
};
const starts = () => (page.starts.length ? page.frame.lanes.map((lane, index) => page.starts[index] ?? lane.start).join(",") : null);

// Goes to a moment. Only the last requested moment is drawn.
const go = async (at, wait = null) => {
  page.wanted = page.target = at;
  if (page.abort) return;
  page.abort = true;
  try {
    while (page.wanted !== null) {
      const wanted = page.wanted;
      page.wanted = null;
      draw(await get("frame", { ...target(), at: wanted, starts: starts(), wait }));
    }
    say(null);
  } catch (error) { say(error); pause(); } finally { page.abort = null; }
};

// A step starts from the moment being loaded, if any, so that quick presses all count.
const step = (by) => {
  leave(); pause();
  const from = page.abort ? page.target : page.frame.at;
  go(Math.max(0, Math.min(page.frame.total, from + by)));
};
const round = async (by) => {
  leave(); pause();
  try { const reply = await get("round", { ...target(), round: page.frame.round + (by > 0 ? 1 : page.frame.at ? 0 : 1) });
    let at = reply.at;
    if (by < 0 && at >= page.frame.at) at = (await get("round", { ...target(), round: page.frame.round - 1 })).at;
    go(by > 0 ? Math.min(page.frame.total, at + 1) : Math.max(0, at));
  } catch (error) { say(error); }
};

const pause = () => {
  clearTimeout(page.timer);
  page.timer = null;
  find("play").textContent = "▶";
  find("play").setAttribute("aria-label", "Play");
};
const play = () => {
  if (page.timer) return pause();
  leave();
  find("play").textContent = "❚❚";
  find("play").setAttribute("aria-label", "Pause");
  let from = page.frame.at >= page.frame.total ? 0 : page.frame.at, started = performance.now(), speed = find("speed").value;
  const tick = async () => {
    if (find("speed").value !== speed) { speed = find("speed").value; from = page.frame.at; started = performance.now(); }
    const at = Math.min(page.frame.total, from + Math.floor(((performance.now() - started) * speed) / 1000));
    if (at !== page.frame.at) await go(at);
    if (!page.timer) return;
    if (page.frame.at >= page.frame.total) pause(); else page.timer = setTimeout(tick, Math.max(40, 1000 / speed / 2));
  };
  page.timer = setTimeout(tick, 0);
};

// Live: the server pushes frames; the story and the chart are redrawn at intervals.
const watch = () => {
  if (page.source || page.frame.ended) return;
  page.follow = true;
  page.source = new EventSource(address("/api/live", target()));
  page.source.addEventListener("frame", (event) => {
    const frame = JSON.parse(event.data);
    say(null);
    if (page.starts.length) go(frame.total); else draw(frame);
    if (frame.ended && frame.read >= frame.total) { leave(); finish(); } else refreshPanels();
  });
  page.source.addEventListener("trouble", (event) => say(JSON.parse(event.data).error));
  page.source.addEventListener("error", () => say("The dashboard does not answer: is 'mashq view' still running?"));
  page.source.addEventListener("open", () => say(null));
  find("follow").setAttribute("aria-pressed", "true");
};
const leave = () => {
  page.source?.close();
  page.source = null;
  page.follow = false;
  find("follow").setAttribute("aria-pressed", "false");
};
const finish = async () => { await go(page.frame.total); await Promise.all([figure(), story()]); page.chooser?.refresh(); };

let lastRefresh = 0;
const refreshPanels = () => {
  if (performance.now() - lastRefresh < 1500) return;
  lastRefresh = performance.now();
  figure();
  story();
};

const figure = async () => {
  try {
    const data = await get("chart", { ...target(), metric: find("metric").value });
    page.cursor = drawChart(find("chart"), data, page.frame.total, page.meta.table);
    page.cursor?.(page.frame.at);
  } catch (error) { say(error); }
};

const story = async () => {
  try {
    const data = await get("story", { ...target(), most: find("most").value });
    fill(find("story"), ...data.highlights.map(([roundNumber, , sentence, weight]) => make("li",
      { "data-round": roundNumber, class: `${weight >= 0.8 ? "weighty" : ""}${roundNumber > page.frame.round ? " later" : ""}` },
      make("button", { type: "button", onclick: async () => {
        leave(); pause();
        try { const data = await get("round", { ...target(), round: roundNumber + 1 }); go(data.at); } catch (error) { say(error); }
      } }, `round ${number(roundNumber)}`),
      make("span", { class: "said" }, plain(sentence, 600)))));
    find("story-of").textContent = data.of > data.highlights.length ? `${number(data.highlights.length)} of ${number(data.of)} highlights, those that matter most.`
      : data.of ? "" : "Nothing has happened yet.";
  } catch (error) { say(error); }
};

// The server reads a long match in steps: redraw after each step.
const readOn = async () => {
  while (page.frame.read < page.frame.total && !page.source) {
    await new Promise((done) => setTimeout(done, 30));
    if (!page.timer) await go(page.frame.at >= page.frame.read || page.frame.ended && !page.touched ? page.frame.total : page.frame.at, 1);
  }
};

const facts = () => {
  const { meta } = page, vision = meta.rules.vision;
  const visionText = { never: "vision off", review: "rivals see a player after it reviewed", always: "rivals always see each other" }[vision.when];
  const guide = meta.guide === "judge" && meta.task === "rag" ? "guide: support, and of abstentions the stated confidence"
    : meta.guide === "judge" ? "guide is the judge" : `guide ${plain(meta.guide, 40)}`;
  const parts = [...(meta.label ? [plain(meta.label)] : []), `${number(meta.items)} items`, meta.detector ? `judge ${plain(meta.detector)}` : "scored as drawn (no detector ran)", guide, `turn ${meta.rules.turn}`, `keep ${meta.rules.keep}`,
    visionText, `Q = ${meta.alpha}·H − ${meta.beta}·P`, `P counts ${meta.resources.join(", ")}`];
  fill(find("facts"), ...parts.map((text) => make("span", {}, text)));
};

const keys = (event) => {
  if (typing(event)) return;
  const slider = event.target === find("slider"), button = event.target.tagName === "BUTTON";
  const action = {
    " ": button ? null : play, ArrowLeft: event.shiftKey ? () => round(-1) : () => step(-1),
    ArrowRight: event.shiftKey ? () => round(1) : () => step(1), Home: () => step(-Infinity), End: () => step(Infinity),
    l: () => (page.follow ? leave() : watch()), "[": () => page.chooser?.turn(-1), "]": () => page.chooser?.turn(1),
  }[event.key];
  if (!action || (event.target.closest(".scroll, .story") && /Home|End/.test(event.key))) return;
  if (slider || event.key === " " || event.key.startsWith("Arrow") || /Home|End/.test(event.key)) event.preventDefault();
  page.touched = true;
  action();
};

const begin = async () => {
  const at = query.get("at"), wanted = { run, match: query.get("match") };
  const [meta, first] = await Promise.all([get("match", wanted), get("frame", { ...wanted, at })]);
  page.meta = meta;
  document.title = `${plain(meta.id, 60)} · mashq`;
  find("name").textContent = plain(meta.id, 120);
  find("simulated").hidden = !meta.simulated;
  find("to-compare").href = address("/compare", { a: run });
  facts();
  find("metric").append(...meta.table.map((row) => make("option", { value: row.name }, row.name)));
  page.log = new Log(meta);
  draw(first);
  for (const [name, action] of Object.entries({ first: () => step(-Infinity), back: () => step(-1), play, next: () => step(1), last: () => step(Infinity), follow: () => (page.follow ? leave() : watch()) })) {
    find(name).addEventListener("click", () => { page.touched = true; action(); });
  }
  find("slider").addEventListener("input", () => { page.touched = true; leave(); pause(); go(Number(find("slider").value)); });
  find("metric").addEventListener("change", figure);
  find("most").addEventListener("change", story);
  find("earlier").addEventListener("click", async () => {
    try { page.log.before((await get("frame", { ...target(), at: page.log.first - 1, log: 100 })).log); } catch (error) { say(error); }
  });
  document.addEventListener("keydown", keys);
  if (!page.frame.ended && at === null) watch();
  if (meta.matches > 1 || meta.kind !== "match" || meta.trials > 1) page.chooser = new Chooser(run, meta);
  await Promise.all([figure(), story(), readOn()]);
  if (page.frame.ended) { figure(); story(); }
};
begin().catch(say);
