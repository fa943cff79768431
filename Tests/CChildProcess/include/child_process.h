#ifndef HALCYON_CHILD_PROCESS_H
#define HALCYON_CHILD_PROCESS_H

#include <sys/types.h>

/* Starts a program that holds three descriptors and no other, whatever this process has open or opens meanwhile, and to which every
 * signal means what it means by default. streams: what it reads from, writes to and complains to, -1 for nothing. folder: where it
 * works, or NULL. Returns 0, or what errno would be. */
int child_start(pid_t *child, const char *path, char *const arguments[], char *const environment[], const char *folder,
                const int streams[3]);

/* A pipe of which no other child gets an end: ends[0] is read from. Returns 0, or what errno would be. */
int child_pipe(int ends[2]);

/* Waits until a child has ended; it can be asked for still. */
void child_wait(pid_t child);

/* Lets go of a child that has ended, or waits until it has. Returns its exit code, 256 and the signal that ended it, or -1 if this is
 * no child, as after this. */
int child_end(pid_t child);

/* Whether a child has ended; it can be asked for still. */
int child_has_ended(pid_t child);

#endif
