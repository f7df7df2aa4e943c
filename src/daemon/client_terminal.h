/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/client_terminal.h - the terminal while `top` has it: the alternate screen, keys as they
 * are pressed, and its return whatever happens. There is one, and one thread that uses it.
 */
#ifndef PM_DAEMON_CLIENT_TERMINAL_H
#define PM_DAEMON_CLIENT_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* Takes the terminal that standard output is. It is given back by pm_client_terminal_close(), while
 * the process is stopped by Ctrl-Z, and when a fault ends it. False: it cannot be had. */
bool pm_client_terminal_open(void);
void pm_client_terminal_close(void);
/* Columns and rows; 80 and 24 where nobody knows. */
void pm_client_terminal_size(uint32_t *columns, uint32_t *rows);
/* Shows lines that each end with a newline, in place of what was there. */
void pm_client_terminal_show(const char *lines);
/* Stops the process when Ctrl-Z was pressed; true when what is shown must be shown anew. */
bool pm_client_terminal_attend(void);
/* The next key, after at most timeout_ms; 0: none. 'q' also when the keyboard is gone. */
char pm_client_terminal_key(int timeout_ms);

#endif
