/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "groth16/qap.h"

#include "groth16/lagrange.h"
#include "groth16/r1cs_rows.h"
#include "io/mapping.h"

#include <string.h>

/* Rows between two looks at the control. */
#define ROWS_PER_CHECK 4096u

uint64_t pm_qap_n_rows(const struct pm_r1cs *r1cs) {
    return r1cs->n_constraints + pm_r1cs_n_bound_rows(r1cs);
}

uint32_t pm_qap_log_n(const struct pm_r1cs *r1cs) {
    uint32_t log_n = 0;
    while (UINT64_C(1) << log_n < pm_qap_n_rows(r1cs)) {
        ++log_n;
    }
    return log_n;
}

struct pass {
    const struct pm_r1cs *r1cs;
    const struct pm_field *fr;
    const uint64_t *lagrange; /* one for each row */
    struct pm_qap *qap;
    uint8_t minus_one[PM_FR_BYTES]; /* canonical */
    struct pm_ledger *ledger;
    const pm_control *control;
    int stopped; /* atomic */
};

/* column += value * lagrange, without a multiplication for the two values that circuits are full
 * of. */
static void add_term(const struct pass *pass, uint64_t *column, const uint8_t *value,
                     const uint64_t *lagrange) {
    static const uint8_t one[PM_FR_BYTES] = {1};
    const struct pm_field *fr = pass->fr;
    if (memcmp(value, one, PM_FR_BYTES) == 0) {
        fr->add(column, column, lagrange);
    } else if (memcmp(value, pass->minus_one, PM_FR_BYTES) == 0) {
        fr->sub(column, column, lagrange);
    } else {
        uint64_t product[PM_FR_LIMBS_MAX];
        fr->to_mont(product, value, 1);
        fr->mul(product, product, lagrange);
        fr->add(column, column, product);
    }
}

/* One matrix over all rows; the three matrices are three tasks, whose columns are apart. */
static void pass_over_matrix(void *argument, size_t matrix) {
    struct pass *pass = argument;
    const struct pm_r1cs *r1cs = pass->r1cs;
    const uint8_t *at = r1cs->rows;
    for (uint64_t row = 0; row < r1cs->n_constraints; ++row) {
        if (row % ROWS_PER_CHECK == 0 && pm_control_stopped(pass->control)) {
            __atomic_store_n(&pass->stopped, 1, __ATOMIC_RELAXED);
            return;
        }
        struct pm_r1cs_row terms;
        at = pm_r1cs_row_read(r1cs, at, &terms);
        const uint8_t *term = terms.terms[matrix];
        for (uint32_t i = 0; i < terms.n_terms[matrix]; ++i, term += PM_R1CS_TERM_BYTES) {
            add_term(pass,
                     pass->qap->columns[matrix] +
                         (uint64_t)pm_r1cs_term_wire(r1cs, term) * PM_FR_LIMBS_MAX,
                     term + sizeof(uint32_t), pass->lagrange + row * PM_FR_LIMBS_MAX);
        }
    }
}

static void add_bound_rows(const struct pass *pass) {
    const struct pm_qap *qap = pass->qap;
    for (uint64_t s = 0; s <= qap->n_public; ++s) {
        uint64_t *column = qap->columns[PM_QAP_A] + s * PM_FR_LIMBS_MAX;
        pass->fr->add(column, column,
                      pass->lagrange + (pass->r1cs->n_constraints + s) * PM_FR_LIMBS_MAX);
    }
}

static pm_status run_pass(struct pass *pass, struct pm_team *team, pm_error *error) {
    static const char *const names[3] = {"columns of A at tau", "columns of B at tau",
                                         "columns of C at tau"};
    const struct pm_field *fr = pass->fr;
    for (size_t i = 0; i < 3; ++i) {
        void *columns = NULL;
        PM_TRY(pm_memory_alloc_array(pass->ledger, names[i], pass->qap->n_vars, PM_FR_BYTES,
                                     PM_MEMORY_SECRET, &columns, error));
        pass->qap->columns[i] = columns;
    }
    uint64_t minus_one[PM_FR_LIMBS_MAX];
    fr->neg(minus_one, fr->one);
    fr->from_mont(pass->minus_one, minus_one, 1);
    pm_team_run(team, 3, pass_over_matrix, pass);
    if (pass->stopped) {
        return pm_control_stop_status(pass->control, error);
    }
    add_bound_rows(pass);
    return pm_mapping_check(pass->r1cs->container.mapping, error);
}

pm_status pm_qap_evaluate(const struct pm_r1cs *r1cs, const struct pm_curve *curve,
                          enum pm_root root, const uint64_t *tau, struct pm_team *team,
                          struct pm_ledger *ledger, const pm_control *control, struct pm_qap *qap,
                          pm_error *error) {
    *qap = (struct pm_qap){.log_n = pm_qap_log_n(r1cs),
                           .n_vars = r1cs->n_wires,
                           .n_public = r1cs->n_outputs + r1cs->n_public_inputs};
    const struct pm_lagrange lagrange = {.curve = curve,
                                         .root = root,
                                         .log_m = qap->log_n,
                                         .x = tau,
                                         .factor = curve->fr->one,
                                         .step = 1};
    void *values = NULL;
    pm_status status;
    PM_TRY_GOTO(status,
                pm_memory_alloc_array(ledger, "lagrange polynomials at tau", pm_qap_n_rows(r1cs),
                                      PM_FR_BYTES, PM_MEMORY_SECRET, &values, error),
                cleanup);
    PM_TRY_GOTO(status,
                pm_lagrange_evaluate(&lagrange, pm_qap_n_rows(r1cs), team, control, values, error),
                cleanup);
    struct pass pass = {
        .r1cs = r1cs, .fr = curve->fr, .lagrange = values, .qap = qap, .control = control};
    PM_TRY_GOTO(status, run_pass(&pass, team, error), cleanup);
cleanup:
    pm_memory_free(values);
    if (status != PM_OK) {
        pm_qap_destroy(qap);
    }
    return status;
}

void pm_qap_destroy(struct pm_qap *qap) {
    for (size_t i = 0; i < 3; ++i) {
        pm_memory_free(qap->columns[i]);
        qap->columns[i] = NULL;
    }
}
