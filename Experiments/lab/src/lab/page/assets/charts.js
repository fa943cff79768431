"use strict";
// One function per chart. A trace of a chart has the name of its arm, so that tests and readers find it.

const value = (triple, place) => (triple === null ? null : triple[place]);
const shownGroups = (arm) => H.groups[H.chosen.setting].filter((group) => group.arm === arm);
const measureName = () => `${H.measure() === "byte" ? "byte" : "object"} ${H.chosen.view} ratio`;
const flip = (ratio) => (ratio === null ? null : H.chosen.view === "miss" ? 100 - ratio : ratio);
const runs = (count) => (count === 1 ? "1 run" : `${count} runs`);

// The axis of capacities: logarithmic, with the names that the suite gives.
const capacityAxis = (places) => {
  const setting = H.setting(), shares = places.every(([name]) => name.endsWith("%"));
  const logs = places.map(([, size]) => Math.log10(size));
  const pad = 0.06 * (Math.max(...logs) - Math.min(...logs)) || 0.1;
  const each = setting.mode === "per_user" ? "capacity of each cache" : "capacity";
  return {
    type: "log", tickvals: places.map(([, size]) => size), ticktext: places.map(([name]) => H.text(H.place(name))),
    range: [Math.min(...logs) - pad, Math.max(...logs) + pad],
    title: shares ? `${each}, % of all distinct ${setting.unit}` : `${each}, ${setting.unit}`,
  };
};
const isCurve = () => {
  const sizes = H.places();
  return sizes.length > 1 && sizes.every(([, size]) => size > 0);
};
const settingText = () => `${H.setting().trace}, ${H.mode(H.setting().mode)}, ${H.setting().name}`;
const showLegend = (id, arms, options = {}) => H.legend(id, arms.map((style) => ({ style, name: style.name, ...options })));

// Names of rows at the left of a chart; on a narrow screen they stand above their row, so that the plot keeps its width.
const rowAxis = (names) => {
  const positions = names.map((_, place) => -place);
  const axis = { range: [-names.length + 0.4, H.narrow() ? 0.75 : 0.6], title: "", showgrid: false };
  if (!H.narrow()) return { axis: { ...axis, tickvals: positions, ticktext: names.map(H.text) }, annotations: [] };
  return {
    axis: { ...axis, tickvals: [], ticktext: [], ticks: "", showline: false },
    annotations: names.map((name, place) => ({
      text: H.text(name), x: 0, xref: "paper", xanchor: "left", y: -place + 0.42, yanchor: "middle", showarrow: false,
      font: { size: 11.5, color: H.ink().quiet },
    })),
  };
};
const rowHeight = (count) => 70 + count * (H.narrow() ? 46 : 25);

H.chart("chart-curves", () => {
  const id = "chart-curves", arms = H.shown(), places = H.places(), traces = [];
  if (!arms.length) return H.empty(id, "No policy is chosen.");
  const rows = arms.flatMap((arm) => shownGroups(arm)).filter((group) => group[H.measure()] && group[H.measure()][0] !== null);
  if (!rows.length) return H.empty(id, "There is no counted request.");
  const hover = (group) => {
    const [mean, low, high] = group[H.measure()].map(flip);
    const range = group.runs > 1 ? ` (${H.number(Math.min(low, high), 2)} … ${H.number(Math.max(low, high), 2)}, ${runs(group.runs)})` : "";
    return `${H.text(group.arm.name)}<br>${H.text(H.place(group.place))}: ${H.number(mean, 2)} %${range}`;
  };
  if (isCurve()) {
    for (const arm of arms) {
      const groups = rows.filter((group) => group.arm === arm), colour = H.colour(arm.hue);
      const x = groups.map((group) => group.size), series = (place) => groups.map((group) => flip(value(group[H.measure()], place)));
      if (groups.some((group) => group.runs > 1)) {
        traces.push({
          name: `${arm.name} (band)`, x: [...x, ...[...x].reverse()], y: [...series(1), ...series(2).reverse()], fill: "toself",
          fillcolor: H.faint(colour, 0.2), line: { width: 0 }, mode: "lines", hoverinfo: "skip",
        });
      }
      traces.push({
        name: arm.name, x, y: series(0), mode: "lines+markers", line: { color: colour, dash: arm.dash, width: arm.hue === 0 ? 2.6 : 1.8 },
        marker: H.marker(arm), hovertemplate: "%{text}<extra></extra>", text: groups.map(hover),
      });
    }
    showLegend("legend-curves", arms);
    return H.plot(id, traces, {
      height: H.narrow() ? 340 : 440, xaxis: capacityAxis(places), yaxis: { title: `${measureName()}, %` },
    }, `${measureName()} by capacity on ${settingText()}, of ${arms.map((arm) => arm.name).join(", ")}`);
  }
  rows.sort((a, b) => (a.size - b.size) || (flip(b[H.measure()][0]) - flip(a[H.measure()][0])));
  const several = places.length > 1, names = rows.map((group) => (several ? `${group.arm.name}, ${H.place(group.place)}` : group.arm.name));
  rows.forEach((group, place) => {
    const [mean, low, high] = group[H.measure()].map(flip);
    traces.push({
      name: group.arm.name, x: [mean], y: [-place], mode: "markers", marker: H.marker(group.arm, 10), text: [hover(group)],
      hovertemplate: "%{text}<extra></extra>",
      error_x: H.error(group.arm, [mean], [Math.min(low, high)], [Math.max(low, high)]),
    });
  });
  const { axis, annotations } = rowAxis(names);
  H.legend("legend-curves", []);
  return H.plot(id, traces, {
    height: rowHeight(rows.length), yaxis: axis, annotations,
    xaxis: { title: `${measureName()} at ${places.map(([name]) => H.place(name)).join(" and ")}, %` },
  }, `${measureName()} of ${rows.length} policies on ${settingText()}`);
});

