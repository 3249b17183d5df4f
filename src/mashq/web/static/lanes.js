// The lanes: one per player, its standing on the left and its items on the right, in its own order.
import { address, amount, fill, make, mark, number, plain, score, spentOn } from "./common.js";

const DOING = { answer: "answering", decide: "deciding", review: "rewriting", rest: "waiting for the round", done: "done", stopped: "left the match" };

const cell = (meta, player, [position, id, status, h, firstH, reviews], isCurrent) => {
  const ok = status === "ok", isLow = ok && h < player.T;
  const description = { pending: "not answered yet", refused: "refused", failed: "failed", cut: "cut off by an output limit" }[status]
    ?? `H ${h.toFixed(3)}${firstH !== h ? `, first ${firstH.toFixed(3)}` : ""}${isLow ? ", below the threshold" : ""}`;
  const times = reviews ? `, ${reviews} review${reviews > 1 ? "s" : ""}` : "";
  const name = `${plain(id, 60)}: ${description}${times}`;
  const text = ok ? h.toFixed(2).replace(/^0/, "") : { pending: "·", refused: "ref", failed: "fail", cut: "cut" }[status];
  return make("a", {
    class: `cell ${status}${isLow ? " low" : ""}${ok || status === "pending" ? "" : " off"}${isCurrent ? " now" : ""}`,
    href: address("/item", { run: meta.id, match: meta.match, item: position }), "aria-label": name, title: name,
    "--h": ok ? `${Math.round(h * 100)}%` : "0%",
  }, make("i", {}), make("b", {}, text), reviews ? make("em", {}, `↻${reviews}`) : null);
};

const costs = (meta, frame, figures, seat) => {
  const list = make("dl", { class: "costs" });
  for (const row of spentOn(meta.table, frame.players, meta.resources)) {
    const { name } = row;
    const counted = meta.resources.includes(name);
    const largest = Math.max(...frame.players.map((player) => player[name] ?? 0));
    const share = largest > 0 ? (100 * (figures[name] ?? 0)) / largest : 0;
    const isCharged = Boolean(figures.charged?.[name]);
    const unknown = name === "tokens" && figures.unknown && !figures.charged ? ` + ${number(figures.unknown)} unknown` : "";
    const style = counted ? "" : " uncounted";
    list.append(make("dt", { class: style, title: counted ? "counts in P" : "does not count in P" }, name),
      make("span", { class: `bar s${seat % 6}${style}`, "--w": `${share}%` }, make("i", { "--w": `${share}%` })),
      make("dd", { class: style, title: isCharged ? "partly an estimate: some attempts did not tell their cost" : null }, name === "reviews" && meta.players[seat].reviews === "unseen" ? "n/a" : amount(row, figures[name], isCharged) + unknown));
  }
  return list;
};

// What may be said of a player at the end: it is the winner only if the document of the match says that it is clear.
const place = (meta, frame, name) => {
  if (!frame.final || meta.players.length < 2) return "";
  if (frame.final.tied.includes(name)) return "tied";
  return frame.final.winner !== name ? "" : frame.verdict?.clear ? "★ winner" : "leads";
};

const stand = (meta, frame, seat) => {
  const player = meta.players[seat];
  const current = frame.players[seat];
  const final = frame.final?.players.find((row) => row.name === player.name);
  const standing = place(meta, frame, player.name);
  const [h, p, q] = final ? [final.h, final.penalty, final.q] : [current.h, current.p, current.q];
  const shownFrame = final ? { ...frame, players: frame.final.players } : frame;
  const figures = (name, value) => make("div", {}, make("dt", {}, name), make("dd", {}, value));
  const suffix = final ? "" : " so far";
  return make("div", { class: "stand" },
    make("div", { class: "head" }, mark(seat), make("span", { class: "who" }, plain(player.name, 80)),
      standing ? make("span", { title: "the highest Q" }, standing) : null,
      make("span", { class: "doing" }, frame.ended && frame.at === frame.total ? "" : DOING[current.phase])),
    make("div", { class: "model" }, `${plain(player.model)} · ${plain(player.agent)} · ${player.reviews === "never" ? "never reviews" : player.R ? `T ${player.T} · R ${player.R}` : "reviews off"}`),
    make("dl", { class: "big" }, figures("Q" + suffix, score(q)), figures("H" + suffix, score(h)), figures("P" + suffix, p === null ? "–" : p.toFixed(3))),
    final && final.words !== null && final.coverage !== null ? make("p", { class: "soft" }, `${number(final.words)} words per answer · coverage ${final.coverage.toFixed(3)}`
      + (final.copied === null ? "" : ` · copied ${final.copied.toFixed(3)}`)) : null,
    costs(meta, shownFrame, final ?? current, seat));
};

const FIELDS = { average_h: "average H", worst_h: "worst H", items_done: "items done" };
const figure = (meta, name, value) => (value === null ? "none" : name.endsWith("_h") ? value.toFixed(3) : number(value, meta.table.find((row) => row.name === name)?.digits ?? 0));

// Shows what rivals see of a player in this round.
const shown = (meta, frame, seat) => {
  const snapshot = frame.shown.find((row) => row.player === seat);
  const parts = snapshot ? [make("span", { class: "soft" }, `state after round ${number(snapshot.round)}${snapshot.left ? ", it left" : ""}:`),
    ...Object.entries(snapshot.fields).map(([name, value]) => make("span", {}, make("span", { class: "soft" }, `${FIELDS[name] ?? name} `), figure(meta, name, value)))]
    : [make("span", { class: "soft" }, meta.rules.vision.when === "never" ? "nothing, vision is off" : "nothing in this round")];
  return make("p", { class: `shown${snapshot ? " open" : ""}` }, make("span", { class: "soft" }, snapshot ? "◉ Rivals see its" : "○ Rivals see"), ...parts);
};

const strip = (meta, frame, seat, move) => {
  const lane = frame.lanes[seat], figures = frame.players[seat], last = lane.start + lane.cells.length;
  const part = lane.of > lane.cells.length ? `, places ${number(lane.start + 1)} to ${number(last)}` : "";
  const row = make("div", { class: "row" }, make("span", {}, `${number(figures.done)} of ${number(lane.of)} items, in its own order${part}`));
  if (part) {
    const step = (offset, label, name) => make("button", { type: "button", class: "small", "aria-label": name,
      onclick: () => move(seat, Math.max(0, Math.min(lane.of - lane.cells.length, lane.start + offset))) }, label);
    row.append(make("span", {}, step(-lane.cells.length, "‹", "Earlier items"), " ", step(lane.cells.length, "›", "Later items"),
      " ", make("button", { type: "button", class: "small", onclick: () => move(seat, null) }, "in progress")));
  }
  const isOver = frame.ended && frame.at === frame.total;
  return make("div", { class: "strip" }, row, make("div", { class: "cells" },
    ...lane.cells.map((entry) => cell(meta, meta.players[seat], entry, entry[0] === lane.now && !isOver))),
  meta.players.length > 1 && !isOver ? shown(meta, frame, seat) : null);
};

export const drawLanes = (container, meta, frame, move) => {
  const focused = document.activeElement?.closest?.(".cell")?.getAttribute("href");
  fill(container, ...meta.players.map((player, seat) => make("article", { class: "lane", "aria-label": plain(player.name) },
    stand(meta, frame, seat), strip(meta, frame, seat, move))));
  if (focused) container.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
};

