/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/prometheus_check.h - whether a text is what Prometheus' exposition format 0.0.4 asks for.
 *
 * Written from the description of the format, not from what we print: names and labels by their
 * grammar, escapes, HELP and TYPE once and before the samples, all samples of a family together,
 * no series twice, values as numbers; counters end in _total, histograms are cumulative, end with
 * +Inf and have a sum and a count.
 */
#ifndef PM_TEST_DAEMON_PROMETHEUS_CHECK_H
#define PM_TEST_DAEMON_PROMETHEUS_CHECK_H

#include <stddef.h>

/* NULL: it is; else what is wrong, in a static buffer. */
const char *prometheus_fault(const char *text, size_t n_bytes);
/* Fails the test with the fault, if there is one. */
void prometheus_check(const char *text, size_t n_bytes);

#endif
