#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "child_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

static int actions_of(posix_spawn_file_actions_t *actions, const char *folder, const int streams[3]) {
    int error = folder ? posix_spawn_file_actions_addchdir_np(actions, folder) : 0;
    for (int number = 0; number < 3 && !error; number++) {
        if (streams[number] < 0)
            error = posix_spawn_file_actions_addopen(actions, number, "/dev/null", number ? O_WRONLY : O_RDONLY, 0);
        else
            error = posix_spawn_file_actions_adddup2(actions, streams[number], number);
    }
#if !defined(__APPLE__)
    /* In the child, after the fork: what another thread of the parent opens cannot slip in between. */
    if (!error) error = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
    return error;
}

static int attributes_of(posix_spawnattr_t *attributes) {
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
#if defined(__APPLE__)
    flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
    sigset_t all, none;
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    sigemptyset(&none);
    int error = posix_spawnattr_setsigdefault(attributes, &all);
    if (!error) error = posix_spawnattr_setsigmask(attributes, &none);
    return error ? error : posix_spawnattr_setflags(attributes, flags);
}

int child_start(pid_t *child, const char *path, char *const arguments[], char *const environment[], const char *folder,
                const int streams[3]) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error) return error;
    error = posix_spawnattr_init(&attributes);
    if (!error) {
        error = actions_of(&actions, folder, streams);
        if (!error) error = attributes_of(&attributes);
        if (!error) error = posix_spawn(child, path, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int child_pipe(int ends[2]) {
#if defined(__APPLE__)
    return pipe(ends) ? errno : 0;
#else
    return pipe2(ends, O_CLOEXEC) ? errno : 0;
#endif
}

void child_wait(pid_t child) {
    siginfo_t info;
    while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
}

int child_end(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return -1;
    return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int child_has_ended(pid_t child) {
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != 0;
}
