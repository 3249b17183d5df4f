// A chart of one metric over the match: one line per player, distinguished by dashes and end marks as well as colour.
import { DASHES, SHAPES, amount, fill, make, mark, number, plain, score } from "./common.js";

const HIGH = 210, LEFT = 58, RIGHT = 16, TOP = 24, BOTTOM = 26;
const draw = (tag, attributes, ...children) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};
// Ticks at round values, four or more, that reach from below the lowest value to above the highest.
const ticksOf = (low, high) => {
  const rough = (high - low) / 3, unit = 10 ** Math.floor(Math.log10(rough));
  const size = [5, 2, 1].map((n) => n * unit).find((n) => n <= rough * (1 + 1e-9));
  const first = Math.floor(low / size + 1e-9), last = Math.ceil(high / size - 1e-9);
  const values = Array.from({ length: last - first + 1 }, (_, index) => (first + index) * size);
  return { values, digits: Math.max(0, -Math.floor(Math.log10(size) + 1e-9)) };
};

export const drawChart = (container, data, total, table) => {
  const WIDE = Math.max(260, Math.min(900, container.clientWidth || 560));
  const known = data.values.flat().filter((value) => value !== null);
  if (known.length < 2) { fill(container, make("p", { class: "soft" }, "Nothing to draw yet.")); return null; }
  let low = Math.min(...known), high = Math.max(...known);
  const cost = !["q", "h"].includes(data.metric);
  if (cost) low = 0;
  if (high - low < 1e-9) { high += 0.5; if (!cost) low -= 0.5; }
  const ticks = ticksOf(low, high);
  low = ticks.values[0];
  high = ticks.values.at(-1);
  const last = Math.max(total, data.moments.at(-1));
  const x = (moment) => LEFT + ((WIDE - LEFT - RIGHT) * moment) / last;
  const y = (value) => TOP + ((HIGH - TOP - BOTTOM) * (high - value)) / (high - low);
  const resource = table.find((row) => row.name === data.metric);
  const name = { q: "Q so far", h: "H so far", p: "P so far" }[data.metric] ?? data.metric;
  const axis = !resource || resource.unit === resource.name ? name : `${name} (${resource.unit})`;
  const svg = draw("svg", { viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": `${name} of each player over ${number(last)} moves` });
  const label = (value) => number(Math.abs(value) < 1e-12 ? 0 : value, ticks.digits).replace("-", "−");
  svg.append(draw("text", { class: "axis", x: 4, y: 12 }, axis));
  for (const value of ticks.values) {
    svg.append(draw("line", { class: "grid", x1: LEFT, x2: WIDE - RIGHT, y1: y(value), y2: y(value) }),
      draw("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, label(value)));
  }
  svg.append(draw("text", { x: LEFT, y: HIGH - 6 }, "move 1"),
    draw("text", { x: WIDE - RIGHT, y: HIGH - 6, "text-anchor": "end" }, `move ${number(last)}`));
  data.values.forEach((values, seat) => {
    let path = "", pen = false, end = null;
    values.forEach((value, position) => {
      if (value === null) { pen = false; return; }
      path += `${pen ? "L" : "M"}${x(data.moments[position]).toFixed(1)} ${y(value).toFixed(1)}`;
      pen = true;
      end = [x(data.moments[position]), y(value)];
    });
    const group = draw("g", { class: `s${seat % 6}` }, draw("path", { class: "line", d: path, "stroke-dasharray": DASHES[seat % 6] }));
    if (end) group.append(draw("text", { class: "end", x: end[0], y: end[1] + 4, "text-anchor": "middle" }, SHAPES[seat % 6]));
    svg.append(group);
  });
  const cursor = draw("line", { class: "cursor", y1: TOP, y2: HIGH - BOTTOM, x1: x(last), x2: x(last) });
  svg.append(cursor);
  const ends = data.values.map((values) => values.findLast((value) => value !== null));
  const figure = (value) => (resource ? amount(resource, value) : score(value));
  const legend = make("div", { class: "legend" }, ...data.players.map((player, seat) => make("span", {}, mark(seat), " ",
    make("span", { class: "who" }, plain(player, 40)), ` ${figure(ends[seat])}`)));
  fill(container, svg, legend);
  return (position) => { for (const end of ["x1", "x2"]) cursor.setAttribute(end, x(Math.min(position, last))); };
};
