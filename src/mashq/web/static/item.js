// One item: its source, every version of every answer, the prompts and replies, and their costs.
import { address, amount, fill, find, get, longText, make, mark, number, plain, query, say, typing, visible, wholeText } from "./common.js";

const run = query.get("run") ?? "", match = query.get("match") ?? "0", position = Number(query.get("item") ?? 0);
const target = { run, match };
const fixed = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
const tag = (text, warn = false) => make("span", { class: `tag${warn ? " warn" : ""}` }, text);

// Returns a decorator that marks parts of a text: those without support, or those that an answer cites.
const marked = (spans, title = "the source does not support this", name = "") => (text) => {
  const out = document.createDocumentFragment();
  let from = 0;
  for (const [start, end] of spans) {
    if (start >= text.length) break;
    out.append(visible(text.slice(from, start)));
    out.append(make("mark", { title, class: name }, visible(text.slice(start, end))));
    from = end;
  }
  out.append(visible(text.slice(Math.min(from, text.length))));
  return out;
};

const spent = (table, spend) => {
  if (!spend.calls) return "no calls";
  const failed = spend.failed ? `, ${number(spend.failed)} failed` : "";
  const measured = table.filter((row) => row.measures.length && !(row.rated && spend[row.name] === null));
  const costs = measured.map((row) => amount(row, row.name === "tokens" && spend.unknown ? null : spend[row.name]) + (row.unit === row.name ? ` ${row.name}` : ""));
  return `${number(spend.calls)} call${spend.calls > 1 ? "s" : ""}${failed}, ${costs.join(", ")}`;
};

// The passages of a question; the parts that kept answers cite are highlighted as their checks come in.
const lit = new Map(), passages = new Map();
const overlaps = (spans) => [...spans].sort((a, b) => a[0] - b[0]).filter(([start], index, all) => !index || start >= all[index - 1][1]);
const light = (spansById) => {
  for (const [id, spans] of Object.entries(spansById)) {
    lit.set(id, overlaps([...(lit.get(id) ?? []), ...spans]));
    passages.get(id)?.(marked(lit.get(id), "an answer cites this passage for what this sentence says", "lit"));
  }
};
const passage = (entry, holds) => {
  const container = make("div", {});
  const fetchAll = () => wholeText({ ...target, what: `passage ${entry.id}`, number: position });
  const show = (decorate) => fill(container, longText(entry.text, entry.length, fetchAll, decorate));
  passages.set(entry.id, show);
  show(visible);
  return make("section", { class: "passage" }, make("h3", {}, tag(plain(entry.id, 80)), " ", plain(entry.title, 200), holds ? make("span", { class: "soft" }, " holds the answer") : null), container);
};

