#include "CScreen.h"

#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <gdk/x11/gdkx.h>
#include <gtk/gtk.h>

static HalcyonScreenCallbacks callbacks;
static GtkWidget *window, *scroller, *stack, *detail;
static GPtrArray *pictures;
static int32_t cell_side;

static int32_t number_of(GtkListItem *item) {
    return GPOINTER_TO_INT(g_object_get_data(G_OBJECT(gtk_list_item_get_child(item)), "number"));
}

static void setup(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data) {
    (void)factory, (void)data;
    GtkWidget *picture = gtk_picture_new();
    gtk_widget_set_size_request(picture, cell_side, cell_side);
    gtk_picture_set_can_shrink(GTK_PICTURE(picture), TRUE);
    gtk_picture_set_content_fit(GTK_PICTURE(picture), GTK_CONTENT_FIT_FILL);
    int32_t number = (int32_t)pictures->len;
    g_object_set_data(G_OBJECT(picture), "number", GINT_TO_POINTER(number));
    g_ptr_array_add(pictures, g_object_ref(picture));
    gtk_list_item_set_child(item, picture);
    callbacks.created(callbacks.context, number);
}

static void bind(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data) {
    (void)factory, (void)data;
    callbacks.bound(callbacks.context, number_of(item), (int32_t)gtk_list_item_get_position(item));
}

static void unbind(GtkSignalListItemFactory *factory, GtkListItem *item, gpointer data) {
    (void)factory, (void)data;
    callbacks.unbound(callbacks.context, number_of(item), (int32_t)gtk_list_item_get_position(item));
}

int32_t halcyon_screen_open(
    int32_t width, int32_t height, int32_t side, int32_t columns, int32_t rows, HalcyonScreenCallbacks given) {
    if (!gtk_init_check()) return 1;
    callbacks = given;
    cell_side = side;
    pictures = g_ptr_array_new();
    GtkStringList *list = gtk_string_list_new(NULL);
    for (int32_t row = 0; row < rows; row++) gtk_string_list_append(list, "");
    GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
    g_signal_connect(factory, "setup", G_CALLBACK(setup), NULL);
    g_signal_connect(factory, "bind", G_CALLBACK(bind), NULL);
    g_signal_connect(factory, "unbind", G_CALLBACK(unbind), NULL);
    GtkWidget *grid = gtk_grid_view_new(GTK_SELECTION_MODEL(gtk_no_selection_new(G_LIST_MODEL(list))), factory);
    gtk_grid_view_set_min_columns(GTK_GRID_VIEW(grid), (guint)columns);
    gtk_grid_view_set_max_columns(GTK_GRID_VIEW(grid), (guint)columns);
    scroller = gtk_scrolled_window_new();
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scroller), grid);
    detail = gtk_picture_new();
    gtk_picture_set_content_fit(GTK_PICTURE(detail), GTK_CONTENT_FIT_FILL);
    stack = gtk_stack_new();
    gtk_stack_add_child(GTK_STACK(stack), scroller);
    gtk_stack_add_child(GTK_STACK(stack), detail);
    window = gtk_window_new();
    gtk_window_set_decorated(GTK_WINDOW(window), FALSE);
    gtk_window_set_default_size(GTK_WINDOW(window), width, height);
    gtk_window_set_child(GTK_WINDOW(window), stack);
    gtk_window_present(GTK_WINDOW(window));
    return 0;
}

void halcyon_screen_pump(void) {
    while (g_main_context_iteration(NULL, FALSE)) {}
}

int32_t halcyon_screen_draw(void) {
    GdkFrameClock *clock = gtk_widget_get_frame_clock(window);
    if (clock == NULL) return 1;
    gint64 first = gdk_frame_clock_get_frame_counter(clock);
    for (int32_t wait = 0; wait < 30000; wait++) {
        if (gdk_frame_clock_get_frame_counter(clock) >= first + 3) return 0;
        gtk_widget_queue_draw(window);
        halcyon_screen_pump();
        g_usleep(1000);
    }
    return 1;
}

