/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/client_terminal.c - the terminal of `top`, and its return. */
#include "daemon/client_terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

/* The alternate screen, without a cursor. */
static const char enter[] = "\033[?1049h\033[?25l\033[H\033[2J";
static const char leave[] = "\033[?25h\033[?1049l";

static struct terminal {
    struct termios saved;
    bool has_keys; /* standard input is the terminal too */
    bool is_ours;
} terminal;

static volatile sig_atomic_t was_stopped, was_continued, was_resized;

/* What comes from a terminal that is gone goes nowhere: nothing can be done about it. */
static void put(const char *text, size_t n_bytes) {
    while (n_bytes > 0) {
        const ssize_t n = write(STDOUT_FILENO, text, n_bytes);
        if (n < 0 && errno != EINTR) {
            return;
        }
        text += n > 0 ? n : 0;
        n_bytes -= n > 0 ? (size_t)n : 0;
    }
}

/* Both are made of calls that a signal's handler may use. */
static void take(void) {
    if (terminal.has_keys) {
        struct termios raw = terminal.saved;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    put(enter, sizeof enter - 1);
    terminal.is_ours = true;
}

static void give_back(void) {
    if (terminal.is_ours) {
        terminal.is_ours = false;
        put(leave, sizeof leave - 1);
        if (terminal.has_keys) {
            (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal.saved);
        }
    }
}

static void on_flag(int number) {
    was_stopped |= number == SIGTSTP;
    was_continued |= number == SIGCONT;
    was_resized |= number == SIGWINCH;
}

/* Its default is in place again, and ends the process. */
static void on_fault(int number) {
    give_back();
    (void)raise(number);
}

static void handle(int number, void (*handler)(int number), int flags) {
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

bool pm_client_terminal_open(void) {
    static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGQUIT};
    terminal.has_keys = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &terminal.saved) == 0;
    if (!isatty(STDOUT_FILENO)) {
        return false;
    }
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        handle(faults[i], on_fault, (int)(SA_RESETHAND | SA_NODEFER));
    }
    handle(SIGTSTP, on_flag, 0);
    handle(SIGCONT, on_flag, 0);
    handle(SIGWINCH, on_flag, 0);
    take();
    return true;
}

void pm_client_terminal_close(void) {
    give_back();
    handle(SIGTSTP, SIG_DFL, 0);
}

void pm_client_terminal_size(uint32_t *columns, uint32_t *rows) {
    struct winsize size = {0};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
    *columns = is_known && size.ws_col > 1 ? size.ws_col : 80;
    *rows = is_known && size.ws_row > 0 ? size.ws_row : 24;
}

void pm_client_terminal_show(const char *lines) {
    static const char home[] = "\033[H", end_line[] = "\033[K", rest[] = "\033[J";
    put(home, sizeof home - 1);
    for (const char *line = lines; *line != '\0';) {
        const size_t n = strcspn(line, "\n");
        put(line, n);
        put(end_line, sizeof end_line - 1);
        line += n + (line[n] == '\n');
        if (*line != '\0') { /* behind the last row a newline would scroll */
            put("\r\n", 2);
        }
    }
    put(rest, sizeof rest - 1);
}

bool pm_client_terminal_attend(void) {
    bool is_stale = was_resized != 0;
    was_resized = 0;
    if (was_stopped) {
        was_stopped = 0;
        give_back();
        handle(SIGTSTP, SIG_DFL, 0);
        (void)raise(SIGTSTP); /* here the process stands until it is continued */
        handle(SIGTSTP, on_flag, 0);
        was_continued = 1;
    }
    if (was_continued) {
        was_continued = 0;
        take();
        is_stale = true;
    }
    return is_stale;
}

char pm_client_terminal_key(int timeout_ms) {
    struct pollfd ready = {.fd = terminal.has_keys ? STDIN_FILENO : -1, .events = POLLIN};
    char key = 0;
    if (poll(&ready, 1, timeout_ms) <= 0 || ready.revents == 0) {
        return 0;
    }
    const ssize_t n = read(STDIN_FILENO, &key, 1);
    return n == 1 ? key : n < 0 && errno == EINTR ? 0 : 'q';
}
