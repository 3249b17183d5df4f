// One item: its source, every version of every answer, what was asked and answered, and what it cost.
import { UNITS, address, asked, fill, find, get, longText, make, mark, number, plain, say, typing, visible, wholeText } from "./common.js";

const run = asked.get("run") ?? "", match = asked.get("match") ?? "0", position = Number(asked.get("item") ?? 0);
const here = { run, match };
const fixed = (value) => (value === null || value === undefined ? "–" : value.toFixed(4));
const tag = (text, warn = false) => make("span", { class: `tag${warn ? " warn" : ""}` }, text);

// The text with some parts marked: those without support, or those that an answer rests on.
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

const spent = (spend) => {
  const tokens = (spend.tokens_in?.[0] ?? 0) + (spend.tokens_out?.[0] ?? 0);
  const calls = (spend.calls ?? 0) + (spend.unresolved ?? 0);
  if (!calls) return "no calls";
  const dollars = spend.dollars?.[1] ? `, ${UNITS.dollars(spend.dollars[0])}` : "";
  const failed = spend.failed ? `, ${number(spend.failed)} failed` : "";
  return `${number(calls)} call${calls > 1 ? "s" : ""}${failed}, ${spend.unknown ? "? " : number(tokens) + " "}tokens, ${UNITS.seconds(spend.seconds?.[0] ?? null)}${dollars}`;
};

// The passages of a question; what kept answers cite is lit as their checks come in.
const lit = new Map(), passages = new Map();
const overlaps = (spans) => [...spans].sort((a, b) => a[0] - b[0]).filter(([start], at, all) => !at || start >= all[at - 1][1]);
const light = (found) => {
  for (const [id, spans] of Object.entries(found)) {
    lit.set(id, overlaps([...(lit.get(id) ?? []), ...spans]));
    passages.get(id)?.(marked(lit.get(id), "an answer cites this passage for what this sentence says", "lit"));
  }
};
const passage = (one, holds) => {
  const place = make("div", {});
  const rest = () => wholeText({ ...here, what: `passage ${one.id}`, number: position });
  const show = (decorate) => fill(place, longText(one.text, one.length, rest, decorate));
  passages.set(one.id, show);
  show(visible);
  return make("section", { class: "passage" }, make("h3", {}, tag(plain(one.id, 80)), " ", plain(one.title, 200), holds ? make("span", { class: "soft" }, " holds the answer") : null), place);
};

const version = (told, one, at) => {
  const name = one.kind === "answer" ? "First answer" : `Review ${at}`;
  const apart = one.judged !== null;
  const scores = one.status !== "ok" ? tag(one.status, true) : make("span", {}, make("b", {}, `H ${fixed(apart ? one.judged : one.h)}`),
    apart ? ` judge · guide ${fixed(one.h)}` : "");
  const simulated = one.simulated;
  const check = make("span", { class: "soft" });
  const place = make("div", {});
  const rest = () => wholeText({ ...here, what: "answer", number: one.seq });
  const show = (decorate) => fill(place, one.text ? longText(one.text, one.length, rest, decorate)
    : make("p", { class: "soft" }, simulated ? "A simulated answer: it has a score and no text." : one.error ? "" : "No text."));
  show(visible);
  if (one.text && told.checkable && !simulated) {
    check.textContent = "checking…";
    get("spans", { ...here, seq: one.seq }).then((found) => {
      show(marked(found.spans));
      if (one.kept) light(found.lit ?? {});
      check.textContent = found.why || (found.spans.length ? `${number(found.spans.length)} part${found.spans.length > 1 ? "s" : ""} without support in the source`
        : "every part has support in the source");
    }).catch((error) => { check.textContent = plain(error.message); });
  }
  return make("div", { class: `version${one.kept ? "" : " dropped"}` },
    make("div", { class: "row" }, make("b", {}, name), make("span", { class: "soft" }, `round ${number(one.round)}`), scores,
      one.confidence === null ? null : make("span", {}, `stated confidence ${fixed(one.confidence)}`),
      one.kept ? null : tag("not kept"), one.plain ? tag("plain text, not the JSON asked for", true) : null,
      one.abstained === "yes" ? tag("abstained") : one.abstained === "read" ? tag("abstained, read from its words by a rule") : null,
      one.cut ? tag("cut off by an output limit: scored as it stands", true) : null,
      simulated ? tag("SIMULATED", true) : null, check),
    one.error ? make("p", { class: "trouble" }, visible(one.error)) : null,
    one.draft ? make("details", {}, make("summary", {}, `An earlier draft within the step, H ${fixed(one.draft.h)}`),
      longText(one.draft.text, one.draft.length, () => wholeText({ ...here, what: "draft", number: one.seq }))) : null,
    place, make("p", { class: "soft" }, spent(one.spend)));
};

const decision = (one) => {
  const by = { llm: "the model", rule: "the rule", fallback: "the fallback" }[one.source];
  const moment = one.current ? "with this item at hand" : "then reviewed this item";
  return make("li", {}, `Round ${number(one.round)}: `, make("b", {}, one.choice), ` by ${by}, ${moment}`,
    one.overridden ? make("span", {}, " ", tag(`overridden, counts as ${one.meant}: ${plain(one.overridden)}`, true)) : null,
    one.reason ? make("div", { class: "soft" }, visible(one.reason)) : null);
};

