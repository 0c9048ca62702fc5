/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One rank per process over any MPI-3: what the files of this folder share.
 *
 * Every operation is a small program of phases; a phase posts non-blocking messages and the next
 * one begins when all of them are done. Sums never go through MPI's own reduction:
 *
 *     all_reduce      phase 0   part p of every buffer goes to member p (staged there)
 *                     phase 1   member p sums its part in rank order and sends it to all
 *
 * MPI moves messages only while somebody calls it, so whoever waits moves all operations of its
 * world along; otherwise two ranks that end two operations in different orders would lock.
 *
 *   world.c     start, end, and leaving a failed run
 *   control.c   failure, and the search for the rank that does not come
 *   compare.c   members of a group that began different operations
 *   request.c   messages, staging, phases, end and test
 *   phases.c    the phases of each operation
 *   group.c     groups and their communicators
 *   table.c     the operations of comm.h on top of request.c
 */
#pragma once

#include "comm/backend.h"

#include <mpi.h>

/* Longer messages are cut, since MPI counts in int. A multiple of every element size. */
#define TRI_MPI_CHUNK_BYTES ((size_t)1 << 26)

/* Tags of one kind of operation: messages by channel, then collectives by number and phase. */
#define TRI_MPI_NUM_SEQUENCES 512
#define TRI_MPI_NUM_PHASES    32
#define TRI_MPI_NUM_TAGS      (TRI_NUM_CHANNELS + TRI_MPI_NUM_SEQUENCES * TRI_MPI_NUM_PHASES)

enum mpi_failure { MPI_NO_FAILURE, MPI_ABANDONED, MPI_LOST };

#define MPI_MOST_NAMED    16
#define MPI_HISTORY       1024
#define MPI_MOST_COMPARED 8

/* An operation that this rank began (compare.c). */
struct mpi_begun {
    unsigned group_id;
    struct tri_comm_call call;
    uint64_t sequence; /* 0: none */
    int channel, peer; /* of a message: peer is a world rank */
    uint64_t before;   /* of a collective: hash of all that were begun on the group before */
};

/* A message between ranks that are in trouble (control.c). */
struct mpi_control {
    int kind; /* enum control_kind */
    int from;
    int search;      /* of ask and its answer: the asker's search */
    int num_missing; /* at most MPI_MOST_NAMED */
    int missing[MPI_MOST_NAMED];
    int op;
    uint64_t sequence;
    int num_begun; /* of compare: what the sender waits in, and what it began on the group before */
    struct mpi_begun begun[MPI_MOST_COMPARED];
    char group_name[64];
    char text[TRI_COMM_TEXT];
};

/* A search for ranks that wait for nobody; all arrays [size]. */
struct mpi_search {
    bool is_running;
    int number; /* an answer to an earlier one counts no more */
    bool *is_asked, *has_answered;
    struct mpi_control last; /* an operation that somebody did not come to */
};

struct mpi_world {
    tri_world base;
    MPI_Comm control;  /* messages of struct mpi_control, nothing else */
    MPI_Comm arrivals; /* members of a group wait here for each other before they create it */
    bool is_ours;      /* we started MPI, so we end it */
    struct mpi_request *active, *unused;
    struct mpi_request *waits_for; /* while end waits */
    enum mpi_failure failure;
    int failed_rank;
    char failure_text[TRI_COMM_TEXT];
    struct mpi_search search;
    bool *has_left; /* [size] */
    struct mpi_outgoing *outgoing;
    int num_kinds; /* of operations that tags tell apart */
    uint64_t num_begun;
    struct mpi_begun history[MPI_HISTORY]; /* the last ones, in a ring */
};

struct mpi_group {
    tri_group base;
    MPI_Comm comm;
    unsigned id;      /* a hash of name and ranks */
    bool is_arriving; /* comm is the world's arrivals: peers are world ranks */
    int first_tag;    /* of collectives */
    uint64_t num_collectives;
    uint64_t before;        /* hash of all collectives begun so far */
    uint64_t *num_messages; /* [peer][received][channel] */
    void *lent;             /* staging that no operation holds; NULL: none */
    size_t lent_bytes;
};