// The control of the capacity, shared by the charts that show one.
const placeControl = (id) => {
  const places = H.places();
  if (!places.some(([name]) => name === H.chosen.place)) H.chosen.place = places[Math.min(1, places.length - 1)][0];
  return H.select("Capacity", places.map(([name]) => [name, H.place(name)]), H.chosen.place, (name) => {
    H.chosen.place = name;
    H.redraw(["chart-differences", "chart-series"]);
    document.getElementById(id).focus();
  }, id);
};
// Above these numbers, bars and bands cover each other: bars become rows, and bands are left out.
const MOST_BARS = 8, MOST_BANDS = 6;

H.chart("chart-differences", () => {
  const id = "chart-differences", key = `${H.measure()}_difference`, traces = [], controls = document.getElementById("controls-differences");
  const arms = H.shown().filter((arm) => arm.name !== H.data.baseline && (H.chosen.optimum || !arm.offline));
  const isRows = arms.length > MOST_BARS && isCurve(), control = placeControl("choose-place-difference");
  const places = H.places().filter(([name]) => !isRows || name === H.chosen.place);
  const rows = arms.flatMap((arm) => shownGroups(arm)).filter((group) => group[key] && (!isRows || group.place === H.chosen.place));
  controls.replaceChildren(...(isRows ? [control] : []), ...(H.armsHere().some((arm) => arm.offline) ? [H.checkbox("with the optimum (belady)", "choose-optimum", H.chosen.optimum, (value) => {
    H.chosen.optimum = value;
    H.redraw(["chart-differences", "chart-series"]);
    document.getElementById("choose-optimum").focus();
  })] : []));
  H.legend("legend-differences", []);
  if (!rows.length) return H.empty(id, `No chosen policy can be compared with ${H.data.baseline} in this setting.`);
  const hover = (group) => {
    const [mean, low, high] = group[key];
    const interval = low === null ? "no interval: the cells store no counts by unit" : `95 %: ${H.signed(low, 2)} … ${H.signed(high, 2)}`;
    return `${H.text(group.arm.name)}<br>${H.text(H.place(group.place))}: ${H.signed(mean, 2)} points<br>${interval}`;
  };
  const title = `${H.measure() === "byte" ? "byte" : "object"} hit ratio minus ${H.data.baseline}, points`;
  if (isCurve() && !isRows) {
    const present = arms.filter((arm) => rows.some((group) => group.arm === arm));
    const logs = places.map(([, size]) => Math.log10(size));
    const gap = Math.min(...logs.slice(1).map((log, place) => log - logs[place]));
    present.forEach((arm, order) => {
      const groups = rows.filter((group) => group.arm === arm), shift = 10 ** ((order - (present.length - 1) / 2) * Math.min(0.025, (0.6 * gap) / present.length));
      const [mean, low, high] = [0, 1, 2].map((place) => groups.map((group) => group[key][place]));
      traces.push({
        name: arm.name, x: groups.map((group) => group.size * shift), y: mean, mode: "lines+markers", marker: H.marker(arm),
        line: { color: H.faint(H.colour(arm.hue), 0.55), dash: arm.dash, width: 1.4 }, error_y: H.error(arm, mean, low, high),
        text: groups.map(hover), hovertemplate: "%{text}<extra></extra>",
      });
    });
    showLegend("legend-differences", present);
    return H.plot(id, traces, {
      height: H.narrow() ? 340 : 420, xaxis: capacityAxis(places), yaxis: { title, zeroline: true, rangemode: "tozero" },
    }, `${title}, by capacity on ${settingText()}`);
  }
  rows.sort((a, b) => (a.size - b.size) || (b[key][0] - a[key][0]));
  rows.forEach((group, place) => {
    const [mean, low, high] = group[key];
    traces.push({
      name: group.arm.name, x: [mean], y: [-place], mode: "markers", marker: H.marker(group.arm, 10), text: [hover(group)],
      hovertemplate: "%{text}<extra></extra>", error_x: H.error(group.arm, [mean], [low], [high]),
    });
  });
  const several = places.length > 1;
  const { axis, annotations } = rowAxis(rows.map((group) => (several ? `${group.arm.name}, ${H.place(group.place)}` : group.arm.name)));
  return H.plot(id, traces, {
    height: rowHeight(rows.length), yaxis: axis, annotations,
    xaxis: { title: `${title}, at ${places.map(([name]) => H.place(name)).join(" and ")}`, zeroline: true, rangemode: "tozero" },
  }, `${title}, on ${settingText()}`);
});

