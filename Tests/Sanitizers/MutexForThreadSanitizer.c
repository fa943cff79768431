/* Tells the thread sanitizer of the slow paths of Synchronization's Mutex.
 *
 * The fast paths are compiled into whoever calls them, so that the sanitizer sees their atomic operations: a lock acquires,
 * an unlock releases, at the address of the mutex. The slow ones, taken when two threads want it at once, lie in Swift's own
 * library, which is not compiled for the sanitizer: it would miss that who gets the mutex there comes after who gave it up,
 * and call every second access to what the mutex guards a race. Here they are what they are, and besides say so.
 *
 * Loaded before the library (LD_PRELOAD). The names are those of Swift 6.2 and 6.3; where one is not there the process ends, because a
 * run without it would tell nothing.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

extern void __tsan_acquire(void *) __attribute__((weak));
extern void __tsan_release(void *) __attribute__((weak));

static void *next(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) {
        fprintf(stderr, "%s is not there: this run would tell nothing\n", name);
        abort();
    }
    return found;
}

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define TRY_LOCK_SLOW "$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

static SWIFT void (*lock_real)(uint32_t thread, SELF);
static SWIFT bool (*try_lock_real)(SELF);
static SWIFT void (*unlock_real)(SELF);

__attribute__((constructor)) static void find(void) {
    // A program that the process starts, as the sanitizer does to name what it found; ended, it would take the report with it.
    if (!__tsan_acquire || !__tsan_release) return;
    lock_real = next(LOCK_SLOW);
    try_lock_real = next(TRY_LOCK_SLOW);
    unlock_real = next(UNLOCK_SLOW);
}

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void lock_slow(uint32_t thread, SELF) {
    lock_real(thread, self);
    __tsan_acquire(self);
}

SWIFT bool try_lock_slow(SELF) __asm__(TRY_LOCK_SLOW);
SWIFT bool try_lock_slow(SELF) {
    bool locked = try_lock_real(self);
    if (locked) __tsan_acquire(self);
    return locked;
}

SWIFT void unlock_slow(SELF) __asm__(UNLOCK_SLOW);
SWIFT void unlock_slow(SELF) {
    __tsan_release(self);
    unlock_real(self);
}
