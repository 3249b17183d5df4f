// The match selector of a run with many matches, loaded page by page.
import { address, find, get, make, number, plain, say, score } from "./common.js";

export class Chooser {
  constructor(run, meta) {
    this.run = run;
    this.meta = meta;
    this.rows = [];
    find("chooser").hidden = false;
    find("matches").addEventListener("change", () => this.choose(find("matches").value));
    find("earlier-match").addEventListener("click", () => this.turn(-1));
    find("later-match").addEventListener("click", () => this.turn(1));
    this.refresh();
  }

  async refresh() {
    try {
      this.rows = [];
      let after = -1, page = null;
      do {
        page = await get("matches", { run: this.run, after });
        this.rows.push(...page.matches);
        after = page.matches.at(-1)?.position ?? after;
      } while (page.matches.length && !this.rows.some((row) => row.id === this.meta.match) && this.rows.length < 5000);
      this.more = page.begun > this.rows.length;
      this.draw(page);
    } catch (error) { say(error); }
  }

  draw(page) {
    const label = (row) => {
      const best = row.q.find(([name]) => name === row.winner);
      const outcome = row.ended === null ? "playing" : best ? `${plain(best[0], 20)} ${score(best[1])}` : row.q.some(([, q]) => q !== null) ? "tied" : "no score";
      return `${plain(row.label || row.id, 80)} · ${outcome}`;
    };
    const options = this.rows.map((row) => make("option", { value: row.id, selected: row.id === this.meta.match }, label(row)));
    if (this.more) options.push(make("option", { value: "\u0000more" }, `… ${number(page.begun - this.rows.length)} more`));
    find("matches").replaceChildren(...options);
    find("earlier-match").disabled = this.at <= 0;
    find("later-match").disabled = this.at >= this.rows.length - 1 && !this.more;
  }

  get at() { return this.rows.findIndex((row) => row.id === this.meta.match); }

  async turn(by) {
    if (by > 0 && this.at === this.rows.length - 1 && this.more) await this.load();
    const next = this.rows[this.at + by];
    if (next) this.choose(next.id);
  }

  async load() {
    try {
      const page = await get("matches", { run: this.run, after: this.rows.at(-1)?.position ?? -1 });
      this.rows.push(...page.matches);
      this.more = page.begun > this.rows.length && page.matches.length > 0;
      this.draw(page);
    } catch (error) { say(error); }
  }

  choose(match) {
    if (match === "\u0000more") { this.load(); return; }
    location.assign(address("/match", { run: this.run, match }));
  }
}