H.chart("chart-series", () => {
  const id = "chart-series", controls = document.getElementById("controls-series");
  controls.replaceChildren(placeControl("choose-place"),
    H.choices("Show", "series", [["ratio", "ratio"], ["difference", `minus ${H.data.baseline}`]], H.chosen.series, (view) => {
      H.chosen.series = view;
      H.redraw([id]);
      document.querySelector(`input[name=series][value=${view}]`).focus();
    }));
  const isDifference = H.chosen.series === "difference", key = isDifference ? "series_difference" : "series";
  const arms = H.shown().filter((arm) => !isDifference || (arm.name !== H.data.baseline && (H.chosen.optimum || !arm.offline)));
  const traces = [], found = arms.map((arm) => [arm, shownGroups(arm).find((each) => each.place === H.chosen.place)]);
  const present = found.filter(([, group]) => group && group[key]);
  for (const [arm, group] of present) {
    const [points, widths] = group[key], count = points.length, colour = H.colour(arm.hue);
    const x = points.map((_, place) => Math.min(100, ((place + 0.5) * 100) / count));
    const y = isDifference ? points : points.map(flip);
    const edge = (sign) => y.map((each, place) => each + sign * (widths[place] || 0));
    if (present.length <= MOST_BANDS && widths.some((width) => width !== null)) {
      traces.push({
        name: `${arm.name} (band)`, x: [...x, ...[...x].reverse()], y: [...edge(1), ...edge(-1).reverse()], fill: "toself",
        fillcolor: H.faint(colour, 0.14), line: { width: 0 }, mode: "lines", hoverinfo: "skip",
      });
    }
    traces.push({
      name: arm.name, x, y, mode: "lines+markers", line: { color: colour, dash: arm.dash, width: arm.hue === 0 ? 2.4 : 1.6 },
      marker: H.marker(arm, 6), hovertemplate: "%{text}<extra></extra>",
      text: y.map((each, place) => `${H.text(arm.name)}<br>at ${H.number(x[place], 0)} % of the requests: ` +
        `${isDifference ? H.signed(each, 2) + " points" : H.number(each, 2) + " %"}` +
        (widths[place] === null ? "" : `<br>95 %: ± ${H.number(widths[place], 2)}`)),
    });
  }
  showLegend("legend-series", present.map(([arm]) => arm));
  if (present.length > MOST_BANDS) document.getElementById("legend-series").append(`(bands are shown for up to ${MOST_BANDS} policies)`);
  if (!traces.length) return H.empty(id, "The chosen policies have no hits by window at this capacity.");
  const requests = H.setting().requests;
  return H.plot(id, traces, {
    height: H.narrow() ? 340 : 400,
    xaxis: { title: `counted requests, % of ${H.number(requests, 0)}; capacity ${H.place(H.chosen.place)}`, range: [0, 100] },
    yaxis: { zeroline: isDifference, rangemode: isDifference ? "tozero" : "normal", title: isDifference ? `object hit ratio minus ${H.data.baseline}, points` : `object ${H.chosen.view} ratio, %` },
  }, `Object hit ratio over time at ${H.chosen.place} on ${settingText()}`);
});

// The blocks (suite and mode) of a section as a control.
const block = (row) => `${row.suite}\n${row.mode}`;
const blockControl = (rows, current, change, id) => H.select("Suite and caches",
  H.unique(rows.map(block)).map((key) => [key, `${key.split("\n")[0]}, ${H.mode(key.split("\n")[1])}`]), current, change, id);