static void show(GtkWidget *widget, const uint8_t *pixels, int32_t width, int32_t height) {
    GtkPicture *picture = GTK_PICTURE(widget);
    if (pixels == NULL) {
        gtk_picture_set_paintable(picture, NULL);
        return;
    }
    GBytes *bytes = g_bytes_new(pixels, (gsize)width * (gsize)height * 4);
    GdkTexture *texture = gdk_memory_texture_new(width, height, GDK_MEMORY_R8G8B8A8, bytes, (gsize)width * 4);
    gtk_picture_set_paintable(picture, GDK_PAINTABLE(texture));
    g_object_unref(texture);
    g_bytes_unref(bytes);
}

void halcyon_screen_show(int32_t cell, const uint8_t *pixels, int32_t width, int32_t height) {
    show(g_ptr_array_index(pictures, cell), pixels, width, height);
}

void halcyon_screen_show_detail(const uint8_t *pixels, int32_t width, int32_t height) {
    show(detail, pixels, width, height);
}

void halcyon_screen_open_detail(bool opens) {
    gtk_stack_set_visible_child(GTK_STACK(stack), opens ? detail : scroller);
}

static GtkAdjustment *adjustment(void) {
    return gtk_scrolled_window_get_vadjustment(GTK_SCROLLED_WINDOW(scroller));
}

int32_t halcyon_screen_extent(void) {
    return (int32_t)(gtk_adjustment_get_upper(adjustment()) - gtk_adjustment_get_page_size(adjustment()));
}

int32_t halcyon_screen_scroll(int32_t distance) {
    gtk_adjustment_set_value(adjustment(), distance);
    return (int32_t)gtk_adjustment_get_value(adjustment());
}

bool halcyon_screen_bounds(int32_t cell, int32_t *x, int32_t *y, int32_t *width, int32_t *height) {
    GtkWidget *picture = g_ptr_array_index(pictures, cell);
    graphene_rect_t rect;
    if (!gtk_widget_get_mapped(picture) || !gtk_widget_compute_bounds(picture, window, &rect)) return false;
    *x = (int32_t)rect.origin.x, *y = (int32_t)rect.origin.y;
    *width = (int32_t)rect.size.width, *height = (int32_t)rect.size.height;
    return *x >= 0 && *y >= 0 && *width > 0 && *height > 0 && *x + *width <= gtk_widget_get_width(window) &&
           *y + *height <= gtk_widget_get_height(window);
}

int32_t halcyon_screen_capture(uint8_t *pixels, int32_t width, int32_t height) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    if (surface == NULL || !GDK_IS_X11_SURFACE(surface)) return 1;
    Display *display = gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface));
    Window root = DefaultRootWindow(display), child;
    int left = 0, top = 0;
    XSync(display, False);
    if (!XTranslateCoordinates(display, gdk_x11_surface_get_xid(surface), root, 0, 0, &left, &top, &child)) return 1;
    XImage *image = XGetImage(display, root, left, top, (unsigned)width, (unsigned)height, AllPlanes, ZPixmap);
    if (image == NULL) return 1;
    if (image->red_mask != 0xff0000 || image->green_mask != 0xff00 || image->blue_mask != 0xff) {
        XDestroyImage(image);
        return 1;
    }
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            unsigned long pixel = XGetPixel(image, x, y);
            uint8_t *to = pixels + ((size_t)y * (size_t)width + (size_t)x) * 4;
            to[0] = (uint8_t)(pixel >> 16), to[1] = (uint8_t)(pixel >> 8), to[2] = (uint8_t)pixel, to[3] = 255;
        }
    }
    XDestroyImage(image);
    return 0;
}

void halcyon_screen_close(void) {
    gtk_window_destroy(GTK_WINDOW(window));
    halcyon_screen_pump();
    g_ptr_array_unref(pictures);
}
