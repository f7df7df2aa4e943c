/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/rpc_internal.h - what the files of the transport share.
 *
 *     rpc_server.c   start, stop; the threads that poll gRPC's completion queue
 *     rpc_listen.c   addresses and sockets        rpc_tls.c    certificates
 *     rpc_accept.c   connections, before they are gRPC's
 *     rpc_call.c     one call, from its headers to its end
 *     rpc_message.c  bytes in and out             rpc_pool.c   the threads that run handlers
 *     rpc_hold.c     how many bytes, and how many calls of each connection, there are
 *     rpc_park.c     calls that wait for a job: events, timeouts, samples
 *
 * A call is an actor: what is to be done for it is a bit in `todo`, and one thread of the pool at a
 * time does it. Whoever sets the first bit queues the call. A call has ended when `has_ended` is
 * set, which one thread does, once, under the call's lock; from then on no handler is begun for it,
 * and the last thing done is TODO_END. The struct lives for as long as somebody counts on it:
 * `n_refs` has one reference until TODO_END is done, and one each for a batch that gRPC has under
 * way, a place in the pool's queue and a place among those who wait.
 *
 * Locks are taken in this order: waiting room, call, then pool or the list of calls, which are
 * leaves. The engine is never called under a lock of a call, a pool or the list.
 */
#ifndef PM_DAEMON_RPC_INTERNAL_H
#define PM_DAEMON_RPC_INTERNAL_H

#include "daemon/rpc.h"

#include <grpc/byte_buffer.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>

#define RPC_MS UINT64_C(1000000)
#define RPC_LISTEN_MAX 16  /* addresses */
#define RPC_SOCKETS_MAX 32 /* that they are; a name may have several */
#define RPC_FRONTS 2
#define RPC_POLLERS 2
#define RPC_SLOTS 64       /* calls that gRPC may hand over before it is asked again */
#define RPC_SENTENCE 1024  /* bytes of a status's sentence at most */
#define RPC_BUCKETS 256    /* of the waiting room's table, a power of two */
#define RPC_SAMPLE_MS 250  /* between two looks at a job whose phases are watched */
#define RPC_CANCEL_MS 2000 /* between ending calls politely and tearing their streams down */
#define RPC_RECEIVE_MS 600000
#define RPC_CODES 17
/* Of the bytes that may be held, so many are for messages to come in: a quarter, at most this. */
#define RPC_GRPC_SHARE 4
#define RPC_GRPC_BYTES_MAX (UINT64_C(32) << 20)
/* A connection has at most so many calls under way for each that is left free. */
#define RPC_CALLS_A_FREE_ONE 3

/* ---- Batches -------------------------------------------------------------------------------- */

enum rpc_tag_kind { RPC_TAG_CALL, RPC_TAG_RECEIVED, RPC_TAG_CLOSED, RPC_TAG_SENT, RPC_TAG_STOPPED };

/* What a completion's tag points to. */
struct rpc_tag {
    enum rpc_tag_kind kind;
    void *owner; /* a slot, a call, the server */
};

/* A message on its way out. */
struct rpc_message {
    struct rpc_message *next;
    grpc_byte_buffer *bytes;
};

/* ---- A call --------------------------------------------------------------------------------- */

enum rpc_todo {
    RPC_TODO_MESSAGE = 1, /* a message, or the end of the stream, for the handler */
    RPC_TODO_RESUME = 2,
    RPC_TODO_LOOK = 4, /* whether the job that is watched has changed meanwhile */
    RPC_TODO_END = 8
};

/* What of a job somebody who watches it is told. */
struct rpc_look {
    uint32_t state, n_parts_done, n_retries, n_ahead;
    int32_t device;
    uint64_t phase_done, phase_total;
    char phase[32], waits_for[128];
};

