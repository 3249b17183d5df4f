"use strict";
(() => {
  const source = document.getElementById("boards");
  if (!source) return;
  const boards = JSON.parse(source.textContent);
  const body = document.querySelector("#ranks tbody");
  const slider = document.getElementById("beta"), shown = document.getElementById("shown"), find = document.getElementById("find");
  const ticks = [...document.querySelectorAll(".tick input")];
  const rows = [...body.rows].map((row, index) => {
    const board = boards[row.dataset.board];
    return { row, at: index, board, entry: board.entries[row.dataset.entry] };
  });
  let useOwnBeta = true, sorting = null;

  // Returns the weights of a match in the order in which its P is summed; the checkboxes can only leave a resource out.
  function weights(board) {
    const unchecked = new Set(ticks.filter((tick) => !tick.checked).map((tick) => tick.value));
    return Object.fromEntries(Object.entries(board.weights).filter(([name]) => !unchecked.has(name)));
  }

  function score(board, entry, beta) {
    return mashqScore(board.alpha, entry.h, beta, entry.shares, weights(board));
  }

  function rank() {
    const all = ticks.every((tick) => tick.checked);
    for (const record of rows) Object.assign(record, score(record.board, record.entry, useOwnBeta ? record.board.beta : slider.valueAsNumber));
    for (const board of boards) {
      const boardRows = rows.filter((record) => record.board === board).sort((a, b) => (b.q ?? -9e9) - (a.q ?? -9e9) || a.at - b.at);
      const winner = boardRows.length > 1 ? mashqWinner(boardRows) : null;
      boardRows.forEach((record, index) => {
        record.place = index + 1;
        record.row.classList.toggle("won", record === winner);
        record.row.querySelector(".place").textContent = record.place;
        record.row.querySelector(".p").textContent = record.p.toFixed(3);
        record.row.querySelector(".q").textContent = record.q === null ? "?" : mashqNumber(record.q, 4);
        record.row.querySelector(".q").dataset.exact = record.q;
        const { low, high } = record.entry;
        const showInterval = all && (useOwnBeta || slider.valueAsNumber === board.beta) && low !== null;
        record.row.querySelector(".span").textContent = showInterval ? `${mashqNumber(low, 4)} to ${mashqNumber(high, 4)}` : "–";
      });
    }
    shown.value = useOwnBeta ? "each match's own" : slider.valueAsNumber.toPrecision(3);
    order();
  }

  const keys = {
    run: (record) => record.row.dataset.board * 1, place: (record) => record.place, player: (record) => record.entry.player,
    agent: (record) => record.entry.agent, model: (record) => record.entry.model, task: (record) => record.board.task,
    detector: (record) => record.board.detector, h: (record) => record.entry.h ?? -1, p: (record) => record.p, q: (record) => record.q ?? -9e9,
    answered: (record) => record.entry.answered ?? -1, items: (record) => record.board.items,
  };

  function order() {
    const sign = sorting?.down ? -1 : 1;
    const key = keys[sorting?.key ?? "run"];
    const compare = (a, b) => (typeof a === "string" ? (a < b ? -1 : a > b ? 1 : 0) : a - b);
    const sorted = [...rows].sort((a, b) =>
      sign * compare(key(a), key(b)) || keys.run(a) - keys.run(b) || a.place - b.place);
    body.append(...sorted.map((record) => record.row));
  }

  document.querySelectorAll("#ranks th[data-key]").forEach((head) => {
    head.querySelector("button").addEventListener("click", () => {
      const text = ["run", "player", "agent", "model", "task", "detector", "place"].includes(head.dataset.key);
      const down = sorting?.key === head.dataset.key ? !sorting.down : !text;
      sorting = { key: head.dataset.key, down };
      document.querySelectorAll("#ranks th").forEach((header) => header.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      order();
    });
  });
  slider.addEventListener("input", () => { useOwnBeta = false; rank(); });
  document.getElementById("own").addEventListener("click", () => { useOwnBeta = true; rank(); });
  ticks.forEach((tick) => tick.addEventListener("change", rank));
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    for (const record of rows) {
      const { run, task, detector } = record.board, { player, agent, model } = record.entry;
      const text = [run, task, detector, player, agent, model].join(" ").toLowerCase();
      record.row.hidden = wanted !== "" && !text.includes(wanted);
    }
  });
  document.getElementById("controls").hidden = false;
  rank();
  document.documentElement.dataset.ready = "yes";
})();
