/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the status list. */
#include "trine/status.h"

#define STATUS_TEXT(name, text) text,
static const char *const status_texts[] = {TRI_STATUS_LIST(STATUS_TEXT)};
#undef STATUS_TEXT

const char *tri_status_text(tri_status status)
{
    if ((int)status < 0 || status >= TRI_NUM_STATUS)
        return "unknown status";
    return status_texts[status];
}