struct pm_rpc_call {
    struct pm_rpc_server *server;
    const struct pm_rpc_method *method; /* NULL: it is refused */
    grpc_call *grpc;
    bool is_local;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
    pm_control control;
    volatile int is_cancelled; /* control's */
    struct rpc_tag on_received, on_closed, on_sent;
    int n_refs;                         /* atomic */
    uint64_t receiving_since_ns;        /* atomic; 0: it is not */
    bool is_over;                       /* atomic: has_ended, for those without the lock */
    struct pm_rpc_call *before, *after; /* server->calls */
    struct pm_rpc_call *queued_next;    /* pool */

    pthread_mutex_t lock;
    uint32_t todo;
    bool is_queued, is_running;
    bool is_at_end; /* the caller sends no more */
    bool has_ended, was_cut;
    struct rpc_peer *peer; /* whose call it is; under the server's lock; NULL: it is not counted */
    bool metadata_sent, status_wanted, status_sent, is_sending, is_broken;
    grpc_byte_buffer *received; /* written by gRPC while a batch is under way */
    int close_cancelled;        /* so too */
    enum pm_rpc_code code;
    char sentence[RPC_SENTENCE];
    const char *reason; /* static; NULL: none */
    grpc_metadata trailing;
    struct rpc_message *unsent, **unsent_tail;
    void *state;
    void (*gone)(struct pm_rpc_call *call, void *state, bool was_cut);

    /* A bucket's list, under the waiting room's lock: neighbours change these. */
    struct pm_rpc_call *room_next, **room_link;
    /* Waiting for a job: under that lock and the call's to change, either to read. */
    bool is_parked;
    uint64_t job, timeout_at_ns; /* UINT64_MAX: none */
    bool every_change, has_looked;
    struct rpc_look looked; /* what it was told last */
    uint64_t looked_job;    /* and of which job */
    bool did_park;          /* in this run of a handler */
    pm_rpc_resume *resume;
    enum pm_rpc_wake wake;
};

/* ---- The server's parts ---------------------------------------------------------------------- */

/* gRPC's server for local callers, and the one for the others: so a call's way in is known from
 * where it arrives, and from nothing that it says. */
struct rpc_front {
    grpc_server *grpc;
    struct rpc_tag on_stopped;
    struct rpc_slot *slots; /* RPC_SLOTS */
    bool is_local;
};

struct rpc_slot {
    struct rpc_tag tag;
    struct pm_rpc_server *server;
    struct rpc_front *front;
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
};

struct rpc_pool {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct pm_rpc_call *first, **last;
    bool is_closing;
    uint32_t n_threads;
    pthread_t *threads;
};

struct rpc_room {
    pthread_mutex_t lock;
    pthread_cond_t changed; /* for the clock; CLOCK_MONOTONIC */
    struct pm_rpc_call *buckets[RPC_BUCKETS];
    uint32_t n_parked, n_watching;
    uint64_t next_timeout_ns; /* not above any in the room */
    bool is_closing;          /* the threads are to end */
    bool engine_stops;        /* no job ends any more */
    bool has_clock, has_events;
    pthread_t clock, events;
};

/* The far end of a connection, as gRPC names it, with the calls of it that are under way. */
struct rpc_peer {
    struct rpc_peer *next;
    uint32_t n_calls;
    char name[128];
};

/* What is held of what callers have sent. gRPC's quota is the rest. */
struct rpc_hold {
    pthread_mutex_t lock; /* a leaf */
    grpc_resource_quota *quota;
    uint64_t n_bytes, n_bytes_max, all_bytes_max; /* UINT64_MAX: no bound */
};

/* One socket that listens. */
struct rpc_listener {
    int fd;                  /* -1: it is gRPC's */
    struct rpc_front *front; /* where its callers go */
    char *path;              /* of a unix socket; NULL: TCP */
    dev_t device;            /* of the socket's file, */
    ino_t inode;             /* so that nobody else's is removed */
};

enum rpc_place { RPC_PLACE_FREE, RPC_PLACE_WAITING, RPC_PLACE_GIVEN };

/* A connection without TLS. */
struct rpc_connection {
    enum rpc_place state; /* WAITING: for its first bytes; GIVEN: to gRPC, which closes it */
    int fd;
    ino_t inode;
    struct rpc_front *front;
    uint64_t until_ns;
    bool has_said_a_part;
};