const largest = (rows) => {
  const counts = new Map();
  for (const row of rows) counts.set(block(row), (counts.get(block(row)) || 0) + (row.traces || 1));
  return [...counts].sort((a, b) => b[1] - a[1])[0][0];
};

H.chart("chart-worst", () => {
  const all = H.data.worst, own = H.chosen.worst || (H.chosen.worst = largest(all));
  const controls = document.getElementById("controls-worst");
  if (!controls.children.length && H.unique(all.map(block)).length > 1) {
    controls.append(blockControl(all, own, (key) => {
      H.chosen.worst = key;
      H.redraw(["chart-worst"]);
    }, "choose-worst"));
  }
  const rows = all.filter((row) => block(row) === own);
  const { axis, annotations } = rowAxis(rows.map((row) => row.arm));
  // One policy's worst trace must not squeeze the others: what lies beyond the end of the axis is written at the end.
  const worst = rows.map((row) => row.worst).sort((a, b) => a - b), usual = worst[Math.floor(0.9 * (worst.length - 1))];
  const end = worst[worst.length - 1] > 3 * Math.max(usual, 20) ? 1.6 * Math.max(usual, 20, ...rows.map((row) => row.mean)) : null;
  const start = Math.min(0, ...rows.map((row) => row.low)), right = end || Math.max(1, worst[worst.length - 1]);
  const bars = [], points = [], crosses = [], ink = H.ink();
  rows.forEach((row, place) => {
    const text = `${H.text(row.arm)}, ${row.traces} traces<br>mean ${H.signed(row.mean, 1)} %<br>` +
      `10th to 90th percentile ${H.signed(row.low, 1)} … ${H.signed(row.high, 1)} %<br>worst ${H.signed(row.worst, 1)} % (${H.text(row.worst_trace)})`;
    const style = H.arm(row.arm), colour = H.colour(style.hue);
    bars.push({ name: `${row.arm} (10th to 90th percentile)`, x: [row.low, row.high], y: [-place, -place], mode: "lines",
      line: { color: H.faint(colour, 0.45), width: 6 }, hoverinfo: "skip" });
    points.push({ name: row.arm, x: [row.mean], y: [-place], mode: "markers", marker: H.marker(style, 11), text: [text],
      hovertemplate: "%{text}<extra></extra>" });
    const isBeyond = row.worst > right;
    if (!isBeyond) crosses.push([row.worst, -place, text]);
    if (isBeyond || (row.worst >= 0.05 && !H.narrow())) {
      annotations.push({
        text: isBeyond ? `${H.signed(row.worst, 0)} %, ${H.text(row.worst_trace)} ▸` : `${H.signed(row.worst, 1)} %, ${H.text(row.worst_trace)}`,
        x: isBeyond ? right : row.worst, xanchor: isBeyond ? "right" : "left", xshift: isBeyond ? 0 : 8, y: -place, yanchor: "middle",
        yshift: isBeyond ? 11 : 0, showarrow: false, font: { size: 11.5, color: isBeyond ? ink.text : ink.quiet },
      });
    }
  });
  const cross = { name: "worst trace", x: crosses.map((each) => each[0]), y: crosses.map((each) => each[1]), mode: "markers",
    marker: { symbol: "x-thin", size: 9, line: { width: 2, color: ink.text } }, text: crosses.map((each) => each[2]),
    hovertemplate: "%{text}<extra></extra>" };
  const room = 0.03 * (right - start);
  return H.plot("chart-worst", [...bars, ...points, cross], {
    height: rowHeight(rows.length), yaxis: axis, annotations,
    xaxis: {
      title: H.narrow() ? "miss ratio over that of FIFO, %" : "miss ratio compared with FIFO, % (left is better)", zeroline: true,
      range: [start - room, right + (H.narrow() || end ? room : 7 * room)],
    },
  }, `Miss ratios compared with FIFO of ${rows.length} policies`);
});

// Places names beside points so that no name covers a point or a name; a name without space is left to the hover text.
const placeNames = (points, size, narrow) => {
  const taken = points.map(({ x, y }) => [x - 7, y - 7, x + 7, y + 7]), placed = [];
  const free = (box) => box[0] > 0 && box[2] < size.width && box[1] > 0 && box[3] < size.height &&
    taken.every((other) => box[2] < other[0] || box[0] > other[2] || box[3] < other[1] || box[1] > other[3]);
  for (const point of [...points].sort((a, b) => b.weight - a.weight)) {
    const width = 6.6 * point.name.length + 4;
    const options = [
      ["middle right", [point.x + 8, point.y - 7, point.x + 8 + width, point.y + 7]],
      ["middle left", [point.x - 8 - width, point.y - 7, point.x - 8, point.y + 7]],
      ["top center", [point.x - width / 2, point.y - 22, point.x + width / 2, point.y - 8]],
      ["bottom center", [point.x - width / 2, point.y + 8, point.x + width / 2, point.y + 22]],
    ];
    const found = (narrow && point.weight < 1 ? [] : options).find(([, box]) => free(box));
    if (found) taken.push(found[1]);
    placed.push([point.name, found ? found[0] : null]);
  }
  return new Map(placed);
};

