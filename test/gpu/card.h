/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* What the tests on a card share. They need no test framework: the machine that has the card may
 * have nothing else. A failed check prints itself and ends the program with 1. */
#ifndef PM_TEST_GPU_CARD_H
#define PM_TEST_GPU_CARD_H

#include "card_kernels.h"
#include "curve/curve.h"
#include "gpu/gpu.h"
#include "par/team.h"
#include "poly/poly.h"
#include "support/seeded_random.h"

#include <stdio.h>
#include <stdlib.h>

struct card {
    const struct pm_gpu_api *api;
    struct pm_gpu_device *device;
    struct pm_gpu_stream stream;
    struct pm_team *team;
    pm_curve_id id;
    const struct pm_curve *curve;
    const struct pm_poly *poly;
    const struct card_kernels *kernels;
    char *const *only; /* names of the tests to run, NULL behind; none: all */
    bool is_small;     /* under a sanitizer: sizes that it can follow */
};

extern struct seeded_random card_entropy;

#define CARD_CHECK(condition, ...)                                                                 \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("%s:%d: FAILED: %s: ", __FILE__, __LINE__, #condition);                         \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define CARD_OK(call)                                                                              \
    do {                                                                                           \
        pm_error error = PM_ERROR_INIT;                                                            \
        const pm_status card_status = (call);                                                      \
        CARD_CHECK(card_status == PM_OK, "%s", error.message);                                     \
    } while (0)

#define CARD_CUDA(call)                                                                            \
    do {                                                                                           \
        const int card_cuda = (call);                                                              \
        CARD_CHECK(card_cuda == 0, "CUDA error %d", card_cuda);                                    \
    } while (0)

#define PM_GPU_GET_BY(api, device, stream, mechanism, name, bytes, buffer, error)                  \
    (api)->memory_get((device), (stream), (mechanism), (name), (bytes), NULL, __FILE__, __LINE__,  \
                      (buffer), (error))

/* Integers below the modulus, many of them near an edge. */
void card_edge_value(const struct pm_field *field, uint64_t *r);
/* Memory of the host that is there or ends the program. */
void *card_host_memory(uint64_t bytes);

void card_test_fields(const struct card *card);
void card_test_curves(const struct card *card);
void card_test_transforms(const struct card *card);
void card_test_large_transforms(const struct card *card);
void card_test_h(const struct card *card);
void card_test_sparse(const struct card *card);
void card_test_scalars(const struct card *card);
void card_test_large_scalars(const struct card *card);
void card_test_memory(const struct card *card);
/* Leaves the device bad: the last thing that a process does. */
void card_test_fault(const struct card *card);

#endif
