/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_list.c - what there is: jobs, status. */
#include "daemon/client_view.h"

#include "base/status.h"

#include <inttypes.h>

/* The most that an answer lists. */
#define PAGE_JOBS 1000

static pm_status ask_page(struct pm_client *client, uint64_t after, ProtobufCMessage **answer) {
    Proofmill__V1__ListJobsRequest request = PROOFMILL__V1__LIST_JOBS_REQUEST__INIT;
    request.after = after;
    request.n_max = PAGE_JOBS;
    request.only_open = !client->options.all;
    return pm_client_ask(client, "ListJobs", &request.base,
                         &proofmill__v1__list_jobs_response__descriptor, pm_client_ask_ms(client),
                         answer);
}

/* Page by page, as there may be more than are worth holding: a table each, in JSON one list. */
pm_status pm_client_jobs(struct pm_client *client) {
    json_t *list = json_array();
    pm_status status = PM_OK;
    size_t n_jobs = 0;
    for (uint64_t after = 0, next = 0; status == PM_OK; after = next) {
        ProtobufCMessage *answer = NULL;
        status = ask_page(client, after, &answer);
        if (status != PM_OK) {
            break;
        }
        const Proofmill__V1__ListJobsResponse *page = (const void *)answer;
        struct pm_client_table table;
        struct pm_client_text text = {0};
        n_jobs += page->n_jobs;
        next = page->next_after;
        for (size_t i = 0; client->options.json && i < page->n_jobs; i++) {
            (void)json_array_append_new(list, pm_client_message_json(&page->jobs[i]->base));
        }
        pm_client_jobs_table(page->jobs, page->n_jobs, &table);
        if (page->n_jobs > 0) {
            pm_client_table_write(&table, page->n_jobs, 0, &text);
        }
        pm_client_table_free(&table);
        pm_client_message_free(answer);
        status = pm_client_print_text(client, &text);
        if (next <= after) {
            break;
        }
    }
    if (status == PM_OK && n_jobs == 0) {
        pm_client_say(client, client->options.all ? "there are no jobs" : "no job is open");
    }
    (void)json_object_set_new(client->result, "jobs", list);
    return status;
}

pm_status pm_client_status(struct pm_client *client) {
    const Proofmill__V1__Empty request = PROOFMILL__V1__EMPTY__INIT;
    ProtobufCMessage *answer = NULL;
    struct pm_client_text text = {0};
    PM_TRY(pm_client_ask(client, "GetStatus", &request.base, &proofmill__v1__status__descriptor,
                         pm_client_ask_ms(client), &answer));
    const struct pm_client_frame frame = {.address = client->address,
                                          .status = (const void *)answer,
                                          .error = "",
                                          .foot = "",
                                          .columns = UINT32_MAX};
    pm_client_frame_write(&frame, &text);
    pm_client_result(client, pm_client_message_json(answer));
    pm_client_message_free(answer);
    return pm_client_print_text(client, &text);
}