// What the speeds can and cannot say: a single short run on a shared machine may be several times too slow.
const speedWarning = (rows) => {
  const single = rows.filter((row) => row.runs < 2).length;
  const overlap = rows.some((row, place) => rows.some((other, after) => after > place && row.us[0] <= other.us[2] && other.us[0] <= row.us[2]));
  return (single ? `Warning: ${single} of ${rows.length} policies have one run of each cell, so that their noise is unknown; ` +
    "single short runs of one cell have differed sixfold. " : "") +
    (overlap ? "Policies whose bars overlap are not ordered by speed. " : "") +
    "Compare speeds with the benchmarks, not with this chart.";
};

H.chart("chart-costs", () => {
  const id = "chart-costs", all = H.data.costs, own = H.chosen.costs || (H.chosen.costs = largest(all));
  const controls = document.getElementById("controls-costs"), here = all.filter((row) => block(row) === own);
  const names = H.unique(here.map((row) => row.trace).filter((name) => name !== null));
  if (H.chosen.costTrace && !names.includes(H.chosen.costTrace)) H.chosen.costTrace = "";
  controls.replaceChildren(
    ...(H.unique(all.map(block)).length > 1 ? [blockControl(all, own, (key) => {
      H.chosen.costs = key;
      H.redraw([id]);
      document.getElementById("choose-costs").focus();
    }, "choose-costs")] : []),
    H.select("Trace", [["", "all traces"], ...names.map((name) => [name, name])], H.chosen.costTrace || "", (name) => {
      H.chosen.costTrace = name;
      H.redraw([id]);
      document.getElementById("choose-cost-trace").focus();
    }, "choose-cost-trace"));
  const rows = here.filter((row) => (row.trace || "") === (H.chosen.costTrace || ""));
  const offline = rows.filter((row) => H.arm(row.arm).offline), online = rows.filter((row) => !H.arm(row.arm).offline);
  if (!online.length) return H.empty(id, "No policy has a speed here.");
  document.getElementById("warning-costs").textContent = speedWarning(online);
  const height = H.narrow() ? 420 : 560, wide = Math.max(240, document.getElementById(id).clientWidth - 80), high = height - 80;
  const us = online.flatMap((row) => row.us), saved = online.map((row) => row.saved[0]);
  const [left, right] = [Math.log10(Math.min(...us)) - 0.12, Math.log10(Math.max(...us)) + 0.12];
  const bound = offline.length ? offline.map((row) => row.saved[0]) : [];
  const [bottom, top] = [Math.min(...saved, 0), Math.max(...saved, ...bound)], room = (top - bottom) * 0.09 || 1;
  const labels = placeNames(online.map((row) => ({
    name: row.arm, x: ((Math.log10(row.us[0]) - left) / (right - left)) * wide,
    y: ((top + room - row.saved[0]) / (top - bottom + 2 * room)) * high, weight: H.arm(row.arm).core ? 1 : 0,
  })), { width: wide, height: high }, H.narrow());
  const traces = online.map((row) => {
    const style = H.arm(row.arm), faint = { color: H.faint(H.colour(style.hue), 0.35), thickness: 1.2, width: 0 };
    return {
      name: row.arm, x: [row.us[0]], y: [row.saved[0]], mode: labels.get(row.arm) ? "markers+text" : "markers", marker: H.marker(style, 11),
      text: [H.text(row.arm)], textposition: labels.get(row.arm) || "top center",
      error_x: H.error(style, [row.us[0]], [row.us[1]], [row.us[2]], faint), error_y: H.error(style, [row.saved[0]], [row.saved[1]], [row.saved[2]], faint),
      hovertemplate: `${H.text(row.arm)}<br>${H.number(row.us[0], 2)} to ${H.number(row.us[2], 2)} µs a request (${row.runs} ${row.runs === 1 ? "run" : "runs"} of each cell)<br>${H.signed(row.saved[0], 1)} misses saved per 1,000 requests<extra></extra>`,
    };
  });
  const shapes = [], annotations = [];
  for (const row of offline) {
    shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: row.saved[0], y1: row.saved[0], line: { color: H.ink().quiet, width: 1.2, dash: "dot" } });
    annotations.push({ text: `${H.text(row.arm)} (${row.uniform ? "bound" : "a mark: sizes vary"}): ${H.signed(row.saved[0], 1)}`, xref: "paper", x: 0, xanchor: "left", xshift: 4, y: row.saved[0], yanchor: "bottom", showarrow: false, font: { color: H.ink().quiet } });
  }
  return H.plot(id, traces, {
    height, shapes, annotations, yaxis: { title: `misses saved against ${H.data.baseline} per 1,000 requests`, range: [bottom - room, top + room], zeroline: true },
    xaxis: { type: "log", title: "time of one core, µs a request", range: [left, right], dtick: right - left < 2.8 ? "D2" : 1 },
  }, "Misses saved against time a request");
});