const prompt = (row) => {
  const box = make("details", {}, make("summary", {}, "prompt and reply"));
  let there = false;
  box.addEventListener("toggle", async () => {
    if (!box.open || there) return;
    there = true;
    try {
      const told = await get("prompt", { run, digest: row.prompt });
      const part = (role, text) => make("div", { class: "message" }, make("div", { class: "role" }, plain(role, 20)),
        longText(text.slice(0, 20000), [...text].length, async () => text));
      box.append(...told.messages.map(([role, text]) => part(`${role}, sent`, text)));
      if (row.reply !== null) {
        box.append(make("div", { class: "message" }, make("div", { class: "role" }, `reply${row.stop ? `, stopped by ${plain(row.stop, 30)}` : ""}`),
          longText(row.reply, row.length, () => wholeText({ ...here, what: "reply", number: row.id }))));
      }
    } catch (error) { there = false; say(error); }
  });
  return box;
};

const attempts = (rows, title) => {
  if (!rows.length) return null;
  const head = ["purpose", "outcome", "tokens in", "tokens out", "seconds", "waited", "dollars", "model", ""];
  const known = (value, digits = 0) => (value === null ? "?" : number(value, digits));
  const body = rows.map((row) => make("tr", {},
    make("td", {}, plain(row.purpose.split(" ")[0], 20) + (row.n ? ` ${row.n + 1}` : "") + (row.ask ? ", asked again" : "")),
    make("td", { class: "wrap" }, row.outcome ?? "unresolved", row.status ? ` ${row.status}` : "", row.error ? make("div", { class: "soft" }, visible(row.error.slice(0, 500))) : null),
    ...[known(row.tokens_in), known(row.tokens_out), known(row.seconds, 3), known(row.waited, 3), row.dollars === null ? "?" : UNITS.dollars(row.dollars)]
      .map((text) => make("td", { class: "num" }, text)),
    make("td", {}, plain(row.model, 40)), make("td", {})));
  const table = make("table", { class: "attempts" }, make("thead", {}, make("tr", {}, ...head.map((name, at) =>
    make("th", { scope: "col", class: at > 1 && at < 7 ? "num" : "" }, name)))), make("tbody", {}, ...body.flatMap((row, at) =>
    [row, make("tr", {}, make("td", { colspan: 9, class: "wrap" }, prompt(rows[at])))])));
  return make("details", { open: rows.length <= 3 }, make("summary", {}, `${title}: ${number(rows.length)} attempt${rows.length > 1 ? "s" : ""}`),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title }, table));
};

const player = (told, one, seat) => make("section", { class: "panel", "aria-label": plain(one.name) },
  make("div", { class: "head" }, mark(seat), make("h2", { class: "who" }, plain(one.name, 80)),
    make("span", { class: "soft" }, `${plain(one.model)} · ${plain(one.agent)} · T ${one.T} · place ${number(one.place)} in its order`)),
  ...(one.versions.length ? one.versions.map((row, at) => version(told, row, at)) : [make("p", { class: "soft" }, "Not answered yet.")]),
  one.decisions.length ? make("div", {}, make("h2", {}, "Decisions"), make("ul", { class: "decisions" }, ...one.decisions.map(decision))) : null,
  attempts(one.attempts, "What was asked and what it cost"));

const begin = async () => {
  const told = await get("item", { ...here, item: position });
  const { item } = told;
  document.title = `${plain(item.id, 60)} · mashq`;
  find("name").textContent = plain(item.id, 120);
  find("simulated").hidden = !told.simulated;
  find("to-match").href = address("/match", here);
  const guide = told.guide === "judge" && told.task === "rag" ? "guide: support, and of abstentions the stated confidence"
    : told.guide === "judge" ? "guide is the judge" : `guide ${plain(told.guide, 40)}`;
  const facts = [plain(run, 80), `match ${plain(match, 40)}`, told.task, `judge ${plain(told.detector.name ?? "", 40)} ${plain(told.detector.version ?? "", 20)}`, guide, `keep ${told.keep}`];
  fill(find("facts"), ...facts.map((one) => make("span", {}, one)));
  find("h-source").textContent = told.task === "summarise" ? "Source" : "Question";
  fill(find("source"), longText(item.text, item.length, () => wholeText({ ...here, what: "source", number: position })));
  if (item.passages) {
    const holds = { true: "The passages hold the answer.", false: "The passages do not hold the answer." }[item.answerable] ?? "Nobody said whether the passages hold the answer.";
    find("source").append(make("p", { class: "soft" }, holds), ...item.passages.map((one) => passage(one, item.evidence.includes(one.id))));
  }
  if (item.reference !== null) fill(find("reference"), make("h2", {}, "Reference answer"), make("div", { class: "text", dir: "auto" }, visible(item.reference)));
  fill(find("answers"), ...told.players.map((one, seat) => player(told, one, seat)),
    told.referee.length ? make("section", { class: "panel" }, make("h2", {}, "The judge's own calls, charged to no player"), attempts(told.referee, "The judge's own calls")) : null);
  find("place").textContent = `item ${number(position + 1)} of ${number(told.of)}`;
  const link = (id, to) => (to >= 0 && to < told.of ? find(id).setAttribute("href", address("/item", { ...here, item: to })) : find(id).setAttribute("aria-disabled", "true"));
  link("before", position - 1);
  link("after", position + 1);
  document.addEventListener("keydown", (event) => {
    const id = { "[": "before", "]": "after" }[event.key];
    if (id && !typing(event) && find(id).href) location.assign(find(id).href);
  });
};
begin().catch(say);