const version = (data, entry, index) => {
  const name = entry.kind === "answer" ? "First answer" : `Review ${index}`;
  const judgedSeparately = entry.judged !== null;
  const scores = entry.status !== "ok" ? tag(entry.status, true) : make("span", {}, make("b", {}, `H ${fixed(judgedSeparately ? entry.judged : entry.h)}`),
    judgedSeparately ? ` judge · guide ${fixed(entry.h)}` : "");
  const simulated = entry.simulated;
  const check = make("span", { class: "soft" });
  const container = make("div", {});
  const fetchAll = () => wholeText({ ...target, what: "answer", number: entry.seq });
  const show = (decorate) => fill(container, entry.text ? longText(entry.text, entry.length, fetchAll, decorate)
    : make("p", { class: "soft" }, simulated ? "A simulated answer: it has a score and no text." : entry.error ? "" : "No text."));
  show(visible);
  if (entry.text && data.checkable && !simulated) {
    check.textContent = "checking…";
    get("spans", { ...target, seq: entry.seq }).then((result) => {
      show(marked(result.spans));
      if (entry.kept) light(result.lit ?? {});
      check.textContent = result.why || (result.spans.length ? `${number(result.spans.length)} part${result.spans.length > 1 ? "s" : ""} without support in the source`
        : "every part has support in the source");
    }).catch((error) => { check.textContent = plain(error.message); });
  }
  return make("div", { class: `version${entry.kept ? "" : " dropped"}` },
    make("div", { class: "row" }, make("b", {}, name), make("span", { class: "soft" }, `round ${number(entry.round)}`), scores,
      entry.confidence === null ? null : make("span", {}, `stated confidence ${fixed(entry.confidence)}`),
      entry.kept || entry.status !== "ok" ? null : tag("not kept"), entry.plain ? tag("plain text, not the JSON asked for", true) : null,
      entry.abstained === "yes" ? tag("abstained") : entry.abstained === "read" ? tag("abstained, read from its words by a rule") : null,
      entry.cut ? tag("cut off by an output limit: scored as it stands", true) : null,
      simulated ? tag("SIMULATED", true) : null, check),
    entry.error ? make("p", { class: "trouble" }, visible(entry.error)) : null,
    entry.draft ? make("details", {}, make("summary", {}, `An earlier draft within the step, H ${fixed(entry.draft.h)}`),
      longText(entry.draft.text, entry.draft.length, () => wholeText({ ...target, what: "draft", number: entry.seq }))) : null,
    container, make("p", { class: "soft" }, spent(data.table, entry.spend)));
};

const decision = (entry) => {
  const source = { llm: "the model", rule: "the rule", fallback: "the fallback" }[entry.source];
  const moment = entry.current ? "with this item at hand" : "then reviewed this item";
  return make("li", {}, `Round ${number(entry.round)}: `, make("b", {}, entry.choice), ` by ${source}, ${moment}`,
    entry.overridden ? make("span", {}, " ", tag(`overridden, counts as ${entry.meant}: ${plain(entry.overridden)}`, true)) : null,
    entry.reason ? make("div", { class: "soft" }, visible(entry.reason)) : null);
};

const prompt = (row) => {
  const box = make("details", {}, make("summary", {}, "prompt and reply"));
  let loaded = false;
  box.addEventListener("toggle", async () => {
    if (!box.open || loaded) return;
    loaded = true;
    try {
      const data = await get("prompt", { run, digest: row.prompt });
      const part = (role, text) => make("div", { class: "message" }, make("div", { class: "role" }, plain(role, 20)),
        longText(text.slice(0, 20000), [...text].length, async () => text));
      box.append(...data.messages.map(([role, text]) => part(`${role}, sent`, text)));
      if (row.reply !== null) {
        box.append(make("div", { class: "message" }, make("div", { class: "role" }, `reply${row.stop ? `, stopped by ${plain(row.stop, 30)}` : ""}`),
          longText(row.reply, row.length, () => wholeText({ ...target, what: "reply", number: row.id }))));
      }
    } catch (error) { loaded = false; say(error); }
  });
  return box;
};

const attempts = (table, rows, title) => {
  if (!rows.length) return null;
  const measured = table.filter((row) => row.measures.length && (row.always || rows.some((entry) => row.measures.some((name) => entry[name] !== null))));
  const measures = measured.flatMap((row) => row.measures.map((name) => [name, row]));
  const head = ["purpose", "outcome", ...measures.map(([name]) => name.replace("_", " ")), "waited", "model"];
  const body = rows.map((row) => make("tr", {},
    make("td", {}, plain(row.purpose.split(" ")[0], 20) + (row.n ? ` ${row.n + 1}` : "") + (row.ask ? ", asked again" : "")),
    make("td", { class: "wrap" }, row.outcome ?? "unresolved", row.status ? ` ${row.status}` : "", row.error ? make("div", { class: "soft" }, visible(row.error.slice(0, 500))) : null),
    ...[...measures.map(([name, resource]) => amount(resource, row[name])), row.waited === null ? "?" : `${number(row.waited, 3)} s`]
      .map((text) => make("td", { class: "num" }, text)),
    make("td", {}, plain(row.model, 40))));
  const grid = make("table", { class: "attempts" }, make("thead", {}, make("tr", {}, ...head.map((name, index) =>
    make("th", { scope: "col", class: index > 1 && index < head.length - 1 ? "num" : "" }, name)))), make("tbody", {}, ...body.flatMap((row, index) =>
    [row, make("tr", {}, make("td", { colspan: head.length, class: "wrap" }, prompt(rows[index])))])));
  return make("details", { open: rows.length <= 3 }, make("summary", {}, `${title}: ${number(rows.length)} attempt${rows.length > 1 ? "s" : ""}`),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, grid));
};

