"use strict";
// The data of the page, its colours, and small helpers. Every other script uses H.
const H = {};

H.read = (id) => JSON.parse(document.getElementById(id).textContent);
H.data = H.read("halcyon-data");
H.cells = H.read("halcyon-cells");

// Returns a column of cells as an array of values.
H.column = (name) => {
  const column = H.cells.columns[name];
  if (!column) return null;
  return Array.isArray(column) ? column : column.codes.map((code) => (code < 0 ? null : column.values[code]));
};

// The rows of H.data.groups as objects, by setting.
H.groups = (() => {
  const columns = H.data.groups, bySetting = H.data.settings.map(() => []);
  columns.setting.forEach((setting, row) => {
    const group = {};
    for (const name of Object.keys(columns)) group[name] = columns[name][row];
    group.arm = H.data.arms[group.arm];
    bySetting[setting].push(group);
  });
  return bySetting;
})();
H.arm = (name) => H.data.arms.find((arm) => arm.name === name) || { name, hue: 5, dash: "solid", symbol: "circle" };

// Hues that people with colour-vision deficiency can tell apart, with a contrast above 3:1 on the page's background.
const LIGHT = ["#0072b2", "#d55e00", "#008a63", "#b0478f", "#1c1e21", "#767b82", "#2f96cf", "#857600", "#8a2b57"];
const DARK = ["#4fa9e6", "#ff8b42", "#35c797", "#e58fca", "#f0f1f3", "#9aa1a9", "#9ad4f5", "#d8c64a", "#d87fa8"];
const scheme = matchMedia("(prefers-color-scheme: dark)");
H.isPrinted = false;
H.isDark = () => scheme.matches && !H.isPrinted;
H.colour = (hue) => (H.isDark() ? DARK : LIGHT)[hue];
H.ink = () => (H.isDark() ? { text: "#e4e6e9", quiet: "#a4abb4", grid: "#2f353b", zero: "#8b929b", back: "#14171a" }
  : { text: "#1c1e21", quiet: "#575d66", grid: "#e4e6ea", zero: "#757b84", back: "#ffffff" });
H.faint = (colour, alpha) => colour + Math.round(alpha * 255).toString(16).padStart(2, "0");
scheme.addEventListener("change", () => H.redraw());

// Plotly reads some HTML in texts; a name is shown as it is.
H.text = (value) => String(value).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
H.modes = { shared: "shared cache", per_user: "per-user caches" };
H.mode = (name) => H.modes[name] || name.replace(/_/g, " ");
H.place = (name) => name.replace(/(\d)%/g, "$1 %");
H.number = (value, digits) => value === null || value === undefined ? "–"
  : value.toLocaleString("en-GB", { minimumFractionDigits: digits, maximumFractionDigits: digits });
H.signed = (value, digits) => (value > 0 ? "+" : "") + H.number(value, digits).replace("-", "−");
H.unique = (values) => [...new Set(values)];
H.narrow = () => innerWidth < 640;

// Returns an element with properties, attributes (in `attributes`) and children.
H.make = (tag, properties = {}, ...children) => {
  const element = document.createElement(tag);
  const { attributes, ...others } = properties;
  Object.assign(element, others);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
};

