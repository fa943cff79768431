"use strict";
// The table of all runs: filtered, sorted, a page of rows at a time; and the tables of provenance.
(() => {
  const COLUMNS = [
    ["trace", "trace", "text"], ["run", "policy", "long"], ["mode", "caches", "text", (value) => H.mode(value)],
    ["capacity", "capacity", "text"], ["seed", "seed", "integer"],
    ["object_hit_ratio", "hit ratio, %", "number", (value) => H.number(100 * value, 2)],
    ["byte_hit_ratio", "byte hit ratio, %", "number", (value) => H.number(100 * value, 2)],
    ["us", "µs a request", "number", (value) => H.number(value, 2)], ["requests", "requests", "integer"],
    ["warmup", "warm-up, %", "number", (value) => H.number(100 * value, 0)], ["labels", "labels", "long"],
    ["prefetching", "prefetching", "text"], ["suite", "suite", "text"], ["hash", "cell", "text", (value) => value.slice(0, 8)],
  ];
  const count = H.cells.cells, data = {};
  for (const [name] of COLUMNS) data[name] = H.column(name);
  const tiers = H.column("tiers"), rate = H.column("requests_per_second");
  data.capacity = Array.from({ length: count }, (_, row) => {
    if (data.capacity && data.capacity[row] !== null) return H.place(data.capacity[row]);
    if (!tiers || tiers[row] === null) return null;
    const each = JSON.parse(tiers[row]);
    return H.place(`memory ${each.memory}, disk ${each.disk}`);
  });
  const [fetcher, latency, unit] = ["prefetch", "prefetch_latency_us", "size_unit"].map(H.column);
  if (fetcher) {
    data.prefetching = fetcher.map((name, row) => (name === null ? null
      : `${name}, ${latency[row] === 0 ? "ideal (zero latency)" : latency[row] >= 1e5 ? `${latency[row] / 1e6} s` : `${latency[row] / 1e3} ms`}`));
  }
  if (data.byte_hit_ratio) data.byte_hit_ratio = data.byte_hit_ratio.map((value, row) => (unit && unit[row] === "bytes" ? value : null));
  if (rate) data.us = rate.map((value) => (value > 0 ? 1e6 / value : null));
  const shown = COLUMNS.filter(([name]) => data[name] && data[name].some((value) => value !== null));
  const size = H.column("capacity_size");
  const state = { page: 0, rows: Array.from({ length: count }, (_, row) => row), sort: null, descending: false, filter: "" };
  const PAGE = 50;
  let texts = null;

  const table = document.getElementById("table-runs"), heads = new Map();
  const head = H.make("tr");
  for (const [name, title, kind] of shown) {
    const cell = H.make("th", { className: kind === "text" || kind === "long" ? "text" : "", scope: "col" },
      H.make("button", { type: "button", onclick: () => sort(name) }, title));
    heads.set(name, cell);
    head.append(cell);
  }
  const body = H.make("tbody");
  table.append(H.make("thead", {}, head), body);

  const search = H.make("input", { type: "search", id: "filter-runs", placeholder: "learned completejourney 5 %" });
  let timer = 0;
  search.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => { state.filter = search.value; update(true); }, 120);
  });
  const controls = document.getElementById("controls-runs");
  controls.append(H.make("label", { className: "field" }, H.make("span", {}, "Filter"), search));
  const pages = document.getElementById("pages-runs");
  const [back, next] = [["‹ previous", -1], ["next ›", 1]].map(([name, step]) => H.make("button", { type: "button", onclick: () => { state.page += step; draw(); } }, name));
  const status = H.make("span", { id: "status-runs", attributes: { role: "status" } });
  pages.append(back, next, status);

  const sort = (name) => {
    state.descending = state.sort === name ? !state.descending : false;
    state.sort = name;
    update(false);
  };
  const update = (isFiltered) => {
    if (isFiltered || state.rows.length === 0) {
      const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
      if (words.length && !texts) texts = Array.from({ length: count }, (_, row) => shown.map(([name, , , format]) => {
        const each = data[name][row];
        return each === null ? "" : format ? `${format(each)} ${name === "hash" ? each : ""}` : each;
      }).join(" ").toLowerCase());
      state.rows = Array.from({ length: count }, (_, row) => row).filter((row) => words.every((word) => texts[row].includes(word)));
    }
    if (state.sort) {
      const values = state.sort === "capacity" && size ? size : data[state.sort], sign = state.descending ? -1 : 1;
      const isText = typeof values.find((value) => value !== null) === "string";
      const compare = new Intl.Collator("en", { numeric: true }).compare;
      // Rows without a value are last in both directions.
      state.rows.sort((a, b) => {
        const [left, right] = [values[a], values[b]];
        if (left === null || right === null) return (left === null) - (right === null) || a - b;
        return sign * (isText ? compare(left, right) : left - right) || a - b;
      });
    }
    for (const [name, cell] of heads) {
      if (name === state.sort) cell.setAttribute("aria-sort", state.descending ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    state.page = 0;
    draw();
  };
  const draw = () => {
    const first = state.page * PAGE, rows = state.rows.slice(first, first + PAGE);
    body.replaceChildren(...rows.map((row) => H.make("tr", {}, ...shown.map(([name, , kind, format]) => {
      const each = data[name][row];
      const text = each === null ? "" : format ? format(each) : kind === "integer" ? H.number(each, 0) : String(each);
      return H.make("td", { className: kind === "text" ? "text" : kind === "long" ? "text long" : "", title: name === "hash" ? each : "" }, text);
    }))));
    back.disabled = state.page === 0;
    next.disabled = first + PAGE >= state.rows.length;
    status.textContent = state.rows.length === 0 ? "No run matches the filter." :
      `${H.number(first + 1, 0)} to ${H.number(first + rows.length, 0)} of ${H.number(state.rows.length, 0)} runs`;
  };
  draw();

  const facts = document.getElementById("facts"), provenance = H.data.provenance;
  for (const [name, values] of provenance.facts) {
    const list = H.make("dd");
    values.forEach(([text, cells], place) => {
      if (place) list.append(", ");
      list.append(H.make("code", {}, text));
      if (cells !== null) list.append(` (${H.number(cells, 0)})`);
    });
    facts.append(H.make("dt", {}, name), list);
  }
  const traces = document.getElementById("table-traces"), names = ["trace", "requests", "objects", "users", "categories", "unit", "fingerprint"];
  const isText = (place) => place === 0 || place > 4;
  traces.append(H.make("thead", {}, H.make("tr", {}, ...names.map((name, place) => H.make("th", { className: isText(place) ? "text" : "", scope: "col" }, name)))),
    H.make("tbody", {}, ...provenance.traces.map((row) => H.make("tr", {}, ...row.map((each, place) =>
      H.make("td", { className: isText(place) ? "text" : "" }, each === null ? "" : place === 6 ? H.make("code", {}, each) : isText(place) ? each : H.number(each, 0)))))));
})();
