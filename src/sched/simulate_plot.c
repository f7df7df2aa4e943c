/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* sched/simulate_plot.c - a run as a picture: memory against the budget, the devices below it. All
 * coordinates are whole pixels, so that no locale has a say. */
#include "base/memory.h"
#include "sched/simulate.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 960,
    LEFT = 84,
    PLOT_WIDTH = 800,
    MEMORY_HEIGHT = 150,
    USE_HEIGHT = 36,
    PANEL_HEIGHT = 290,
    HEAD_HEIGHT = 64,
    PANEL_CHARS = 65536 /* at most PM_SIM_BINS steps of 24 characters for each of three lines */
};

struct canvas {
    char *text;
    size_t n, capacity;
};

__attribute__((format(printf, 2, 3))) static void draw(struct canvas *canvas, const char *format,
                                                       ...) {
    va_list arguments;
    va_start(arguments, format);
    const int n =
        vsnprintf(canvas->text + canvas->n, canvas->capacity - canvas->n, format, arguments);
    va_end(arguments);
    const size_t room = canvas->capacity - canvas->n - 1;
    canvas->n += n < 0 ? 0 : (size_t)n < room ? (size_t)n : room;
}

/* A title may hold anything. */
static void draw_escaped(struct canvas *canvas, const char *text) {
    for (size_t n = 0; text[n] != '\0' && n < 512; n++) {
        switch (text[n]) {
        case '<':
            draw(canvas, "&lt;");
            break;
        case '>':
            draw(canvas, "&gt;");
            break;
        case '&':
            draw(canvas, "&amp;");
            break;
        default:
            draw(canvas, "%c", (unsigned char)text[n] < 0x20 ? ' ' : text[n]);
            break;
        }
    }
}

static uint64_t scaled(uint64_t value, uint64_t most, uint64_t to) {
    return most == 0 ? 0 : (uint64_t)((unsigned __int128)(value < most ? value : most) * to / most);
}

static void draw_text(struct canvas *canvas, uint64_t x, uint64_t y, const char *anchor,
                      const char *format, ...) __attribute__((format(printf, 5, 6)));
static void draw_text(struct canvas *canvas, uint64_t x, uint64_t y, const char *anchor,
                      const char *format, ...) {
    char line[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    draw(canvas, "<text x=\"%" PRIu64 "\" y=\"%" PRIu64 "\" text-anchor=\"%s\">", x, y, anchor);
    draw_escaped(canvas, line);
    draw(canvas, "</text>\n");
}

/* ---- A panel ----------------------------------------------------------------------------------
 */

enum series { RESERVED, HELD, USE };

static uint64_t value_of(const struct pm_sim_plot *plot, enum series series, uint32_t i) {
    const struct pm_sim_bin *bin = &plot->result->bins[i];
    return series == RESERVED ? bin->reserved_bytes
           : series == HELD   ? bin->held_bytes
                              : bin->busy_ns;
}

/* The area below a line of steps that stands on base. */
static void draw_area(struct canvas *canvas, const struct pm_sim_plot *plot, enum series series,
                      uint64_t most, uint64_t base, uint64_t height, const char *style) {
    const uint32_t n = plot->result->n_bins;
    uint64_t last = 0;
    draw(canvas, "<path class=\"%s\" d=\"M%d %" PRIu64, style, LEFT, base);
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t y = scaled(value_of(plot, series, i), most, height);
        if (y != last || i == 0) {
            draw(canvas, "H%" PRIu64 "V%" PRIu64, LEFT + scaled(i, n, PLOT_WIDTH), base - y);
            last = y;
        }
    }
    draw(canvas, "H%dV%" PRIu64 "Z\"/>\n", LEFT + PLOT_WIDTH, base);
}

static uint64_t budget_of(const struct pm_sim_scenario *scenario) {
    return scenario->machine.memory_bytes;
}

/* The top of the scale: the budget if there is one, and what is above it. */
static uint64_t top_of(const struct pm_sim_plot *plot) {
    uint64_t top = 1;
    for (uint32_t i = 0; i < plot->result->n_bins; i++) {
        const uint64_t reserved = value_of(plot, RESERVED, i), held = value_of(plot, HELD, i);
        top = reserved > top ? reserved : top;
        top = held > top ? held : top;
    }
    const uint64_t budget = budget_of(plot->scenario);
    return budget != UINT64_MAX && budget > top ? budget : top;
}

static uint64_t whole_gib(uint64_t bytes) {
    return (bytes + (UINT64_C(1) << 29)) >> 30;
}

