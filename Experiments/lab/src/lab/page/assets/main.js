"use strict";
// Draws the page: the first chart at once, the others one after the other, so that the page can be read meanwhile.
(() => {
  H.fillSelection();
  const waiting = Object.keys(H.charts);
  const drawNext = () => {
    const id = waiting.shift();
    if (id) {
      H.redraw([id]);
      setTimeout(drawNext, 0);
    } else {
      document.documentElement.dataset.ready = "true";
    }
  };
  drawNext();

  // Other row labels and heights on narrow screens; Plotly itself follows the width.
  let isNarrow = H.narrow();
  addEventListener("resize", () => {
    if (H.narrow() !== isNarrow) {
      isNarrow = H.narrow();
      H.redraw();
    }
  });
  addEventListener("beforeprint", () => {
    H.isPrinted = true;
    H.redraw();
  });
  addEventListener("afterprint", () => {
    H.isPrinted = false;
    H.redraw();
  });
})();
