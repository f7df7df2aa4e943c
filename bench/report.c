/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "bench.h"
#include "floors.h"

#include "base/clock.h"
#include "base/memory.h"
#include "synthetic_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 1024

void bench_need(pm_status status, const pm_error *error) {
    if (status != PM_OK) {
        (void)fprintf(stderr, "proofmill-bench: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

void *bench_alloc(uint64_t n, uint64_t element_bytes) {
    void *memory = NULL;
    pm_error error = PM_ERROR_INIT;
    bench_need(
        pm_memory_alloc_array(NULL, "bench", n, element_bytes, PM_MEMORY_PLAIN, &memory, &error),
        &error);
    return memory;
}

double bench_product_ns(const struct bench *bench, uint32_t n_limbs) {
    return bench->body == PM_BODY_IFMA ? floor_eighth_products(n_limbs) * bench->madd52_ns
                                       : floor_limb_products(n_limbs) * bench->mulx_ns;
}

void bench_time(const struct bench *bench, bench_work *work, void *argument, uint32_t repeat,
                struct bench_row *row) {
    const uint64_t enough_ns = bench->is_quick ? 30000000 : 300000000;
    uint64_t best_ns = UINT64_MAX, best_cpu_ns = UINT64_MAX, spent_ns = 0;
    row->n_runs = 0;
    while (row->n_runs < 2 || (spent_ns < enough_ns && row->n_runs < 100)) {
        const uint64_t start_ns = pm_clock_now_ns(), start_cpu_ns = pm_clock_cpu_ns();
        for (uint32_t i = 0; i < repeat; i++) {
            work(argument);
        }
        const uint64_t cpu_ns = pm_clock_cpu_ns() - start_cpu_ns;
        const uint64_t taken_ns = pm_clock_now_ns() - start_ns;
        best_ns = taken_ns < best_ns ? taken_ns : best_ns;
        best_cpu_ns = cpu_ns < best_cpu_ns ? cpu_ns : best_cpu_ns;
        spent_ns += taken_ns;
        row->n_runs++;
    }
    row->ns = (double)best_ns / repeat;
    row->cpu_ns = (double)best_cpu_ns / repeat;
}

void bench_random_scalars(void *scalars, uint64_t n, uint64_t seed) {
    uint64_t state = synthetic_mix(seed);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t k[PM_FR_BYTES / 8];
        for (size_t j = 0; j < PM_FR_BYTES / 8; j++) {
            k[j] = synthetic_next(&state);
        }
        k[PM_FR_BYTES / 8 - 1] >>= 3; /* below both orders */
        memcpy((uint8_t *)scalars + i * PM_FR_BYTES, k, sizeof k);
    }
}

/* ---- The table ------------------------------------------------------------------------------- */

static void print_time(double ns) {
    static const struct {
        double ns;
        const char *name;
    } units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
    size_t i = 0;
    while (i < 3 && ns < units[i].ns) {
        i++;
    }
    (void)printf(" %9.2f %-2s", ns / units[i].ns, units[i].name);
}

void bench_print_heading(const struct bench *bench) {
    double load[1] = {0};
    (void)getloadavg(load, 1);
    (void)printf("proofmill %s, %" PRIu32 " threads of %" PRIu32
                 " allowed, body %s, load average %.2f before\n",
                 pm_version(), bench->threads, pm_threads_available(), pm_body_name(bench->body),
                 load[0]);
    if (bench->mulx_ns > 0) {
        (void)printf("one multiplication of 64-bit words: %.3f ns; in a field of 4 limbs %.1f ns, "
                     "of 6 limbs %.1f ns\n",
                     bench->mulx_ns, 36 * bench->mulx_ns, 78 * bench->mulx_ns);
    } else {
        (void)printf("no multiplier probe on this processor: no floors\n");
    }
    if (bench->madd52_ns > 0) {
        (void)printf("one 52-bit multiply-add of eight lanes: %.3f ns; one product of eight in a "
                     "field of 4 limbs %.1f ns, of 6 limbs %.1f ns\n",
                     bench->madd52_ns, floor_eighth_products(4) * bench->madd52_ns,
                     floor_eighth_products(6) * bench->madd52_ns);
    }
    (void)printf("\n%-10s %-30s %-9s %-8s %5s %3s %12s %12s %12s %7s %7s\n", "part", "what",
                 "curve", "body", "size", "thr", "wall", "cpu", "floor", "ratio", "of cpu");
}

void bench_report(struct bench *bench, const struct pm_curve *curve, struct bench_row row) {
    row.curve = curve->name;
    row.body = curve->body;
    row.threads = row.threads == 0 ? bench->threads : row.threads;
    char size[16] = "";
    if (row.log_n > 0) {
        (void)snprintf(size, sizeof size, "2^%" PRIu32, row.log_n);
    }
    (void)printf("%-10s %-30s %-9s %-8s %5s %3" PRIu32, row.part, row.what, row.curve, row.body,
                 size, row.threads);
    print_time(row.ns);
    if (row.cpu_ns > 0) {
        print_time(row.cpu_ns);
    } else {
        (void)printf(" %12s", "");
    }
    if (row.floor_ns > 0) {
        print_time(row.floor_ns);
        (void)printf(" %7.2f", row.ns / row.floor_ns);
        if (row.cpu_ns > 0) {
            (void)printf(" %7.2f", row.cpu_ns / row.floor_ns / row.threads);
        }
    }
    (void)printf("\n");
    (void)fflush(stdout);
    if (bench->rows == NULL) {
        bench->rows = bench_alloc(ROWS_MAX, sizeof row);
    }
    if (bench->n_rows < ROWS_MAX) {
        bench->rows[bench->n_rows++] = row;
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* The processor's name as the system tells it, without what JSON would have to escape. */
static void read_processor(char *name, size_t n) {
    char line[256];
    (void)snprintf(name, n, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            size_t length = 0;
            for (const char *c = colon + 2; *c != '\0' && length + 1 < n; c++) {
                if (*c >= ' ' && *c < 127 && *c != '"' && *c != '\\') {
                    name[length++] = *c;
                }
            }
            name[length] = '\0';
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void write_row(FILE *file, const struct bench_row *row) {
    (void)fprintf(file,
                  "    {\"part\": \"%s\", \"what\": \"%s\", \"curve\": \"%s\", \"body\": \"%s\", "
                  "\"log_n\": %" PRIu32 ", \"threads\": %" PRIu32 ", \"runs\": %" PRIu32
                  ", \"ns\": %.3f",
                  row->part, row->what, row->curve, row->body, row->log_n, row->threads,
                  row->n_runs, row->ns);
    if (row->cpu_ns > 0) {
        (void)fprintf(file, ", \"cpu_ns\": %.3f", row->cpu_ns);
    }
    if (row->floor_ns > 0) {
        (void)fprintf(file, ", \"floor_ns\": %.3f, \"ratio\": %.4f", row->floor_ns,
                      row->ns / row->floor_ns);
    }
    if (row->n_products > 0) {
        (void)fprintf(file, ", \"products\": %.0f", row->n_products);
    }
    if (row->window_bits > 0) {
        (void)fprintf(file, ", \"window_bits\": %" PRIu32 ", \"scalars_in_buckets\": %" PRIu64,
                      row->window_bits, row->n_in_buckets);
    }
    (void)fprintf(file, "}");
}

bool bench_write_json(const struct bench *bench, const char *path) {
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        return false;
    }
    char processor[128];
    double load[1] = {0};
    read_processor(processor, sizeof processor);
    (void)getloadavg(load, 1);
    (void)fprintf(file,
                  "{\n  \"version\": \"%s\",\n  \"processor\": \"%s\",\n"
                  "  \"threads\": %" PRIu32 ",\n  \"threads_available\": %" PRIu32 ",\n"
                  "  \"load_average_after\": %.2f,\n  \"mulx_ns\": %.5f,\n  \"madd52_ns\": %.5f,\n "
                  " \"rows\": [\n",
                  pm_version(), processor, bench->threads, pm_threads_available(), load[0],
                  bench->mulx_ns, bench->madd52_ns);
    for (size_t i = 0; i < bench->n_rows; i++) {
        write_row(file, &bench->rows[i]);
        (void)fprintf(file, i + 1 < bench->n_rows ? ",\n" : "\n");
    }
    (void)fprintf(file, "  ]\n}\n");
    const bool is_good = ferror(file) == 0;
    return fclose(file) == 0 && is_good;
}