H.chart("chart-gains", () => {
  const id = "chart-gains", all = H.data.gains, chosen = H.chosen.gains || (H.chosen.gains = `${all[0].policy}\n${all[0].mode}`);
  const key = (row) => `${row.policy}\n${row.mode}`, keys = H.unique(all.map(key));
  const controls = document.getElementById("controls-gains");
  if (!controls.children.length && keys.length > 1) {
    controls.append(H.select("Policy and caches", keys.map((each) => [each, `${each.split("\n")[0]}; ${H.mode(each.split("\n")[1])}`]), chosen, (each) => {
      H.chosen.gains = each;
      H.redraw([id]);
    }, "choose-gains"));
  }
  const rows = all.filter((row) => key(row) === H.chosen.gains);
  const places = H.unique(rows.map((row) => `${row.setting}\n${row.place}`));
  const several = new Map();
  for (const row of rows) several.set(row.trace, (several.get(row.trace) || new Set()).add(row.setting));
  const labels = places.map((each) => {
    const row = rows.find((one) => `${one.setting}\n${one.place}` === each);
    const more = several.get(row.trace).size > 1 ? ` (${H.data.settings[row.setting].name})` : "";
    return `${row.trace}${more}, ${H.place(row.place)}`;
  });
  const controlNames = H.unique(rows.map((row) => row.control)).sort((a, b) => (a !== "without") - (b !== "without") || a.localeCompare(b));
  const styles = [{ hue: 0, symbol: "circle" }, { hue: 1, symbol: "diamond" }, { hue: 2, symbol: "square" }, { hue: 3, symbol: "triangle-up" }];
  const named = (control) => (control === "without" ? "over one category for all objects" : `over ${control.replace("permuted", "labels permuted")}`);
  const traces = controlNames.map((control, order) => {
    const style = styles[order % styles.length], own = rows.filter((row) => row.control === control);
    const y = own.map((row) => -places.indexOf(`${row.setting}\n${row.place}`) - (order - (controlNames.length - 1) / 2) * 0.3);
    const x = own.map((row) => row.difference);
    return {
      name: named(control), x, y, mode: "markers", marker: H.marker(style, 8), error_x: H.error(style, x, own.map((row) => row.low), own.map((row) => row.high)),
      text: own.map((row) => `${H.text(row.trace)}, ${H.text(H.place(row.place))}<br>${H.text(named(control))}: ${H.signed(row.difference, 2)} points<br>` +
        (row.low === null ? "no interval" : `95 %: ${H.signed(row.low, 2)} … ${H.signed(row.high, 2)}`)),
      hovertemplate: "%{text}<extra></extra>",
    };
  });
  H.legend("legend-gains", controlNames.map((control, order) => ({ style: styles[order % styles.length], name: named(control), line: false })));
  const { axis, annotations } = rowAxis(labels);
  const stripes = [];
  H.unique(rows.map((row) => row.trace)).forEach((trace, order) => {
    const own = rows.filter((row) => row.trace === trace).map((row) => places.indexOf(`${row.setting}\n${row.place}`));
    if (order % 2 === 0) stripes.push({ type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1, y0: -Math.max(...own) - 0.5, y1: -Math.min(...own) + 0.5, fillcolor: H.faint(H.ink().quiet, 0.08), line: { width: 0 } });
  });
  return H.plot(id, traces, {
    height: rowHeight(places.length), yaxis: axis, annotations, shapes: stripes,
    xaxis: { title: "gain of categories, points of object hit ratio", zeroline: true, rangemode: "tozero" },
  }, `Gain of categories of ${places.length} settings`);
});

