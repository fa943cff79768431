#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "CProcessor.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

unsigned halcyon_processor(void) {
#if defined(__linux__)
    // Since glibc 2.35 a look at what the kernel keeps in the thread's own memory; before, a call that stays in the process.
    int number = sched_getcpu();
    return number < 0 ? 0 : (unsigned)number;
#elif defined(__APPLE__)
    size_t number = 0;
    return pthread_cpu_number_np(&number) == 0 ? (unsigned)number : 0;
#else
    return (unsigned)((uintptr_t)pthread_self() >> 12);
#endif
}

uint64_t halcyon_stamp(void) {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t stamp;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(stamp));
    return stamp;
#else
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
#endif
}

void halcyon_wait(unsigned tries) {
    if (tries < 64) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        __asm__ volatile("yield");
#endif
    } else if (tries < 80) {
        sched_yield();
    } else {
        struct timespec span = {0, 20000};
        nanosleep(&span, 0);
    }
}

#if defined(__x86_64__)

// MXCSR: the exception flags are in bits 0 to 5. What remains is 0x1F80 by default: all exceptions masked, round to nearest,
// neither flush-to-zero nor denormals-are-zero.
uint64_t halcyon_float_enter(void) {
    unsigned control = __builtin_ia32_stmxcsr();
    if ((control & 0xFFC0) != 0x1F80) __builtin_ia32_ldmxcsr(0x1F80);
    return control;
}

void halcyon_float_leave(uint64_t control) {
    if ((control & 0xFFC0) != 0x1F80) __builtin_ia32_ldmxcsr((unsigned)control);
}

#elif defined(__aarch64__)

// FPCR: 0 is round to nearest, no flush-to-zero, no trap.
uint64_t halcyon_float_enter(void) {
    uint64_t control;
    __asm__ volatile("mrs %0, fpcr" : "=r"(control) : : "memory");
    if (control != 0) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0) : "memory");
    return control;
}

void halcyon_float_leave(uint64_t control) {
    if (control != 0) __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
}

#else

uint64_t halcyon_float_enter(void) { return 0; }

void halcyon_float_leave(uint64_t control) { (void)control; }

#endif