static void draw_axes(struct canvas *canvas, const struct pm_sim_plot *plot, uint64_t y,
                      uint64_t top) {
    const uint64_t base = y + MEMORY_HEIGHT;
    const uint64_t end_s = plot->result->n_bins * plot->result->bin_ns / UINT64_C(1000000000);
    for (uint64_t i = 0; i <= 4; i++) {
        const uint64_t at = base - MEMORY_HEIGHT * i / 4;
        draw(canvas, "<path class=\"grid\" d=\"M%d %" PRIu64 "h%d\"/>\n", LEFT, at, PLOT_WIDTH);
        draw_text(canvas, LEFT - 8, at + 4, "end", "%" PRIu64 " GiB", whole_gib(top / 4 * i));
        draw_text(canvas, LEFT + PLOT_WIDTH * i / 4, base + USE_HEIGHT + 36, "middle",
                  "%" PRIu64 " s", end_s * i / 4);
    }
    if (budget_of(plot->scenario) != UINT64_MAX) {
        const uint64_t at = base - scaled(budget_of(plot->scenario), top, MEMORY_HEIGHT);
        draw(canvas, "<path class=\"budget\" d=\"M%d %" PRIu64 "h%d\"/>\n", LEFT, at, PLOT_WIDTH);
    }
    draw_text(canvas, LEFT - 8, base + USE_HEIGHT + 12, "end", "devices");
}

static void draw_panel(struct canvas *canvas, const struct pm_sim_plot *plot, uint64_t y) {
    const struct pm_sim_machine *machine = &plot->scenario->machine;
    const uint64_t top = top_of(plot), base = y + 30 + MEMORY_HEIGHT;
    const uint64_t n_devices = machine->n_devices == 0 ? 1 : machine->n_devices;
    draw(canvas, "<text class=\"title\" x=\"%d\" y=\"%" PRIu64 "\">", LEFT, y + 12);
    draw_escaped(canvas, plot->title);
    draw(canvas, "</text>\n");
    draw_text(canvas, LEFT + PLOT_WIDTH, y + 12, "end",
              "peak %" PRIu64 " GiB held, %" PRIu64 " proofs%s",
              whole_gib(plot->result->peak_memory_bytes), plot->result->n_done,
              machine->count > 1 ? ", first machine shown" : "");
    draw_area(canvas, plot, RESERVED, top, base, MEMORY_HEIGHT, "reserved");
    draw_area(canvas, plot, HELD, top, base, MEMORY_HEIGHT, "held");
    draw_area(canvas, plot, USE, n_devices * plot->result->bin_ns, base + 14 + USE_HEIGHT,
              USE_HEIGHT, "use");
    draw_axes(canvas, plot, y + 30, top);
}

static void draw_head(struct canvas *canvas, const char *title, uint64_t height) {
    draw(canvas,
         "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %" PRIu64 "\" width=\"%d\" "
         "height=\"%" PRIu64 "\" font-family=\"sans-serif\" font-size=\"11\">\n"
         "<style>.reserved{fill:#cfe3f5}.held{fill:#3b7dbd}.use{fill:#4c9f70}"
         ".grid{stroke:#999;stroke-opacity:.35;fill:none}"
         ".budget{stroke:#c0392b;stroke-width:2;stroke-dasharray:6 4;fill:none}"
         ".title{font-size:13px;font-weight:bold}</style>\n"
         "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
         "<text x=\"%d\" y=\"24\" font-size=\"16\">",
         WIDTH, height, WIDTH, height, LEFT);
    draw_escaped(canvas, title);
    draw(canvas, "</text>\n");
    const struct {
        const char *style, *name;
    } legend[] = {{"held", "held"}, {"reserved", "reserved"}, {"use", "devices at work"}};
    for (uint64_t i = 0; i < 3; i++) {
        draw(canvas, "<rect class=\"%s\" x=\"%" PRIu64 "\" y=\"36\" width=\"12\" height=\"12\"/>\n",
             legend[i].style, LEFT + 130 * i);
        draw_text(canvas, LEFT + 130 * i + 18, 46, "start", "%s", legend[i].name);
    }
    draw(canvas, "<path class=\"budget\" d=\"M%d 42h20\"/>\n", LEFT + 390);
    draw_text(canvas, LEFT + 416, 46, "start", "memory of the machine");
}

pm_status pm_sim_plot(const char *title, const struct pm_sim_plot *plots, size_t n_plots,
                      char **text, size_t *n_bytes, pm_error *error) {
    void *memory = NULL;
    const size_t capacity = (n_plots + 1) * PANEL_CHARS;
    PM_TRY(pm_memory_alloc(NULL, "plot", capacity, PM_MEMORY_PLAIN, &memory, error));
    struct canvas canvas = {.text = memory, .n = 0, .capacity = capacity};
    draw_head(&canvas, title, HEAD_HEIGHT + (uint64_t)n_plots * PANEL_HEIGHT);
    for (size_t i = 0; i < n_plots; i++) {
        draw_panel(&canvas, &plots[i], HEAD_HEIGHT + (uint64_t)i * PANEL_HEIGHT);
    }
    draw(&canvas, "</svg>\n");
    *text = canvas.text;
    *n_bytes = canvas.n;
    return PM_OK;
}

void pm_sim_plot_free(char *text) {
    pm_memory_free(text);
}
