/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gpu/gpu.h - what libproofmill-gpu offers to the core: one table of functions.
 *
 * The library is a shared object of its own, opened when a device is asked for (gpu_load.h), so
 * that a build with CUDA runs where there is no device, no driver and no CUDA. Each function is the
 * one of the same name with pm_gpu_ before it in gpu/device/gpu_device.h and the headers of gpu/op,
 * which hold the contracts.
 */
#ifndef PM_GPU_GPU_H
#define PM_GPU_GPU_H

#include "gpu/device/gpu_device.h"
#include "gpu/op/gpu_msm_op.h"
#include "gpu/op/gpu_ntt_op.h"
#include "gpu/op/gpu_scalars_op.h"
#include "gpu/op/gpu_sparse_op.h"
#include "gpu/op/gpu_sum_op.h"

/* Both sides must be of one build: the table has no promise beyond it. */
#define PM_GPU_API_VERSION 2

struct pm_gpu_api {
    uint32_t version;      /* PM_GPU_API_VERSION */
    uint32_t struct_bytes; /* of this table */

    pm_status (*device_count)(uint32_t *n, pm_error *error);
    pm_status (*device_open)(uint32_t ordinal, const struct pm_gpu_options *options,
                             struct pm_gpu_device **device, pm_error *error);
    void (*device_close)(struct pm_gpu_device *device);
    void (*device_facts)(const struct pm_gpu_device *device, struct pm_gpu_facts *facts);
    pm_status (*device_free_bytes)(struct pm_gpu_device *device, uint64_t *free_bytes,
                                   pm_error *error);
    bool (*device_is_bad)(const struct pm_gpu_device *device);
    uint64_t (*device_live_bytes)(const struct pm_gpu_device *device,
                                  enum pm_gpu_mechanism mechanism);
    uint64_t (*device_n_launches)(const struct pm_gpu_device *device);
    void (*device_lock)(struct pm_gpu_device *device);
    void (*device_unlock)(struct pm_gpu_device *device);
    bool (*device_lock_within)(struct pm_gpu_device *device, uint32_t timeout_ms);
    pm_status (*stream_create)(struct pm_gpu_device *device, struct pm_gpu_stream *stream,
                               pm_error *error);
    void (*stream_destroy)(struct pm_gpu_stream *stream);
    pm_status (*stream_wait)(const struct pm_gpu_stream *stream, pm_error *error);
    pm_status (*stream_is_done)(const struct pm_gpu_stream *stream, bool *is_done, pm_error *error);
    pm_status (*event_create)(struct pm_gpu_device *device, struct pm_gpu_event *event,
                              pm_error *error);
    void (*event_destroy)(struct pm_gpu_event *event);
    pm_status (*event_record)(const struct pm_gpu_event *event, const struct pm_gpu_stream *stream,
                              pm_error *error);
    pm_status (*stream_await)(const struct pm_gpu_stream *stream, const struct pm_gpu_event *event,
                              pm_error *error);
    pm_status (*event_elapsed_ms)(const struct pm_gpu_event *from, const struct pm_gpu_event *to,
                                  float *ms, pm_error *error);
    pm_status (*memory_get)(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                            enum pm_gpu_mechanism mechanism, const char *name, uint64_t bytes,
                            void *address, const char *file, int line, struct pm_gpu_buffer *buffer,
                            pm_error *error);
    void (*memory_release)(struct pm_gpu_device *device, const struct pm_gpu_stream *stream,
                           struct pm_gpu_buffer *buffer);
    bool (*memory_is_pinned)(struct pm_gpu_device *device, const void *address);
    pm_status (*upload)(const struct pm_gpu_stream *stream, void *to, const void *from,
                        uint64_t bytes, pm_error *error);
    pm_status (*download)(const struct pm_gpu_stream *stream, void *to, const void *from,
                          uint64_t bytes, pm_error *error);
    pm_status (*copy)(const struct pm_gpu_stream *stream, void *to, const void *from,
                      uint64_t bytes, pm_error *error);
    pm_status (*fill)(const struct pm_gpu_stream *stream, void *to, int byte, uint64_t bytes,
                      pm_error *error);
    uint64_t (*domain_bytes)(uint32_t log_n);
    pm_status (*domain_create)(const struct pm_gpu_stream *stream, pm_curve_id curve,
                               uint32_t log_n, enum pm_gpu_root root, uint32_t levels_max,
                               uint32_t tile_log, struct pm_gpu_domain *domain, pm_error *error);
    void (*domain_destroy)(struct pm_gpu_domain *domain);
    uint64_t (*powers_bytes)(uint32_t log_n);
    pm_status (*powers_create)(const struct pm_gpu_domain *domain,
                               const struct pm_gpu_stream *stream, enum pm_gpu_order order,
                               const uint32_t first[8], const uint32_t base[8],
                               struct pm_gpu_powers *powers, pm_error *error);
    void (*powers_destroy)(struct pm_gpu_powers *powers);
    pm_status (*ntt)(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                     const struct pm_gpu_transform *transform, const void *in, void *out,
                     pm_error *error);
    uint64_t (*h_bytes)(uint32_t log_n, enum pm_gpu_reduction reduction);
    pm_status (*h_create)(const struct pm_gpu_domain *domain, const struct pm_gpu_stream *stream,
                          enum pm_gpu_reduction reduction, struct pm_gpu_h *h, pm_error *error);
    void (*h_destroy)(struct pm_gpu_h *h);
    pm_status (*h_product)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                           const void *a, const void *b, pm_error *error);
    pm_status (*h_coset)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *v,
                         pm_error *error);
    pm_status (*h_multiply)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                            const void *b, pm_error *error);
    pm_status (*h_c)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *c,
                     pm_error *error);
    pm_status (*h_finish)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                          const void *c, pm_error *error);
    pm_status (*h_run)(const struct pm_gpu_h *h, const struct pm_gpu_stream *stream, void *a,
                       void *b, void *c, bool has_c, pm_error *error);
    uint64_t (*sparse_bytes)(uint64_t n_rows, uint64_t n_terms, uint64_t n_coefficients);
    void (*sparse_place)(struct pm_gpu_sparse *matrix, void *buffer, uint64_t offsets[3]);
    pm_status (*sparse_multiply)(const struct pm_gpu_stream *stream, pm_curve_id curve,
                                 const struct pm_gpu_sparse *matrix, const void *w, void *out,
                                 uint64_t n_out, pm_error *error);
    pm_status (*scalars_take)(const struct pm_gpu_stream *stream, pm_curve_id curve,
                              enum pm_gpu_conversion conversion, void *values, uint64_t n,
                              void *scratch, uint64_t *lowest, pm_error *error);
    pm_status (*scalars_expand)(const struct pm_gpu_stream *stream, const void *packed, uint64_t n,
                                void *values, pm_error *error);
    pm_status (*msm_plan_make)(struct pm_gpu_device *device, pm_curve_id curve,
                               enum pm_msm_group group, uint64_t n, uint64_t limit_bytes,
                               uint32_t n_windows, struct pm_gpu_msm_plan *plan, pm_error *error);
    pm_status (*msm_run)(const struct pm_gpu_stream *stream, const struct pm_gpu_msm_plan *plan,
                         const struct pm_gpu_msm_input *input, void *workspace, void *outputs,
                         const struct pm_gpu_event *marks, pm_error *error);
    void (*msm_finish)(const struct pm_gpu_msm_plan *plan, const void *outputs, void *result);
    uint64_t (*classes_bytes)(uint64_t n);
    pm_status (*classify)(const struct pm_gpu_stream *stream, pm_curve_id curve,
                          const void *scalars, uint64_t n, void *classes, pm_error *error);
    pm_status (*sum_bytes)(struct pm_gpu_device *device, pm_curve_id curve, enum pm_msm_group group,
                           uint64_t n, bool has_lists, uint64_t limit_bytes,
                           uint64_t *workspace_bytes, uint64_t *outputs_bytes, pm_error *error);
    pm_status (*sum_run)(const struct pm_gpu_stream *stream, const struct pm_gpu_sum_input *input,
                         void *workspace, uint64_t workspace_bytes, void *outputs,
                         uint64_t outputs_bytes, void *result, pm_error *error);
};

/* The one name that libproofmill-gpu exports: pm_gpu_api_get. */
typedef const struct pm_gpu_api *pm_gpu_api_get_function(void);
#define PM_GPU_API_GET_NAME "pm_gpu_api_get"

#endif