// The line and the marker of an arm, as a small picture beside its name.
const DASHES = { solid: "", dash: "6 3", dot: "2 2", dashdot: "6 2 2 2", longdash: "9 3", longdashdot: "9 2 2 2" };
const SHAPES = {
  circle: "M15 3a4 4 0 1 0 .01 0z", square: "M11.5 3.5h7v7h-7z", diamond: "M15 2l5 5-5 5-5-5z",
  "triangle-up": "M15 2.5l5 8.5h-10z", "triangle-down": "M15 11.5l5-8.5h-10z", star: "M15 1.5l1.6 3.8 4 .3-3 2.7.9 4-3.5-2.1-3.5 2.1.9-4-3-2.7 4-.3z",
  x: "M11 4.5l1.5-1.5 2.5 2.5 2.5-2.5 1.5 1.5-2.5 2.5 2.5 2.5-1.5 1.5-2.5-2.5-2.5 2.5-1.5-1.5 2.5-2.5z",
  pentagon: "M15 2.5l4.6 3.4-1.8 5.4h-5.6l-1.8-5.4z", hexagon: "M11 7l2-4h4l2 4-2 4h-4z",
};
H.swatch = (style, { line = true, open = false } = {}) => {
  const space = "http://www.w3.org/2000/svg";
  const picture = document.createElementNS(space, "svg");
  picture.setAttribute("class", "swatch");
  picture.setAttribute("viewBox", "0 0 30 14");
  picture.setAttribute("aria-hidden", "true");
  const colour = H.colour(style.hue);
  const draw = (path, values) => {
    const element = document.createElementNS(space, "path");
    element.setAttribute("d", path);
    for (const [name, value] of Object.entries(values)) element.setAttribute(name, value);
    picture.append(element);
  };
  if (line) draw("M0 7h30", { stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[style.dash] || "" });
  draw(SHAPES[style.symbol] || SHAPES.circle,
    open ? { fill: H.ink().back, stroke: colour, "stroke-width": 1.6 } : { fill: colour });
  return picture;
};
H.legend = (id, entries) => {
  const target = document.getElementById(id);
  target.replaceChildren(...entries.map(({ style, name, ...options }) => H.make("span", {}, H.swatch(style, options), name)));
};

// Charts: each is drawn by a function of its own, again when the selection, the width or the colours change.
H.charts = {};
H.chart = (id, draw) => {
  if (document.getElementById(id)) H.charts[id] = draw;
};
H.redraw = (ids = Object.keys(H.charts)) => ids.forEach((id) => H.charts[id] && H.charts[id]());
H.empty = (id, sentence) => {
  const target = document.getElementById(id);
  Plotly.purge(target);
  target.replaceChildren(H.make("p", { className: "empty" }, sentence));
};
H.plot = (id, traces, layout, description) => {
  const target = document.getElementById(id), ink = H.ink();
  if (target.querySelector(":scope > .empty")) target.replaceChildren();
  target.setAttribute("role", "img");
  target.setAttribute("aria-label", description);
  const axis = (own = {}) => ({
    gridcolor: ink.grid, linecolor: ink.zero, tickcolor: ink.zero, zeroline: false, showline: true, ticks: "outside", ticklen: 4,
    automargin: true, zerolinecolor: ink.zero, zerolinewidth: 1.5, ...own, title: { text: H.text(own.title || ""), standoff: 8, font: { size: 13, color: ink.text } },
  });
  const touch = matchMedia("(pointer: coarse)").matches;
  return Plotly.react(target, traces, {
    font: { family: "system-ui, sans-serif", size: 12.5, color: ink.text }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 10, r: 12, t: 12, b: 10 }, showlegend: false, hovermode: "closest",
    hoverlabel: { align: "left", namelength: -1, bgcolor: ink.back, bordercolor: ink.zero, font: { color: ink.text } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: ink.zero, activecolor: ink.text },
    dragmode: touch || H.narrow() ? false : "zoom", ...layout, xaxis: axis(layout.xaxis), yaxis: axis(layout.yaxis),
  }, { responsive: true, displaylogo: false, modeBarButtons: [["toImage", "resetScale2d"]], displayModeBar: touch ? false : "hover" });
};
// Symbols of one nominal size differ in area; these factors make them look alike.
const SIZES = { star: 1.5, "triangle-up": 1.3, "triangle-down": 1.3, diamond: 1.15 };
H.marker = (style, size = 8, extra = {}) => ({
  color: H.colour(style.hue), symbol: style.symbol, size: size * (SIZES[style.symbol] || 1), line: { width: 1, color: H.ink().back }, ...extra,
});
H.error = (style, values, low, high, extra = {}) => ({
  type: "data", symmetric: false, color: H.colour(style.hue), thickness: 1.6, width: 3,
  array: values.map((value, place) => (high[place] === null ? 0 : high[place] - value)),
  arrayminus: values.map((value, place) => (low[place] === null ? 0 : value - low[place])), ...extra,
});
