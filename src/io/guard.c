/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOT_FREE = 0, SLOT_CLAIMED = 1, SLOT_LIVE = 2 };

struct guard_slot {
    atomic_int state;
    atomic_int has_faulted;
    _Atomic uintptr_t begin, end; /* page-aligned; valid while the state is SLOT_LIVE */
};

/* The handler reads these, so each access must be a plain atomic instruction. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_POINTER_LOCK_FREE == 2,
               "a signal handler can take no lock");

/* Process state by nature: a process has one SIGBUS disposition. */
static struct guard_slot slots[PM_GUARD_SLOTS];
static struct sigaction previous_action;
static atomic_bool is_installed;
static uintptr_t page_bytes;

static struct guard_slot *slot_of(uintptr_t address) {
    for (size_t i = 0; i < PM_GUARD_SLOTS; ++i) {
        struct guard_slot *slot = &slots[i];
        if (atomic_load_explicit(&slot->state, memory_order_acquire) == SLOT_LIVE &&
            address >= atomic_load_explicit(&slot->begin, memory_order_relaxed) &&
            address < atomic_load_explicit(&slot->end, memory_order_relaxed)) {
            return slot;
        }
    }
    return NULL;
}

/*
 * Replaces the faulting page and everything after it in the mapping by zero pages. The file ends
 * before this page, so nothing of it is lost; one fault then serves the whole tail, where page by
 * page a large key would take millions of signals and could run into the limit on mappings. Threads
 * that fault together each do the same, with the same outcome. mmap() is no more than a system
 * call, hence fit for a handler.
 */
static bool patch(uintptr_t address) {
    struct guard_slot *slot = slot_of(address);
    if (slot == NULL) {
        return false;
    }
    const uintptr_t page = address & ~(page_bytes - 1);
    const uintptr_t end = atomic_load_explicit(&slot->end, memory_order_relaxed);
    /* Before the pages: no reader may see a zero that the flag does not account for. */
    atomic_store_explicit(&slot->has_faulted, 1, memory_order_release);
    return mmap((void *)page, end - page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

static void call_previous(int number, siginfo_t *info, void *context) {
    if (previous_action.sa_flags & SA_SIGINFO) {
        previous_action.sa_sigaction(number, info, context);
    } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
        previous_action.sa_handler(number);
    } else {
        /* A fault cannot be ignored: with the default action back in place it repeats and ends the
         * process, with the core dump at the right instruction. A signal that was sent does not
         * repeat by itself. */
        struct sigaction fallback;
        memset(&fallback, 0, sizeof fallback);
        fallback.sa_handler = SIG_DFL;
        (void)sigaction(number, &fallback, NULL);
        if (info->si_code <= 0) {
            (void)raise(number);
        }
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    const int saved_errno = errno;
    /* si_code is positive for faults and not for signals that a process sent, whose si_addr is
     * meaningless. */
    if (info->si_code <= 0 || !patch((uintptr_t)info->si_addr)) {
        call_previous(number, info, context);
    }
    errno = saved_errno;
}

pm_status pm_guard_install_handler(pm_error *error) {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pm_status status = PM_OK;
    (void)pthread_mutex_lock(&mutex);
    if (!atomic_load(&is_installed)) {
        page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
        struct sigaction action;
        memset(&action, 0, sizeof action);
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        (void)sigemptyset(&action.sa_mask);
        /* previous_action is read by the handler, so it is filled before the handler can run. */
        if (sigaction(SIGBUS, NULL, &previous_action) != 0 ||
            sigaction(SIGBUS, &action, NULL) != 0) {
            status =
                pm_error_set_errno(error, PM_IO, errno, NULL, "cannot install the SIGBUS guard");
        } else {
            atomic_store(&is_installed, true);
        }
    }
    (void)pthread_mutex_unlock(&mutex);
    return status;
}

bool pm_guard_is_installed(void) {
    return atomic_load(&is_installed);
}

int32_t pm_guard_enter(const void *begin, size_t n_bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (int32_t i = 0; i < PM_GUARD_SLOTS; ++i) {
        struct guard_slot *slot = &slots[i];
        int expected = SLOT_FREE;
        if (atomic_compare_exchange_strong(&slot->state, &expected, SLOT_CLAIMED)) {
            const uintptr_t end = ((uintptr_t)begin + n_bytes + page - 1) & ~(page - 1);
            atomic_store_explicit(&slot->begin, (uintptr_t)begin, memory_order_relaxed);
            atomic_store_explicit(&slot->end, end, memory_order_relaxed);
            atomic_store_explicit(&slot->has_faulted, 0, memory_order_relaxed);
            atomic_store_explicit(&slot->state, SLOT_LIVE, memory_order_release);
            return i;
        }
    }
    return -1;
}

void pm_guard_leave(int32_t slot) {
    if (slot >= 0) {
        atomic_store_explicit(&slots[slot].state, SLOT_FREE, memory_order_release);
    }
}

bool pm_guard_has_faulted(int32_t slot) {
    return slot >= 0 && atomic_load_explicit(&slots[slot].has_faulted, memory_order_acquire) != 0;
}
