"use strict";
// The controls of the page, and what they have chosen.
H.chosen = { setting: 0, measure: H.data.measure, view: "hit", place: null, series: "difference", optimum: false, arms: new Map() };

H.select = (label, options, value, change, id) => {
  const list = H.make("select", { id: id || "" }, ...options.map(([key, text]) => H.make("option", { value: key }, text)));
  list.value = value;
  list.addEventListener("change", () => change(list.value));
  return H.make("label", { className: "field" }, H.make("span", {}, label), list);
};
H.choices = (label, name, options, value, change) => H.make("fieldset", { className: "field", attributes: { "aria-label": label } }, H.make("span", {}, label),
  H.make("div", { className: "choices" }, ...options.map(([key, text]) => {
    const input = H.make("input", { type: "radio", name, value: key, checked: key === value });
    input.addEventListener("change", () => change(key));
    return H.make("label", {}, input, H.make("span", {}, text));
  })));
H.checkbox = (label, id, value, change) => {
  const input = H.make("input", { type: "checkbox", id, checked: value });
  input.addEventListener("change", () => change(input.checked));
  return H.make("label", { className: "check" }, input, label);
};

H.setting = () => H.data.settings[H.chosen.setting];
H.hasBytes = () => H.setting().unit === "bytes";
H.measure = () => (H.hasBytes() ? H.chosen.measure : "object");
H.armsHere = () => H.data.arms.filter((arm) => H.groups[H.chosen.setting].some((group) => group.arm === arm));
// An arm is shown if the reader chose it; by default the core ones, or all if there are few.
H.isShown = (arm) => {
  if (H.chosen.arms.has(arm.name)) return H.chosen.arms.get(arm.name);
  const here = H.armsHere();
  return arm.core || here.length <= 6 || here.filter((each) => each.core).length < 2;
};
H.shown = () => H.armsHere().filter(H.isShown);
H.places = () => {
  const sizes = new Map();
  for (const group of H.groups[H.chosen.setting]) sizes.set(group.place, group.size);
  return [...sizes].sort((a, b) => a[1] - b[1]);
};

const SELECTED = ["chart-curves", "chart-differences", "chart-series"];
H.drawSelected = () => H.redraw(SELECTED);

H.fillSelection = () => {
  const form = document.getElementById("selection"), settings = H.data.settings, now = H.setting();
  const here = (test) => settings.map((each, place) => [each, place]).filter(([each]) => test(each));
  const focused = document.activeElement && form.contains(document.activeElement) ? document.activeElement.id : "";
  const open = Boolean(form.querySelector("details[open]"));
  const choose = (place) => {
    H.chosen.setting = place;
    H.fillSelection();
    H.drawSelected();
  };
  const modes = H.unique(here((each) => each.trace === now.trace).map(([each]) => each.mode));
  const setups = here((each) => each.trace === now.trace && each.mode === now.mode);
  const parts = [
    H.select("Trace", H.unique(settings.map((each) => each.trace)).map((name) => [name, name]), now.trace, (name) => {
      const same = here((each) => each.trace === name && each.mode === now.mode);
      choose((same[0] || here((each) => each.trace === name)[0])[1]);
    }, "choose-trace"),
    H.select("Caches", modes.map((mode) => [mode, H.mode(mode)]), now.mode,
      (mode) => choose(here((each) => each.trace === now.trace && each.mode === mode)[0][1]), "choose-mode"),
    H.select("Requests", setups.map(([each, place]) => [String(place), each.name]), String(H.chosen.setting),
      (place) => choose(Number(place)), "choose-setting"),
    H.choices("Ratio", "view", [["hit", "hit"], ["miss", "miss"]], H.chosen.view, (view) => {
      H.chosen.view = view;
      H.drawSelected();
    }),
  ];
  if (settings.some((each) => each.unit === "bytes")) {
    const bytes = H.choices("Counted in", "measure", [["object", "requests"], ["byte", "bytes"]], H.measure(), (measure) => {
      H.chosen.measure = measure;
      H.drawSelected();
    });
    bytes.disabled = !H.hasBytes();
    if (bytes.disabled) bytes.title = "The objects of this trace have no sizes.";
    parts.push(bytes);
  }
  parts.push(H.policies(open));
  form.replaceChildren(...parts);
  form.onsubmit = (event) => event.preventDefault();
  if (focused && document.getElementById(focused)) document.getElementById(focused).focus();
};

H.policies = (open) => {
  const summary = H.make("summary", { className: "button", id: "choose-policies" });
  const grid = H.make("div", { className: "grid" }), boxes = new Map();
  const update = () => {
    summary.textContent = `${H.shown().length} of ${H.armsHere().length}`;
    for (const [arm, box] of boxes) box.checked = H.isShown(arm);
  };
  for (const arm of H.armsHere()) {
    const box = H.make("input", { type: "checkbox", value: arm.name });
    box.addEventListener("change", () => {
      H.chosen.arms.set(arm.name, box.checked);
      update();
      H.drawSelected();
    });
    boxes.set(arm, box);
    grid.append(H.make("label", {}, box, H.swatch(arm), arm.name));
  }
  const all = (value) => () => {
    for (const arm of H.armsHere()) {
      if (value === null) H.chosen.arms.delete(arm.name);
      else H.chosen.arms.set(arm.name, value);
    }
    update();
    H.drawSelected();
  };
  const row = H.make("div", { className: "row" }, ...[["Default", null], ["All", true], ["None", false]].map(([name, value]) =>
    H.make("button", { type: "button", onclick: all(value) }, name)),
    H.make("button", { type: "button", className: "close", onclick: () => { details.open = false; summary.focus(); } }, "Close"));
  const details = H.make("details", { className: "policies", open }, summary, H.make("div", { className: "popup" }, row, grid));
  // The popup stays on the page: it grows to the left of its button unless there is no space.
  details.addEventListener("toggle", () => {
    const popup = details.querySelector(".popup"), isLeft = details.getBoundingClientRect().right < popup.offsetWidth + 8;
    Object.assign(popup.style, isLeft && !H.narrow() ? { left: "0", right: "auto" } : { left: "", right: "" });
  });
  details.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      details.open = false;
      summary.focus();
    }
  });
  update();
  return H.make("div", { className: "field" }, H.make("span", {}, "Policies"), details);
};
document.addEventListener("click", (event) => {
  for (const details of document.querySelectorAll("details.policies[open]")) {
    if (!details.contains(event.target) && event.target.isConnected) details.open = false;
  }
});

// The first selection: the setting with the most arms, of the first trace that has it.
H.chosen.setting = H.groups.reduce((best, groups, place) => {
  const size = (each) => H.unique(each.filter((group) => group.arm.core).map((group) => group.arm)).length * 10 + H.unique(each.map((group) => group.place)).length;
  return size(groups) > size(H.groups[best]) ? place : best;
}, 0);
