// What keeps a page from readers who cannot see it, or see little: one line for each thing that is wrong.
() => {
  const wrong = [];
  const tell = (rule, one) => wrong.push(`${rule}: ${one.outerHTML.replace(/\s+/g, " ").slice(0, 140)}`);
  const all = (what, within = document) => [...within.querySelectorAll(what)];
  const seen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const visible = (what) => all(what).filter(seen);
  const texts = (ids) => ids.split(/\s+/).map((id) => document.getElementById(id)?.textContent ?? "").join(" ");
  const name = (one) => (one.getAttribute("aria-label") || texts(one.getAttribute("aria-labelledby") ?? "")
    || [...(one.labels ?? [])].map((label) => label.textContent).join(" ") || one.getAttribute("alt") || one.title
    || one.textContent || "").trim();

  if (!document.documentElement.lang) tell("no language", document.documentElement.cloneNode());
  if (!document.title.trim()) tell("no title", document.head.cloneNode());
  if (visible("main, [role=main]").length !== 1) wrong.push("there must be one main part");
  const ids = all("[id]").map((one) => one.id);
  ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => wrong.push(`the id ${id} stands twice`));
  visible("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=region], [role=img], [role=button]")
    .filter((one) => !one.closest(".live") || one.getAttribute("role") === "img" && one.tagName === "svg")
    .forEach((one) => { if (!name(one)) tell("no name", one); });
  all("img").forEach((one) => { if (!one.hasAttribute("alt")) tell("no alternative", one); });
  all("[aria-labelledby], [aria-describedby], [aria-controls]").forEach((one) => {
    for (const key of ["aria-labelledby", "aria-describedby", "aria-controls"])
      for (const id of (one.getAttribute(key) ?? "").split(/\s+/).filter(Boolean))
        if (!document.getElementById(id)) tell(`${key} names nothing`, one);
  });
  let level = 0;
  for (const one of visible("h1, h2, h3, h4, h5, h6")) {
    const now = Number(one.tagName[1]);
    if (now > level + 1) tell(`a heading of level ${now} after ${level}`, one);
    if (!one.textContent.trim()) tell("an empty heading", one);
    level = now;
  }
  for (const list of visible("ul, ol"))
    for (const one of list.children) if (!["LI", "SCRIPT", "TEMPLATE"].includes(one.tagName)) tell("no part of a list", one);
  for (const table of visible("table").filter((one) => !one.closest("[role=presentation], [aria-hidden=true]"))) {
    if (!table.querySelector("th")) tell("a table without headings", table);
  }
  for (const one of visible("body *"))
    if (["auto", "scroll"].includes(getComputedStyle(one).overflowX) && one.scrollWidth > one.clientWidth + 1
      && one.tabIndex < 0 && !one.querySelector("a[href], button, input, [tabindex='0']")) tell("scrolls, but not by keyboard", one);
  if (document.documentElement.scrollWidth > document.documentElement.clientWidth) wrong.push("wider than the window");

  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, under) => [0, 1, 2].map((at) => top[at] * top[3] + under[at] * (1 - top[3])).concat(1);
  const behind = (one) => {
    const layers = [];
    for (let at = one; at; at = at.parentElement) layers.push(rgba(getComputedStyle(at).backgroundColor));
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark")
      && matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((under, top) => over(top, under), dark ? [18, 18, 18, 1] : [255, 255, 255, 1]);
  };
  const light = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const said = new Set();
  for (const one of visible("body *")) {
    if (![...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())) continue;
    if (one.closest("[disabled], [aria-hidden=true], svg") || ["SCRIPT", "STYLE", "OPTION"].includes(one.tagName)) continue;
    const style = getComputedStyle(one), back = behind(one), front = over(rgba(style.color), back);
    const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = (high + 0.05) / (low + 0.05), key = `${style.color} ${back} ${one.className}`;
    if (ratio < (large ? 3 : 4.5) && !said.has(key)) {
      said.add(key);
      tell(`contrast ${ratio.toFixed(2)}`, one);
    }
  }
  return wrong;
}