// Prefetch policies by colour, latencies by marker; zero latency is an open marker.
const FETCHERS = { planner: 0, markov: 1, popular: 2, "markov-user": 3, "category-popular": 6, mithril: 7, "next-key": 8 };
const LATENCIES = ["circle", "square", "diamond", "triangle-up", "pentagon"];
const prefetchStyle = (row) => {
  const latencies = H.unique(H.data.prefetch.map((each) => each.latency)).filter((each) => each > 0).sort((a, b) => a - b);
  const name = row.fetcher in FETCHERS ? FETCHERS[row.fetcher] : 5;
  return { hue: name, symbol: row.latency === 0 ? "circle" : LATENCIES[(1 + latencies.indexOf(row.latency)) % LATENCIES.length] };
};
const prefetchBlock = (row) => `${row.policy}\n${row.mode}\n${row.place}`;
const prefetchRows = () => {
  const all = H.data.prefetch, keys = H.unique(all.map(prefetchBlock));
  if (!H.chosen.prefetch) H.chosen.prefetch = keys.map((key) => [key, all.filter((row) => prefetchBlock(row) === key).length]).sort((a, b) => b[1] - a[1])[0][0];
  const controls = document.getElementById("controls-prefetch");
  if (!controls.children.length && keys.length > 1) {
    controls.append(H.select("Cache", keys.map((key) => {
      const [policy, mode, place] = key.split("\n");
      return [key, `${H.mode(mode)}, ${policy}, ${H.place(place)}`];
    }), H.chosen.prefetch, (key) => {
      H.chosen.prefetch = key;
      H.redraw(["chart-precision", "chart-traffic", "chart-fetched"]);
    }, "choose-prefetch"));
  }
  const rows = all.filter((row) => prefetchBlock(row) === H.chosen.prefetch);
  const arms = H.unique(rows.map((row) => row.arm));
  H.legend("legend-prefetch", arms.map((arm) => {
    const row = rows.find((each) => each.arm === arm), name = arm.replace(`${row.policy}, prefetch `, "");
    return { style: prefetchStyle(row), name, line: false, open: row.latency === 0 };
  }));
  return arms.map((arm) => ({ arm, own: rows.filter((row) => row.arm === arm) }));
};
const prefetchMarker = (row) => {
  const style = prefetchStyle(row);
  return row.latency === 0 ? H.marker(style, 10, { color: H.ink().back, line: { width: 2, color: H.colour(style.hue) } }) : H.marker(style, 10);
};
const prefetchHover = (row) => `${H.text(row.trace)}, ${H.text(row.fetcher)}, ${row.latency_name}<br>` +
  `hit ratio ${H.number(row.hit_ratio_without, 1)} → ${H.number(row.hit_ratio, 1)} %<br>` +
  `precision ${H.number(row.precision[0], 1)} %, coverage ${H.number(row.coverage[0], 1)} %<br>` +
  `${H.number(row.traffic[0], 2)} fetches a request (${H.number(row.traffic_without, 2)} without)`;

const gainHover = (row) => `${prefetchHover(row)}<br>gain ${H.signed(row.difference, 2)} points` +
  (row.low === null ? "" : `, 95 %: ${H.signed(row.low, 2)} … ${H.signed(row.high, 2)}`);

H.chart("chart-precision", () => {
  const traces = prefetchRows().map(({ arm, own }) => {
    const style = prefetchStyle(own[0]), [x, y] = ["coverage", "precision"].map((name) => own.map((row) => row[name][0]));
    const ends = (name, place) => own.map((row) => row[name][place]);
    return {
      name: arm, x, y, mode: "markers", marker: prefetchMarker(own[0]), text: own.map(prefetchHover), hovertemplate: "%{text}<extra></extra>",
      error_x: H.error(style, x, ends("coverage", 1), ends("coverage", 2), { thickness: 1 }),
      error_y: H.error(style, y, ends("precision", 1), ends("precision", 2), { thickness: 1 }),
    };
  });
  H.plot("chart-precision", traces, {
    height: 400, xaxis: { title: "coverage, % of the misses without prefetching", zeroline: true, rangemode: "tozero" }, yaxis: { title: "precision, % of prefetches", rangemode: "tozero" },
  }, "Precision against coverage of prefetching");
});

H.chart("chart-traffic", () => {
  const traces = prefetchRows().map(({ arm, own }) => {
    const style = prefetchStyle(own[0]), y = own.map((row) => row.difference);
    return {
      name: arm, x: own.map((row) => row.traffic[0]), y, mode: "markers", marker: prefetchMarker(own[0]), text: own.map(gainHover),
      hovertemplate: "%{text}<extra></extra>", error_y: H.error(style, y, own.map((row) => row.low), own.map((row) => row.high), { thickness: 1.2 }),
    };
  });
  H.plot("chart-traffic", traces, {
    height: 400, xaxis: { title: "traffic, fetches per request", rangemode: "tozero" }, yaxis: { title: "gain, points of object hit ratio", zeroline: true, rangemode: "tozero" },
  }, "Gain of prefetching against traffic");
});

