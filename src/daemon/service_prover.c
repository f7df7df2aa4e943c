/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/service_prover.c - proofmill.v1.Prover: which handler does what. */
#include "daemon/service_internal.h"

const struct pm_rpc_method pm_service_prover[] = {
    {"/proofmill.v1.Prover/Prove", PM_RPC_UNARY_LONG, pm_service_prove},
    {"/proofmill.v1.Prover/Submit", PM_RPC_UNARY_LONG, pm_service_submit_unary},
    {"/proofmill.v1.Prover/SubmitStream", PM_RPC_CLIENT_STREAM, pm_service_submit_stream},
    {"/proofmill.v1.Prover/Await", PM_RPC_UNARY, pm_service_await},
    {"/proofmill.v1.Prover/Watch", PM_RPC_SERVER_STREAM, pm_service_watch},
    {"/proofmill.v1.Prover/Cancel", PM_RPC_UNARY, pm_service_cancel},
    {"/proofmill.v1.Prover/ListJobs", PM_RPC_UNARY, pm_service_list_jobs},
    {"/proofmill.v1.Prover/RegisterKey", PM_RPC_UNARY_KEYS, pm_service_register_key},
    {"/proofmill.v1.Prover/PreloadKey", PM_RPC_UNARY_KEYS, pm_service_preload_key},
    {"/proofmill.v1.Prover/EvictKey", PM_RPC_UNARY_KEYS, pm_service_evict_key},
    {"/proofmill.v1.Prover/ForgetKey", PM_RPC_UNARY_KEYS, pm_service_forget_key},
    {"/proofmill.v1.Prover/ListKeys", PM_RPC_UNARY, pm_service_list_keys},
    {"/proofmill.v1.Prover/GetStatus", PM_RPC_UNARY, pm_service_get_status},
    {"/proofmill.v1.Prover/GetPlan", PM_RPC_UNARY_LONG, pm_service_get_plan},
    {"/proofmill.v1.Prover/RestoreDevice", PM_RPC_UNARY_LONG, pm_service_restore_device},
    {NULL, PM_RPC_UNARY, NULL},
};
