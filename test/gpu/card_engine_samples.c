/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * What the driver itself says of a card's idle time: NVML keeps samples of the share of time in
 * which a kernel ran. That a proof has the card to itself is the engine's own word; a card that
 * waits for the host meanwhile shows here alone.
 *
 * Format: "NVML API Reference" (NVIDIA): nvmlDeviceGetSamples, type 1, values of type 1 in percent,
 * times in microseconds since 1970, each at the end of what it speaks of.
 */
#include "card_engine.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

#define UTILIZATION_SAMPLES 1
#define VALUE_UNSIGNED_INT 1
#define SAMPLES_MAX 512
#define NS_PER_US 1000
#define NS_PER_SECOND UINT64_C(1000000000)

struct sample {
    unsigned long long at_us;
    union {
        unsigned int percent;
        double widest;
    } value;
};

typedef int plain_call(void);
typedef int handle_call(unsigned int index, void **device);
typedef int samples_call(void *device, int type, unsigned long long since_us, int *value_type,
                         unsigned int *n, struct sample *samples);

/* What CLOCK_REALTIME is ahead of CLOCK_MONOTONIC. */
static uint64_t wall_offset_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec - pm_clock_now_ns();
}

static uint32_t take_samples(void *library, unsigned int index, struct sample *samples) {
    void *device = NULL;
    int value_type = 0;
    unsigned int n = SAMPLES_MAX;
    plain_call *begin = NULL, *end = NULL;
    handle_call *get_handle = NULL;
    samples_call *get_samples = NULL;
    *(void **)&begin = dlsym(library, "nvmlInit_v2");
    *(void **)&end = dlsym(library, "nvmlShutdown");
    *(void **)&get_handle = dlsym(library, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&get_samples = dlsym(library, "nvmlDeviceGetSamples");
    if (begin == NULL || end == NULL || get_handle == NULL || get_samples == NULL || begin() != 0) {
        return 0;
    }
    const bool is_good =
        get_handle(index, &device) == 0 &&
        get_samples(device, UTILIZATION_SAMPLES, 0, &value_type, &n, samples) == 0 &&
        value_type == VALUE_UNSIGNED_INT;
    (void)end();
    return is_good ? n : 0;
}

uint32_t card_engine_samples(const char *device, const struct card_engine_span *window,
                             double *busy_percent) {
    static struct sample samples[SAMPLES_MAX];
    const uint64_t offset_ns = wall_offset_ns();
    unsigned int index = 0;
    uint32_t n_in_window = 0;
    double sum = 0;
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || sscanf(device, "cuda:%u", &index) != 1) {
        return 0;
    }
    const uint32_t n = take_samples(library, index, samples);
    for (uint32_t i = 0; i < n; ++i) {
        const uint64_t at_ns = samples[i].at_us * NS_PER_US - offset_ns;
        if (at_ns > window->begin_ns && at_ns <= window->end_ns) {
            sum += samples[i].value.percent;
            ++n_in_window;
        }
    }
    (void)dlclose(library);
    *busy_percent = n_in_window != 0 ? sum / n_in_window : 0;
    return n_in_window;
}
