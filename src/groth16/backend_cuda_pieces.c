/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Sums of a streamed key. Its points go through a window of panes: one piece is summed while the
 * team fills the panes that are free, in the order in which pieces will be summed. Where sums are
 * made side by side, pieces of the first one, which takes the card long and the bus a short time,
 * stand among those of the others, so that both have work until the end.
 */
#include "groth16/backend_cuda_pieces.h"

#include <string.h>

#define WORD_BITS UINT64_C(64)
/* Between two looks whether the sum at work is done: a millisecond on the bus. */
#define PART_BYTES (UINT64_C(64) << 20)

/* Scalars from `first` on, counted from the sum's first one, and their points. */
struct piece {
    const struct pm_cuda_sum *sum;
    uint64_t first, n, first_point, n_points;
};

/* Of the sum's, before its scalar i. */
static uint64_t points_before(const struct pm_cuda_sum *sum, uint64_t i) {
    const uint64_t first = sum->input.first;
    return sum->compact != NULL
               ? pm_density_rank(sum->compact, first + i) - pm_density_rank(sum->compact, first)
               : i;
}

/* As much as fits; whole words of a density, but for the last piece. */
static struct piece piece_from(const struct pm_cuda_sum *sum, uint64_t first) {
    const uint64_t left = sum->n - first;
    const uint64_t most = left < sum->piece_scalars ? left : sum->piece_scalars;
    struct piece piece = {
        .sum = sum, .first = first, .n = most, .first_point = points_before(sum, first)};
    uint64_t low = 1, high = (most + WORD_BITS - 1) / WORD_BITS; /* words */
    while (low < high) {
        const uint64_t middle = high - (high - low) / 2;
        const uint64_t n = middle * WORD_BITS < most ? middle * WORD_BITS : most;
        if (points_before(sum, first + n) - piece.first_point <= sum->piece_points) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    piece.n = low * WORD_BITS < most ? low * WORD_BITS : most;
    piece.n_points = points_before(sum, first + piece.n) - piece.first_point;
    return piece;
}

static pm_status sum_piece(const struct piece *piece, const void *points,
                           struct pm_group_point *part, pm_error *error) {
    const struct pm_cuda_sum *sum = piece->sum;
    const struct pm_cuda_side *side = &sum->cuda->holder;
    struct pm_gpu_sum_input input = sum->input;
    input.points = points;
    input.first += piece->first;
    input.n = piece->n;
    PM_TRY(pm_control_check(sum->data->control, error));
    return sum->cuda->api->sum_run(&side->stream, &input, sum->scratch, sum->scratch_bytes,
                                   pm_cuda_landing(sum->cuda, side), PM_CUDA_OUTPUTS_BYTES, part,
                                   error);
}

pm_status pm_cuda_sum_resident(const struct pm_cuda_sum *sum, pm_error *error) {
    const struct piece all = {.sum = sum, .n = sum->n, .n_points = sum->query->n};
    return sum->n == 0 ? PM_OK : sum_piece(&all, sum->input.points, sum->total, error);
}

/* ---- In which order ---------------------------------------------------------------------------
 */

/* Pieces of the first sum, and of the others one after another. */
struct order {
    const struct pm_cuda_sum *sums;
    uint32_t n_sums, other; /* which of the others is at hand */
    uint64_t first, others; /* scalars of sums[0], of sums[other], that have been given out */
    uint64_t done_bytes[2], all_bytes[2]; /* of points: of the first sum, of the others */
};

static uint64_t points_bytes(const struct pm_cuda_sum *sum, uint64_t n_points) {
    return n_points * sum->group->affine_bytes;
}

static void order_begin(const struct pm_cuda_sum *sums, uint32_t n_sums, struct order *order) {
    *order = (struct order){.sums = sums, .n_sums = n_sums, .other = 1};
    for (uint32_t i = 0; i < n_sums; ++i) {
        order->all_bytes[i != 0] += points_bytes(&sums[i], sums[i].query->n);
    }
}

/* Both sides are as far as the other. */
static bool is_turn_of_first(const struct order *order) {
    if (order->first == order->sums[0].n || order->other == order->n_sums) {
        return order->first < order->sums[0].n;
    }
    return (unsigned __int128)order->done_bytes[0] * order->all_bytes[1] <=
           (unsigned __int128)order->done_bytes[1] * order->all_bytes[0];
}

/* False when none is left. */
static bool next_piece(struct order *order, struct piece *piece) {
    while (order->other < order->n_sums && order->others == order->sums[order->other].n) {
        ++order->other;
        order->others = 0;
    }
    const bool is_first = is_turn_of_first(order);
    if (!is_first && order->other == order->n_sums) {
        return false;
    }
    uint64_t *given = is_first ? &order->first : &order->others;
    *piece = piece_from(&order->sums[is_first ? 0 : order->other], *given);
    *given += piece->n;
    order->done_bytes[!is_first] += points_bytes(piece->sum, piece->n_points);
    return true;
}

/* ---- Panes ------------------------------------------------------------------------------------
 */

/* Who fills panes writes what is his, who sums looks at the piece that is there. */
struct panes {
    struct order order;
    struct pm_cuda_way *way;
    uint8_t *window;
    uint64_t pane_bytes;
    struct piece pieces[PM_CUDA_PANES]; /* of each pane */
    uint32_t n_begun, n_there;          /* pieces that have a pane; that have come */
    uint64_t come_bytes;                /* of the last one that has a pane */
    uint32_t n_summed;                  /* whose panes are free again */
    uint32_t n_wanted;                  /* so many must be there before this round ends */
    bool is_summed;                     /* atomic: nothing is at work */
    struct pm_group_point part;
    pm_status status[2];
    pm_error errors[2];
};

/* False when there is no free pane, or no piece for it. */
static bool begin_pane(struct panes *panes) {
    if (panes->n_begun - panes->n_summed == PM_CUDA_PANES ||
        !next_piece(&panes->order, &panes->pieces[panes->n_begun % PM_CUDA_PANES])) {
        return false;
    }
    ++panes->n_begun;
    panes->come_bytes = 0;
    return true;
}

static pm_status bring_part(struct panes *panes, pm_error *error) {
    const uint32_t pane = (panes->n_begun - 1) % PM_CUDA_PANES;
    const struct piece *piece = &panes->pieces[pane];
    const uint64_t left = points_bytes(piece->sum, piece->n_points) - panes->come_bytes;
    const uint64_t n_bytes = left < PART_BYTES ? left : PART_BYTES;
    PM_TRY(pm_cuda_way_part(panes->way,
                            panes->window + pane * panes->pane_bytes + panes->come_bytes,
                            piece->sum->query->points +
                                points_bytes(piece->sum, piece->first_point) + panes->come_bytes,
                            n_bytes, piece->sum->is_pinned, error));
    panes->come_bytes += n_bytes;
    if (n_bytes == left) {
        PM_TRY(pm_cuda_way_end(panes->way, PM_OK, error));
        ++panes->n_there;
    }
    return PM_OK;
}

/* Until there is no free pane, or, when nothing is at work any more, enough has come. */
static pm_status fill_panes(struct panes *panes, pm_error *error) {
    while (panes->n_there < panes->n_wanted ||
           !__atomic_load_n(&panes->is_summed, __ATOMIC_ACQUIRE)) {
        if (panes->n_there == panes->n_begun && !begin_pane(panes)) {
            return PM_OK;
        }
        PM_TRY(bring_part(panes, error));
    }
    return PM_OK;
}

/* Two tasks: a piece is summed, others come. */
static void round_task(void *argument, size_t task) {
    struct panes *panes = argument;
    const uint32_t pane = panes->n_summed % PM_CUDA_PANES;
    pm_error *error = &panes->errors[task];
    if (task == 0) {
        panes->status[0] = sum_piece(&panes->pieces[pane], panes->window + pane * panes->pane_bytes,
                                     &panes->part, error);
        __atomic_store_n(&panes->is_summed, true, __ATOMIC_RELEASE);
    } else {
        panes->status[1] = fill_panes(panes, error);
    }
}

static pm_status run_round(struct panes *panes, struct pm_team *team, pm_error *error) {
    const struct pm_cuda_sum *sum = panes->pieces[panes->n_summed % PM_CUDA_PANES].sum;
    panes->n_wanted = panes->n_summed + 2;
    panes->is_summed = false;
    panes->errors[0] = panes->errors[1] = (pm_error)PM_ERROR_INIT;
    pm_team_run(team, 2, round_task, panes);
    for (int task = 0; task < 2; ++task) {
        if (panes->status[task] != PM_OK) {
            pm_error_copy(error, &panes->errors[task]);
            return panes->status[task];
        }
    }
    sum->group->add(sum->total, sum->total, &panes->part);
    ++panes->n_summed;
    return PM_OK;
}

static pm_status run(struct panes *panes, struct pm_team *team, pm_error *error) {
    panes->n_wanted = 1;
    panes->is_summed = true;
    PM_TRY(fill_panes(panes, error));
    while (panes->n_summed < panes->n_there) {
        PM_TRY(run_round(panes, team, error));
    }
    return PM_OK;
}

pm_status pm_cuda_sum_streamed(struct pm_cuda_sum *sums, uint32_t n, pm_error *error) {
    const struct pm_step_data *data = sums->data;
    struct pm_cuda *cuda = sums->cuda;
    struct panes panes = {.window = data->buffer[PM_BUFFER_KEY_WINDOW],
                          .pane_bytes = pm_cuda_pane_bytes(data->plan)};
    for (uint32_t i = 0; i < n; ++i) {
        const struct pm_key_query *query = sums[i].query;
        sums[i].is_pinned =
            pm_cuda_is_pinned(cuda, query->points, points_bytes(&sums[i], query->n));
    }
    order_begin(sums, n, &panes.order);
    PM_TRY(pm_cuda_way_begin(cuda, data, true, &panes.way, error));
    const pm_status status = pm_cuda_way_end(panes.way, run(&panes, data->team, error), error);
    pm_memory_wipe(&panes.part, sizeof panes.part);
    return status;
}
