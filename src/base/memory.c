/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/memory.h"

#include "base/checked.h"
#include "base/limits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A buffer is preceded by its header, in one block:
 *
 *     [ pad ][ header ][ buffer ...................... ]
 *     ^block           ^ aligned to PM_BUFFER_ALIGNMENT (to a page when mapped)
 *
 * From MAPPED_FROM_BYTES on a block is its own anonymous mapping: zero pages come from the kernel
 * untouched, and freeing gives them back at once. So is a secret block of any size: MADV_DONTDUMP
 * works on whole pages, which the heap shares with others.
 */
struct memory_header {
    struct pm_ledger *ledger;
    struct pm_ledger_note note; /* of the allocation; its mechanism says where the block is from */
    uint64_t bytes;
    uint64_t block_bytes; /* of a mapping */
    uint32_t flags;
    uint32_t magic;
};
_Static_assert(sizeof(struct memory_header) == PM_BUFFER_ALIGNMENT, "keeps the buffer aligned");

#define MAPPED_FROM_BYTES (256u * 1024u)
#define MAGIC_LIVE UINT32_C(0x6c6c696d) /* "mill" */

static struct memory_header *header_of(const void *buffer) {
    return (struct memory_header *)((uintptr_t)buffer - sizeof(struct memory_header));
}

static void *block_from_heap(uint64_t bytes) {
    void *block = NULL;
    if (posix_memalign(&block, PM_BUFFER_ALIGNMENT, bytes) != 0) {
        return NULL;
    }
    memset(block, 0, bytes);
    return block;
}

static void *block_from_kernel(uint64_t bytes, enum pm_memory_flags flags) {
    void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED) {
        return NULL;
    }
    /* Both are hints: a kernel without them costs speed or a larger dump, nothing else. */
    if (bytes >= MAPPED_FROM_BYTES) {
        (void)madvise(block, bytes, MADV_HUGEPAGE);
    }
    if (flags & PM_MEMORY_SECRET) {
        (void)madvise(block, bytes, MADV_DONTDUMP);
    }
    return block;
}

enum pm_mechanism pm_memory_mechanism(uint64_t bytes, enum pm_memory_flags flags) {
    return bytes >= MAPPED_FROM_BYTES || (flags & PM_MEMORY_SECRET) != 0 ? PM_BY_MMAP : PM_BY_HEAP;
}

pm_status pm_memory_alloc_noted(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                                uint64_t bytes, enum pm_memory_flags flags, void **out,
                                pm_error *error) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const enum pm_mechanism mechanism = pm_memory_mechanism(bytes, flags);
    const bool mapped = mechanism == PM_BY_MMAP;
    const uint64_t lead = mapped ? page_bytes : sizeof(struct memory_header);
    uint64_t block_bytes = 0;
    void *block = NULL;
    /* PTRDIFF_MAX is malloc's own bound: beyond it pointer differences are undefined. */
    if (pm_checked_add_u64(bytes, lead + page_bytes, &block_bytes) && block_bytes <= PTRDIFF_MAX) {
        block_bytes =
            mapped ? (bytes + lead + page_bytes - 1) / page_bytes * page_bytes : bytes + lead;
        block = mapped ? block_from_kernel(block_bytes, flags) : block_from_heap(block_bytes);
    }
    if (block == NULL) {
        pm_error_set(error, PM_NO_MEMORY, "cannot allocate %llu bytes for %s",
                     (unsigned long long)bytes, note->name);
        pm_error_need_have(error, bytes, 0);
        return PM_NO_MEMORY;
    }
    void *buffer = (char *)block + lead;
    struct memory_header *header = header_of(buffer);
    *header = (struct memory_header){.ledger = ledger,
                                     .note = *note,
                                     .bytes = bytes,
                                     .block_bytes = block_bytes,
                                     .flags = (uint32_t)flags,
                                     .magic = MAGIC_LIVE};
    header->note.pool = PM_POOL_HOST;
    header->note.mechanism = (uint8_t)mechanism;
    pm_ledger_allocated(ledger, &header->note, bytes);
    *out = buffer;
    return PM_OK;
}

pm_status pm_memory_alloc_array_noted(struct pm_ledger *ledger, const struct pm_ledger_note *note,
                                      uint64_t n, uint64_t element_bytes,
                                      enum pm_memory_flags flags, void **out, pm_error *error) {
    uint64_t bytes = 0;
    if (!pm_checked_mul_u64(n, element_bytes, &bytes)) {
        PM_FAIL(error, PM_NO_MEMORY, "cannot allocate %llu elements of %llu bytes for %s",
                (unsigned long long)n, (unsigned long long)element_bytes, note->name);
    }
    return pm_memory_alloc_noted(ledger, note, bytes, flags, out, error);
}

