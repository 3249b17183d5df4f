"use strict";
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const drawn = new Map();

  function themed(spec) {
    if (!dark.matches) return spec;
    const text = "#d5d8dc", line = "#8b9097";
    Object.assign(spec.config.axis, { labelColor: text, titleColor: text, domainColor: line, tickColor: line, gridColor: "#3a3f45" });
    spec.config.legend.labelColor = text;
    spec.config.text.color = text;
    return spec;
  }

  async function draw(figure) {
    const live = figure.querySelector(".live");
    const spec = themed(JSON.parse(figure.querySelector(".spec").textContent));
    spec.width = "container";
    spec.background = "transparent";
    live.hidden = false;
    try {
      drawn.get(figure)?.finalize();
      drawn.set(figure, await window.mashqEmbed(live, spec, {
        ast: true, renderer: "svg", actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true },
      }));
      figure.classList.add("drawn");
    } catch (error) {
      live.hidden = true;
      figure.classList.remove("drawn");
      console.error(error);
    }
  }

  function moveRules(root, beta) {
    for (const [figure, { view }] of drawn) {
      if (!root.contains(figure)) continue;
      try { view.signal("beta", beta).runAsync(); } catch { /* a chart without a beta rule */ }
    }
  }

  function ranked(settings, beta) {
    const rows = settings.lines.map((line) => ({
      player: line.player, q: mashqScore(settings.alpha, line.h, beta, { all: line.penalty }, { all: 1 }).q,
    }));
    return rows.sort((a, b) => b.q - a.q);
  }

  function follow(box) {
    const settings = JSON.parse(box.querySelector(".settings").textContent);
    const input = box.querySelector("input"), output = box.querySelector("output"), list = box.querySelector("ol");
    const root = box.closest("article");
    const show = () => {
      const beta = input.valueAsNumber;
      output.value = beta.toPrecision(3);
      const rows = ranked(settings, beta), winner = rows.length > 1 ? mashqWinner(rows) : null;
      list.replaceChildren(...rows.map((row) => {
        const item = document.createElement("li");
        item.textContent = `${row.player}${row === winner ? " ★" : ""}  Q ${mashqNumber(row.q, 4)}`;
        return item;
      }));
      moveRules(root, beta);
    };
    input.addEventListener("input", show);
    box.querySelector("button").addEventListener("click", () => { input.value = settings.beta; show(); });
    box.hidden = false;
    show();
    return show;
  }

  async function start() {
    const updates = [...document.querySelectorAll(".slider")].map(follow);
    const drawAll = async () => {
      for (const figure of document.querySelectorAll("figure.chart")) await draw(figure);
      updates.forEach((update) => update());
      document.documentElement.dataset.ready = "yes";
    };
    dark.addEventListener("change", drawAll);
    addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
    await drawAll();
  }

  if (window.mashqEmbed) start();
})();
