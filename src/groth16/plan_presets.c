/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/plan.h"

#include <string.h>

/*
 * Sizes of Filecoin's circuits (proof version 28), counted from models of the circuits. Rows
 * include one for each input; the one variable of the inputs that occurs in a row of B is the
 * constant one. A circuit's parameter file has the length that these counts give: test_plan_sizes.c
 * compares. Where the non-zeros of the matrices are not known they are 0.
 */

/* inputs, the constant one included; rows; aux variables, and how many of them occur in A and B;
 * log2 of the domain; non-zeros of A, B and C. */
#define FILECOIN(name_, title_, inputs_, rows_, aux_, a_, b_, log_n_, ...)                         \
    {                                                                                              \
        .name = (name_), .title = (title_), .sizes = {                                             \
            .curve = PM_CURVE_BLS12_381,                                                           \
            .reduction = PM_REDUCTION_BELLMAN,                                                     \
            .log_n = (log_n_),                                                                     \
            .n_vars = (inputs_) + (uint64_t)(aux_),                                                \
            .n_inputs = (inputs_),                                                                 \
            .n_rows = (rows_),                                                                     \
            .n_a = (inputs_) + (uint64_t)(a_),                                                     \
            .n_b = 1 + (uint64_t)(b_),                                                             \
            .n_l = (aux_),                                                                         \
            .n_h = (UINT64_C(1) << (log_n_)) - 1,                                                  \
            .n_nonzeros = {__VA_ARGS__},                                                           \
            .rows_sorted = true,                                                                   \
            .has_matrices = true                                                                   \
        }                                                                                          \
    }

const struct pm_plan_preset pm_plan_presets[] = {
    FILECOIN("porep-32g", "Filecoin PoRep, 32 GiB sector, one partition", 328, 130278869, 130169893,
             129753292, 33112281, 27, 309405051, 130327340, 282656500),
    FILECOIN("porep-64g", "Filecoin PoRep, 64 GiB sector, one partition", 328, 131186177, 131076643,
             130637542, 33386943, 27, 0),
    FILECOIN("porep-2k", "Filecoin PoRep, 2 KiB sector", 40, 2687961, 2685673, 2674908, 685521, 22,
             0),
    FILECOIN("porep-8m", "Filecoin PoRep, 8 MiB sector", 40, 3844969, 3842449, 3814996, 1011289, 22,
             0),
    FILECOIN("porep-512m", "Filecoin PoRep, 512 MiB sector", 40, 4423473, 4420837, 4385040, 1174173,
             23, 0),
    FILECOIN("window-post-32g", "Filecoin WindowPoSt, 32 GiB sectors", 25840, 125305057, 126902376,
             96179805, 91925766, 27, 862416559, 127398015, 157401792),
    FILECOIN("window-post-64g", "Filecoin WindowPoSt, 64 GiB sectors", 25301, 129913201, 131500200,
             99624500, 95413200, 27, 0),
    FILECOIN("winning-post-32g", "Filecoin WinningPoSt, 32 GiB sectors", 133, 370723, 375210,
             284196, 272184, 19, 0),
    FILECOIN("snap-32g", "Filecoin SnapDeals, 32 GiB sector, one partition", 5, 81049504, 80978488,
             80743581, 20983607, 27, 190374912, 81118127, 172187492),
    FILECOIN("snap-64g", "Filecoin SnapDeals, 64 GiB sector, one partition", 5, 85006106, 84931220,
             84682725, 22012683, 27, 0),
    FILECOIN("window-post-2k", "Filecoin WindowPoSt, 2 KiB sectors", 23, 21889, 22128, 16770, 16028,
             15, 0),
    FILECOIN("winning-post-2k", "Filecoin WinningPoSt, 2 KiB sectors", 133, 90883, 91674, 69300,
             66792, 17, 0),
};
const uint32_t pm_plan_n_presets = sizeof pm_plan_presets / sizeof pm_plan_presets[0];

const struct pm_plan_preset *pm_plan_preset_find(const char *name) {
    for (uint32_t i = 0; i < pm_plan_n_presets; i++) {
        if (strcmp(pm_plan_presets[i].name, name) == 0) {
            return &pm_plan_presets[i];
        }
    }
    return NULL;
}