pm_status pm_memory_grow(void **buffer, uint64_t bytes, pm_error *error) {
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const struct memory_header *header = header_of(*buffer);
    void *block = MAP_FAILED;
    if (bytes <= header->bytes) {
        return PM_OK;
    }
    const uint64_t block_bytes =
        (bytes / page_bytes + 2) * page_bytes; /* the header's page first */
    if (bytes <= PTRDIFF_MAX - 2 * page_bytes && header->note.mechanism == PM_BY_MMAP &&
        header->ledger == NULL) {
        block =
            mremap((char *)*buffer - page_bytes, header->block_bytes, block_bytes, MREMAP_MAYMOVE);
    }
    if (block == MAP_FAILED) {
        pm_error_set(error, PM_NO_MEMORY, "cannot allocate %llu bytes for %s",
                     (unsigned long long)bytes, header->note.name);
        pm_error_need_have(error, bytes, 0);
        return PM_NO_MEMORY;
    }
    *buffer = (char *)block + page_bytes;
    header_of(*buffer)->bytes = bytes;
    header_of(*buffer)->block_bytes = block_bytes;
    return PM_OK;
}

uint64_t pm_memory_bytes(const void *buffer) {
    return buffer == NULL ? 0 : header_of(buffer)->bytes;
}

/*
 * Wipes what a mapping, or whole pages of it, hold. Pages that nobody has touched are zero as they
 * are, and wiping them would have the kernel bring each of them; those it has moved to swap are out
 * of reach.
 */
static void wipe_pages(char *at, uint64_t bytes, uint64_t page_bytes) {
    unsigned char resident[512];
    const uint64_t step_bytes = sizeof resident * page_bytes;
    for (uint64_t done = 0; done < bytes; done += step_bytes) {
        const uint64_t left = bytes - done;
        const uint64_t n_pages =
            ((left < step_bytes ? left : step_bytes) + page_bytes - 1) / page_bytes;
        const bool is_known = mincore(at + done, n_pages * page_bytes, resident) == 0;
        for (uint64_t i = 0; i < n_pages; ++i) {
            if (!is_known || (resident[i] & 1) != 0) {
                pm_memory_wipe(at + done + i * page_bytes, page_bytes);
            }
        }
    }
}

void pm_memory_wipe_piece(void *buffer, uint64_t begin, uint64_t end) {
    char *at = (char *)buffer + begin;
    if (header_of(buffer)->note.mechanism == PM_BY_MMAP) {
        wipe_pages(at, end - begin, (uint64_t)sysconf(_SC_PAGESIZE));
    } else {
        pm_memory_wipe(at, end - begin);
    }
}

void pm_memory_wiped(void *buffer) {
    header_of(buffer)->flags &= ~(uint32_t)PM_MEMORY_SECRET;
}

/* at: what the ledger is told of the release; NULL: nothing but the allocation's own note. */
static void free_buffer(void *buffer, const struct pm_ledger_note *at) {
    if (buffer == NULL) {
        return;
    }
    struct memory_header header = *header_of(buffer);
    if (header.magic != MAGIC_LIVE) {
        abort(); /* A double free is our own bug, and going on would corrupt a stranger's memory. */
    }
    header_of(buffer)->magic = 0;
    if ((header.flags & PM_MEMORY_SECRET) != 0) {
        pm_memory_wipe_piece(buffer, 0, header.bytes);
    }
    if (at != NULL) {
        header.note.step = at->step;
        header.note.in_device_lock = at->in_device_lock;
    }
    pm_ledger_released(header.ledger, &header.note, header.bytes);
    if (header.note.mechanism == PM_BY_MMAP) {
        (void)munmap((char *)buffer - sysconf(_SC_PAGESIZE), header.block_bytes);
    } else {
        free(header_of(buffer));
    }
}

void pm_memory_free(void *buffer) {
    free_buffer(buffer, NULL);
}

void pm_memory_free_noted(void *buffer, uint16_t step, bool in_device_lock) {
    free_buffer(buffer,
                &(const struct pm_ledger_note){.step = step, .in_device_lock = in_device_lock});
}

void pm_memory_wipe(void *buffer, size_t bytes) {
    explicit_bzero(buffer, bytes);
}