struct mpi_request {
    struct tri_request base;
    struct mpi_request *next; /* active or unused */
    struct mpi_group *group;
    struct tri_comm_call call;
    uint64_t sequence;
    uint64_t before; /* of a collective: hash of those begun before it */
    int channel;     /* of a message */
    int phase;       /* the one under way */
    bool is_done;
    tri_status status;
    const void *in;
    void *out;
    char token; /* what a barrier receives */
    char *staging;
    size_t lent_bytes; /* of staging when it is the group's; 0: it is own_staging */
    /* Kept for the next operation that takes this request. */
    MPI_Request *waits; /* MPI_REQUEST_NULL once done */
    int *peers;         /* positions, one per wait */
    int num_waits, most_waits;
    char *own_staging;
    size_t own_bytes;
    int most_members;
    const void **inputs; /* [most_members] */
    int64_t *counts;     /* [4][most_members]: out, out first, in, in first */
};

/* control.c */
tri_status tri_mpi_failure(struct mpi_world *world);
/* Takes in what other ranks say about failures; never waits. */
void tri_mpi_control_poll(struct mpi_world *world);
void tri_mpi_abandon(tri_world *world, const char *why);
/* Asks the ranks that request waits for, and those they wait for, whether they wait. */
void tri_mpi_search_begin(struct mpi_world *world, struct mpi_request *request);
/* Names those that did not answer and fails the world. */
void tri_mpi_search_end(struct mpi_world *world, struct mpi_request *request);
/* Tells all ranks that this one ends; true when all others have said so within seconds. */
bool tri_mpi_leave(struct mpi_world *world, double seconds);
/* Finishes or drops what control sent. */
void tri_mpi_control_fini(struct mpi_world *world);

/* Asks the ranks that request waits for whether they began the same. */
void tri_mpi_compare_begin(struct mpi_world *world, struct mpi_request *request);

/* compare.c */
int tri_mpi_num_kinds(void);
/* Which of the kinds a message of bytes within call is of; both its sides come to the same. */
int tri_mpi_kind(const struct mpi_world *world, const struct mpi_request *request, size_t bytes);
/* Notes that request begins. */
void tri_mpi_history_add(struct mpi_world *world, struct mpi_request *request);
/* Fills in what request, which waits, and its rank have begun on the group. */
void tri_mpi_history_describe(const struct mpi_world *world, const struct mpi_request *request,
                              struct mpi_control *message);
/* Before a group of that name and ranks is made once more. */
void tri_mpi_history_forget(struct mpi_world *world, unsigned group_id);
/* True when this rank began something else where the sender of a compare did; text names both. */
bool tri_mpi_compare(const struct mpi_world *world, const struct mpi_control *message, char *text,
                     size_t bytes);

/* request.c */
tri_status tri_mpi_check(int rc, const tri_group *group, const char *call);
/* Takes a request with room for the operation and enters it; phases begin with tri_mpi_begin(). */
tri_status tri_mpi_request_take(struct mpi_group *group, const struct tri_comm_call *call,
                                const void *in, void *out, struct mpi_request **request);
tri_status tri_mpi_begin(struct mpi_request *taken, tri_request **request);
tri_status tri_mpi_end(tri_group *group, tri_request **request);
bool tri_mpi_test(tri_group *group, tri_request *request);
/* Post one message of the phase under way; bytes 0 posts nothing. */
tri_status tri_mpi_post_send(struct mpi_request *request, const void *from, size_t bytes, int peer);
tri_status tri_mpi_post_recv(struct mpi_request *request, void *to, size_t bytes, int peer);
void tri_mpi_nap(double waited_seconds);
void tri_mpi_requests_free(struct mpi_world *world);

/* phases.c */
/* Posts request->phase, or sets is_done when there is none. */
tri_status tri_mpi_phase(struct mpi_request *request);

/* group.c and table.c */
tri_status tri_mpi_group_create(tri_world *world, const char *name, const int *ranks, int size,
                                tri_error *err, tri_group **group);
void tri_mpi_group_destroy(tri_group *group);
void tri_mpi_lend_staging(tri_group *group, void *memory, size_t bytes);
tri_status tri_mpi_barrier_begin(tri_group *group, tri_request **request);
extern const struct tri_comm_ops tri_mpi_ops;