const player = (data, entry, seat) => make("section", { class: "panel", "aria-label": plain(entry.name) },
  make("div", { class: "head" }, mark(seat), make("h2", { class: "who" }, plain(entry.name, 80)),
    make("span", { class: "soft" }, `${plain(entry.model)} · ${plain(entry.agent)} · T ${entry.T} · place ${number(entry.place)} in its order`)),
  ...(entry.versions.length ? entry.versions.map((row, index) => version(data, row, index)) : [make("p", { class: "soft" }, "Not answered yet.")]),
  entry.decisions.length ? make("div", {}, make("h2", {}, "Decisions"), make("ul", { class: "decisions" }, ...entry.decisions.map(decision))) : null,
  attempts(data.table, entry.attempts, "What was asked and what it cost"));

const begin = async () => {
  const data = await get("item", { ...target, item: position });
  const { item } = data;
  document.title = `${plain(item.id, 60)} · mashq`;
  find("name").textContent = plain(item.id, 120);
  find("simulated").hidden = !data.simulated;
  find("to-match").href = address("/match", target);
  const guide = data.guide === "judge" && data.task === "rag" ? "guide: support, and of abstentions the stated confidence"
    : data.guide === "judge" ? "guide is the judge" : `guide ${plain(data.guide, 40)}`;
  const facts = [plain(run, 80), ...(data.label ? [plain(data.label, 80)] : []), data.task, data.detector ? `judge ${plain(data.detector, 60)}` : "scored as drawn (no detector ran)", guide, `keep ${data.keep}`];
  fill(find("facts"), ...facts.map((entry) => make("span", {}, entry)));
  find("h-source").textContent = data.task === "summarise" ? "Source" : "Question";
  fill(find("source"), longText(item.text, item.length, () => wholeText({ ...target, what: "source", number: position })));
  if (item.passages) {
    const holds = { true: "The passages hold the answer.", false: "The passages do not hold the answer." }[item.answerable] ?? "Nobody said whether the passages hold the answer.";
    find("source").append(make("p", { class: "soft" }, holds), ...item.passages.map((entry) => passage(entry, item.evidence.includes(entry.id))));
  }
  if (item.reference !== null) fill(find("reference"), make("h2", {}, "Reference answer"), make("div", { class: "text", dir: "auto" }, visible(item.reference)));
  fill(find("answers"), ...data.players.map((entry, seat) => player(data, entry, seat)),
    data.referee.length ? make("section", { class: "panel" }, make("h2", {}, "The judge's own calls, charged to no player"), attempts(data.table, data.referee, "The judge's own calls")) : null);
  find("place").textContent = `item ${number(position + 1)} of ${number(data.of)}`;
  const link = (id, to) => (to >= 0 && to < data.of ? find(id).setAttribute("href", address("/item", { ...target, item: to })) : find(id).setAttribute("aria-disabled", "true"));
  link("before", position - 1);
  link("after", position + 1);
  document.addEventListener("keydown", (event) => {
    const id = { "[": "before", "]": "after" }[event.key];
    if (id && !typing(event) && find(id).href) location.assign(find(id).href);
  });
};
begin().catch(say);
