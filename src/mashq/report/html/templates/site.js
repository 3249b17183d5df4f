"use strict";
(() => {
  const source = document.getElementById("boards");
  if (!source) return;
  const boards = JSON.parse(source.textContent);
  const body = document.querySelector("#ranks tbody");
  const slider = document.getElementById("beta"), shown = document.getElementById("shown"), find = document.getElementById("find");
  const ticks = [...document.querySelectorAll(".tick input")];
  const rows = [...body.rows].map((row, at) => {
    const board = boards[row.dataset.board];
    return { row, at, board, entry: board.entries[row.dataset.entry] };
  });
  let own = true, sorting = null;

  // The weights of a match in the order in which its P is added up; the boxes can only leave a resource out.
  function weights(board) {
    const off = new Set(ticks.filter((tick) => !tick.checked).map((tick) => tick.value));
    return Object.fromEntries(Object.entries(board.weights).filter(([name]) => !off.has(name)));
  }

  function score(board, entry, beta) {
    return mashqScore(board.alpha, entry.h, beta, entry.shares, weights(board));
  }

  function rank() {
    const all = ticks.every((tick) => tick.checked);
    for (const one of rows) Object.assign(one, score(one.board, one.entry, own ? one.board.beta : slider.valueAsNumber));
    for (const board of boards) {
      const mine = rows.filter((one) => one.board === board).sort((a, b) => (b.q ?? -9e9) - (a.q ?? -9e9) || a.at - b.at);
      mine.forEach((one, at) => {
        one.place = at + 1;
        one.row.classList.toggle("won", at === 0);
        one.row.querySelector(".place").textContent = one.place;
        one.row.querySelector(".p").textContent = one.p.toFixed(3);
        one.row.querySelector(".q").textContent = one.q === null ? "?" : one.q.toFixed(4);
        one.row.querySelector(".q").dataset.exact = one.q;
        const { low, high } = one.entry;
        const held = all && (own || slider.valueAsNumber === board.beta) && low !== null;
        one.row.querySelector(".span").textContent = held ? `${low.toFixed(4)} to ${high.toFixed(4)}` : "–";
      });
    }
    shown.value = own ? "each match's own" : slider.valueAsNumber.toPrecision(3);
    order();
  }

  const keys = {
    run: (one) => one.row.dataset.board * 1, place: (one) => one.place, player: (one) => one.entry.player,
    agent: (one) => one.entry.agent, model: (one) => one.entry.model, task: (one) => one.board.task,
    detector: (one) => one.board.detector, h: (one) => one.entry.h ?? -1, p: (one) => one.p, q: (one) => one.q ?? -9e9,
    answered: (one) => one.entry.answered ?? -1, items: (one) => one.board.items,
  };

  function order() {
    const sign = sorting?.down ? -1 : 1;
    const key = keys[sorting?.key ?? "run"];
    const compare = (a, b) => (typeof a === "string" ? (a < b ? -1 : a > b ? 1 : 0) : a - b);
    const sorted = [...rows].sort((a, b) =>
      sign * compare(key(a), key(b)) || keys.run(a) - keys.run(b) || a.place - b.place);
    body.append(...sorted.map((one) => one.row));
  }

  document.querySelectorAll("#ranks th[data-key]").forEach((head) => {
    head.querySelector("button").addEventListener("click", () => {
      const text = ["run", "player", "agent", "model", "task", "detector", "place"].includes(head.dataset.key);
      const down = sorting?.key === head.dataset.key ? !sorting.down : !text;
      sorting = { key: head.dataset.key, down };
      document.querySelectorAll("#ranks th").forEach((one) => one.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      order();
    });
  });
  slider.addEventListener("input", () => { own = false; rank(); });
  document.getElementById("own").addEventListener("click", () => { own = true; rank(); });
  ticks.forEach((tick) => tick.addEventListener("change", rank));
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    for (const one of rows) {
      const { run, task, detector } = one.board, { player, agent, model } = one.entry;
      const text = [run, task, detector, player, agent, model].join(" ").toLowerCase();
      one.row.hidden = wanted !== "" && !text.includes(wanted);
    }
  });
  document.getElementById("controls").hidden = false;
  rank();
  document.documentElement.dataset.ready = "yes";
})();
