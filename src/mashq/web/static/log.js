// The log of moves, newest at the bottom; earlier moves are fetched by the page.
import { address, find, make, mark, number, plain } from "./common.js";

const SOURCES = { llm: "", rule: " by rule", fallback: ", for want of a usable reply" };

const VERBS = { ok: "answers", refused: "refuses", failed: "fails", cut: "is cut off on" };

const describe = (meta, row) => {
  const link = row.at === null || row.at === undefined ? null
    : make("a", { href: address("/item", { run: meta.id, match: meta.match, item: row.at }) }, plain(row.item, 50));
  const isOff = row.kind === "decision" && row.source === "rule" && meta.players.find((player) => player.name === row.player)?.R === 0;
  const reason = isOff ? make("span", { class: "why" }, "reviews are off for this player")
    : row.said ? make("span", { class: "why" }, plain(row.said, 300)) : null;
  const failed = row.failed ? make("span", { class: "why" }, `${number(row.failed)} failed attempt${row.failed > 1 ? "s" : ""}`) : null;
  if (row.kind === "answer") {
    return [`${VERBS[row.status]} `, link, failed, row.status === "ok" ? null : reason];
  }
  if (row.kind === "rewrite") {
    return [row.status === "ok" ? "rewrites " : row.status === "cut" ? "is cut off while it rewrites " : `${VERBS[row.status]} to rewrite `, link, failed, row.status === "ok" ? null : reason];
  }
  if (row.kind === "stop") return ["leaves the match", reason];
  const override = row.overridden ? make("span", { class: "why override" }, `overridden, counts as ${row.meant}: ${plain(row.overridden)}`) : null;
  return ["decides: ", make("b", {}, row.choice), SOURCES[row.source] ?? "", override, failed, reason];
};

export class Log {
  constructor(meta) {
    this.meta = meta;
    this.place = find("log");
    this.seats = new Map(meta.players.map((player, seat) => [player.name, seat]));
    this.most = 400;
  }

  row(entry) {
    const seat = this.seats.get(entry.player) ?? 0, h = entry.judged ?? entry.h;
    return make("tr", { "data-n": entry.n },
      make("td", { class: "num" }, number(entry.n)), make("td", { class: "num" }, number(entry.round + 1)),
      make("td", { class: "by" }, mark(seat), " ", make("span", { class: "who", title: plain(entry.player) }, plain(entry.player, 40))),
      make("td", { class: "what" }, ...describe(this.meta, entry).filter((part) => part !== null)),
      make("td", { class: "num" }, h === null || h === undefined ? "" : h.toFixed(3)),
      make("td", { class: "num" }, entry.calls ? (entry.unknown ? "?" : number(entry.tokens)) : ""),
      make("td", { class: "num" }, entry.calls ? number(entry.seconds, 2) : ""));
  }

  // Shows the moves of a frame: rows already shown stay unless there is a gap, and those after the moment are removed.
  show(rows, upto) {
    const scroller = find("log-scroll");
    const atBottom = scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight < 40;
    for (let last = this.place.lastElementChild; last && Number(last.dataset.n) > upto; last = this.place.lastElementChild) last.remove();
    const newest = Number(this.place.lastElementChild?.dataset.n ?? 0);
    if (!rows.length || rows[0].n > newest + 1 || newest < rows[0].n - 1) this.place.replaceChildren();
    const lastShown = Number(this.place.lastElementChild?.dataset.n ?? 0);
    this.place.append(...rows.filter((row) => row.n > lastShown).map((row) => this.row(row)));
    while (this.place.childElementCount > this.most) this.place.firstElementChild.remove();
    find("earlier").hidden = this.first <= 1;
    if (atBottom || !this.shown) scroller.scrollTop = scroller.scrollHeight;
    this.shown = true;
  }

  before(rows) {
    const first = this.first;
    this.place.prepend(...rows.filter((row) => row.n < first).map((row) => this.row(row)));
    this.most = Math.max(this.most, this.place.childElementCount + 100);
    find("earlier").hidden = this.first <= 1;
  }

  get first() { return Number(this.place.firstElementChild?.dataset.n ?? 1); }
}