H.chart("chart-fetched", () => {
  const found = prefetchRows(), names = H.unique(found.flatMap(({ own }) => own.map((row) => `${row.setting}`)));
  const labels = names.map((setting) => H.data.settings[Number(setting)].trace);
  const several = (place) => labels.filter((name) => name === labels[place]).length > 1;
  const { axis, annotations } = rowAxis(labels.map((name, place) => (several(place) ? `${name}, ${H.data.settings[Number(names[place])].name}` : name)));
  const traces = found.map(({ arm, own }, order) => {
    const x = own.map((row) => row.difference), shift = (order - (found.length - 1) / 2) * (0.7 / found.length);
    return {
      name: arm, x, y: own.map((row) => -names.indexOf(`${row.setting}`) - shift), mode: "markers", marker: prefetchMarker(own[0]),
      error_x: H.error(prefetchStyle(own[0]), x, own.map((row) => row.low), own.map((row) => row.high), { width: 2 }),
      text: own.map(gainHover), hovertemplate: "%{text}<extra></extra>",
    };
  });
  const stripes = names.map((_, place) => place).filter((place) => place % 2 === 0).map((place) => ({
    type: "rect", layer: "below", xref: "paper", x0: 0, x1: 1, y0: -place - 0.5, y1: -place + 0.5, fillcolor: H.faint(H.ink().quiet, 0.08), line: { width: 0 },
  }));
  H.plot("chart-fetched", traces, {
    height: 70 + names.length * (20 + 12 * found.length), yaxis: { ...axis, range: [-names.length + 0.5, 0.55] }, annotations, shapes: stripes,
    xaxis: { title: "gain of prefetching, points of object hit ratio", zeroline: true, rangemode: "tozero" },
  }, "Gain of prefetching by trace");
});

H.chart("chart-calibration", () => {
  const id = "chart-calibration", all = H.data.calibration;
  const controls = document.getElementById("controls-calibration");
  if (H.chosen.calibration === undefined) Object.assign(H.chosen, { calibration: 0, scale: "log" });
  if (!controls.children.length) {
    controls.append(H.select("Run", all.map((run, place) => [String(place), `${run.name} (${run.seeds === 1 ? "1 seed" : `${run.seeds} seeds`})`]), "0", (place) => {
      H.chosen.calibration = Number(place);
      H.redraw([id]);
    }, "choose-calibration"), H.choices("Axes", "scale", [["log", "logarithmic"], ["linear", "linear"]], H.chosen.scale, (scale) => {
      H.chosen.scale = scale;
      H.redraw([id]);
    }));
  }
  const isLog = H.chosen.scale === "log", run = all[H.chosen.calibration], style = { hue: 0, symbol: "circle" };
  const bins = run.bins.filter((bin) => !isLog || (bin.observed > 0 && bin.predicted > 0)), y = bins.map((bin) => bin.observed);
  if (!bins.length) return H.empty(id, "No bin has a positive outcome; the linear axes show it.");
  const lowest = Math.min(...bins.map((bin) => Math.min(bin.predicted, isLog ? Math.max(bin.low, bin.observed / 3) : bin.low))) * 0.7;
  const ends = isLog ? [Math.log10(lowest), 2] : [0, Math.min(100, Math.max(...bins.flatMap((bin) => [bin.high, bin.predicted])) * 1.05)];
  const axis = isLog ? { type: "log", range: ends, dtick: 1 } : { range: ends };
  const line = isLog ? [10 ** ends[0], 100] : ends;
  return H.plot(id, [
    { name: "perfect", x: line, y: line, mode: "lines", line: { color: H.ink().zero, width: 1.5, dash: "dash" }, hoverinfo: "skip" },
    {
      name: run.name, x: bins.map((bin) => bin.predicted), y, mode: "markers", marker: H.marker(style, 9),
      error_y: H.error(style, y, bins.map((bin) => bin.low), bins.map((bin) => bin.high)), hovertemplate: "%{text}<extra></extra>",
      text: bins.map((bin) => `predicted ${H.number(bin.predicted, 2)} %<br>observed ${H.number(bin.observed, 2)} % (${H.number(bin.low, 2)} … ${H.number(bin.high, 2)})<br>${H.number(bin.count, 0)} predictions`),
    },
  ], { height: H.narrow() ? 360 : 460, xaxis: { ...axis, title: "predicted probability, %" }, yaxis: { ...axis, title: "observed, %" } },
  "Predicted probabilities and observed ratios");
});
