/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * gRPC and what comes with it are not built with a thread sanitizer, which sees their calls of libc
 * and not the atomics that order these. So calls of libc from within those libraries are left out.
 * As closing a descriptor is one of them, a number that is used again looks as if two threads had
 * it: closing is left out altogether. What else happens in this repository's code is looked at like
 * everywhere else.
 */
#if defined(__SANITIZE_THREAD__)

const char *__tsan_default_suppressions(void);

const char *__tsan_default_suppressions(void) {
    return "race:interceptor_close$\n"
           "race:interceptor_closedir$\n"
           "called_from_lib:libgrpc.so\n"
           "called_from_lib:libgpr.so\n"
           "called_from_lib:libupb.so\n"
           "called_from_lib:libssl.so\n"
           "called_from_lib:libcrypto.so\n"
           "called_from_lib:libabsl_random_internal_pool_urbg.so\n"
           "called_from_lib:libabsl_status.so\n"
           "called_from_lib:libabsl_time.so\n"
           "called_from_lib:libabsl_strings.so\n"
           "called_from_lib:libabsl_time_zone.so\n"
           "called_from_lib:libabsl_cord.so\n"
           "called_from_lib:libabsl_cord_internal.so\n"
           "called_from_lib:libabsl_graphcycles_internal.so\n"
           "called_from_lib:libabsl_synchronization.so\n"
           "called_from_lib:libstdc++.so\n";
}

#else

typedef int nothing_to_leave_out;

#endif