/* The thread that accepts. */
struct rpc_doorman {
    grpc_server_credentials *plain;
    struct rpc_connection *places; /* n_places */
    struct pollfd *polled;
    uint32_t n_places, n_taken;
    int spare;   /* a file to be without for a moment; -1: none */
    int bell[2]; /* a pipe; when its far end is closed, the thread ends */
    bool has_bell, has_thread;
    pthread_t thread;
    uint64_t warned_ns;
};

struct pm_rpc_server {
    const struct pm_rpc_method *const *services;
    uint32_t n_services;
    void *user;
    pm_engine *engine;
    void (*log)(void *log_user, pm_log_level level, const char *sentence);
    void *log_user;
    uint32_t n_calls_max;
    uint64_t message_bytes_max, receive_ns_max;

    struct rpc_front fronts[RPC_FRONTS];
    grpc_completion_queue *queue;
    uint64_t n_handed_over; /* atomic */
    bool has_grpc, is_stopping;
    struct rpc_listener listeners[RPC_SOCKETS_MAX];
    uint32_t n_listeners;
    uint16_t ports[RPC_LISTEN_MAX]; /* of options' listen[] */
    uint32_t n_ports;
    struct rpc_doorman doorman;
    pthread_t pollers[RPC_POLLERS];
    uint32_t n_pollers;
    struct rpc_pool quick, slow, keys; /* slow: handlers that read files */
    struct rpc_room room;
    struct rpc_hold hold;

    pthread_mutex_t lock; /* the list of calls */
    pthread_cond_t less;  /* a call has gone, or gRPC has stopped; CLOCK_MONOTONIC */
    struct pm_rpc_call *calls;
    uint32_t n_live;                     /* in the list */
    uint32_t n_under_way;                /* of them, those that are not refused */
    struct rpc_peer *peers[RPC_BUCKETS]; /* that have any under way */
    uint32_t n_stopped;                  /* fronts that take no more calls and have none */
    uint64_t n_calls, n_refused, n_by_code[RPC_CODES];
};

/*
 * gRPC orders what is done before a batch begins before what is done when it is complete. It does
 * so by means that a thread sanitizer cannot see, as it is not built with one; this is the same
 * order once more, at the price of an atomic addition.
 */
static inline void rpc_hand_over(struct pm_rpc_server *server) {
    (void)__atomic_fetch_add(&server->n_handed_over, 1, __ATOMIC_RELEASE);
}
static inline void rpc_take_over(struct pm_rpc_server *server) {
    (void)__atomic_load_n(&server->n_handed_over, __ATOMIC_ACQUIRE);
}

/* Says a sentence to the server's log. */
__attribute__((format(printf, 3, 4))) void rpc_log(struct pm_rpc_server *server, pm_log_level level,
                                                   const char *format, ...);
/* A mutex, and a condition for pm_clock_wait_until(). */
pm_status rpc_lock_init(pthread_mutex_t *lock, pthread_cond_t *condition, pm_error *error);

/* ---- rpc_listen.c, rpc_tls.c ---------------------------------------------------------------- */

/* Binds every address; the fronts have not started yet. */
pm_status rpc_listen(struct pm_rpc_server *server, const struct pm_rpc_options *options,
                     pm_error *error);
/* Closes the sockets, and removes the files of those that are still this server's. */
void rpc_listen_end(struct pm_rpc_server *server);
/* Reads the PEM files; release with grpc_server_credentials_release(). */
pm_status rpc_tls_credentials(const struct pm_rpc_options *options,
                              grpc_server_credentials **credentials, pm_error *error);

/* ---- rpc_accept.c --------------------------------------------------------------------------- */

pm_status rpc_doorman_start(struct pm_rpc_server *server, uint32_t n_connections_max,
                            pm_error *error);
/* Before the fronts are shut down. */
void rpc_doorman_stop(struct pm_rpc_server *server);

/* ---- rpc_call.c ----------------------------------------------------------------------------- */

