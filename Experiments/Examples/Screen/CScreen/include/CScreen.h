// A scrolling grid of pictures in a window of GTK 4, for Swift: plain functions and numbers of cells.
//
// All functions are called on one thread, the one that opened the window.
#ifndef HALCYON_CSCREEN_H
#define HALCYON_CSCREEN_H

#include <stdbool.h>
#include <stdint.h>

/// What GTK asks of the program. Cells are numbered from 0 in the order of their creation, and are reused for other
/// rows.
typedef struct {
    /// A cell was created.
    void (*created)(void *context, int32_t cell);
    /// A cell is to show a row.
    void (*bound)(void *context, int32_t cell, int32_t row);
    /// A cell no longer shows a row.
    void (*unbound)(void *context, int32_t cell, int32_t row);
    void *context;
} HalcyonScreenCallbacks;

/// Opens a window with a grid. Returns 0, or 1 if there is no display.
int32_t halcyon_screen_open(
    int32_t width, int32_t height, int32_t side, int32_t columns, int32_t rows, HalcyonScreenCallbacks callbacks);

/// Handles all events that are due.
void halcyon_screen_pump(void);

/// Handles events until three more frames were drawn, so that the display shows the state of the cells. Returns 0, or
/// 1 if nothing was drawn in half a minute.
int32_t halcyon_screen_draw(void);

/// Shows straight RGBA pixels in a cell, or nothing if `pixels` is NULL. The bytes are copied.
void halcyon_screen_show(int32_t cell, const uint8_t *pixels, int32_t width, int32_t height);

/// Shows straight RGBA pixels in the picture that covers the grid while a row is open, or nothing if `pixels` is NULL.
void halcyon_screen_show_detail(const uint8_t *pixels, int32_t width, int32_t height);

/// Covers the grid by that picture, or uncovers it.
void halcyon_screen_open_detail(bool opens);

/// Scrolls to a distance from the top in pixels, within what is possible. Returns the distance that was reached.
int32_t halcyon_screen_scroll(int32_t distance);

/// The largest distance from the top.
int32_t halcyon_screen_extent(void);

/// Finds the place of a cell's picture in the window. Returns whether the whole of it is inside the window and shown.
bool halcyon_screen_bounds(int32_t cell, int32_t *x, int32_t *y, int32_t *width, int32_t *height);

/// Copies what the display shows at the place of the window, as RGBA; `pixels` has `width * height * 4` bytes. It asks
/// the display and not GTK. Returns 0, or 1 if it cannot be read.
int32_t halcyon_screen_capture(uint8_t *pixels, int32_t width, int32_t height);

/// Closes the window.
void halcyon_screen_close(void);

#endif