/* Takes over what gRPC has put into a slot. */
void rpc_call_begin(struct pm_rpc_server *server, struct rpc_slot *slot);
/* A batch of the call is complete; success as gRPC says it. */
void rpc_call_complete(struct pm_rpc_call *call, enum rpc_tag_kind kind, bool success);
/* Does one thing that is to be done; on a thread of the pool, which hands its reference over. */
void rpc_call_run(struct pm_rpc_call *call);
/* Ends the call with a status of the server's own, if it has not ended yet. */
__attribute__((format(printf, 3, 4))) void
rpc_call_cut(struct pm_rpc_call *call, enum pm_rpc_code code, const char *format, ...);
/* Under the call's lock. */
void rpc_call_schedule(struct pm_rpc_call *call, enum rpc_todo todo);
void rpc_call_ref(struct pm_rpc_call *call);
/* False: it is being destroyed. For those who find it in a list. */
bool rpc_call_try_ref(struct pm_rpc_call *call);
/* Not under the call's lock. */
void rpc_call_unref(struct pm_rpc_call *call);

/* ---- rpc_message.c -------------------------------------------------------------------------- */

/* A received message as one piece: bytes point into it or into *copy. */
struct rpc_flat {
    struct pm_rpc_server *server;
    grpc_byte_buffer *buffer;
    uint8_t *copy; /* NULL: it was one piece already */
    const uint8_t *bytes;
    size_t n_bytes;
    uint64_t n_held; /* of copy */
};
/* Takes the buffer over in any case. Errors: NO_MEMORY, BUDGET_BUSY (more is held than may be). */
pm_status rpc_flatten(struct pm_rpc_server *server, grpc_byte_buffer *buffer,
                      struct rpc_flat *flat);
/* Wipes and frees. */
void rpc_flat_free(struct rpc_flat *flat);
/* The same for a message that nobody has looked at; NULL is fine. */
void rpc_buffer_wipe(grpc_byte_buffer *buffer);
/* NULL: no memory. */
struct rpc_message *rpc_message_new(const void *bytes, size_t n_bytes);
void rpc_message_free(struct rpc_message *message);

/* ---- rpc_hold.c ----------------------------------------------------------------------------- */

/* Makes the quota for so many bytes in all. */
void rpc_hold_start(struct rpc_hold *hold, uint64_t all_bytes_max);
/* Once no call is left, before gRPC is shut down. */
void rpc_hold_stop(struct rpc_hold *hold);
bool rpc_hold_take(struct rpc_hold *hold, uint64_t n_bytes);
void rpc_hold_give_back(struct rpc_hold *hold, uint64_t n_bytes);
/* Under the server's lock: counts a call of the connection, named as gRPC does. False: it has more
 * than its share of the calls, or there are too many in all; *n_of_peer is how many it has. */
bool rpc_peer_enter(struct pm_rpc_server *server, struct pm_rpc_call *call, const char *name,
                    uint32_t *n_of_peer);
void rpc_peer_leave(struct pm_rpc_server *server, struct pm_rpc_call *call);

/* ---- rpc_pool.c ----------------------------------------------------------------------------- */

pm_status rpc_pool_start(struct rpc_pool *pool, uint32_t n_threads, pm_error *error);
/* Queues a call, with a reference that goes to the thread that runs it. */
void rpc_pool_put(struct rpc_pool *pool, struct pm_rpc_call *call);
/* The threads end when nothing is queued any more. */
void rpc_pool_stop(struct rpc_pool *pool);

/* ---- rpc_park.c ----------------------------------------------------------------------------- */

pm_status rpc_room_start(struct pm_rpc_server *server, pm_error *error);
void rpc_room_stop(struct pm_rpc_server *server);
/* Takes a call that has ended out of the waiting room, if it is there. */
void rpc_room_leave(struct pm_rpc_call *call);
/* Whether the job that a parked call watches is another now; wakes it then. */
void rpc_room_look(struct pm_rpc_call *call);
/* Fails calls whose message takes too long to arrive; the clock does so now and then. */
void rpc_server_expire(struct pm_rpc_server *server, uint64_t now_ns);

#endif
