// Which processor a thread runs on, waiting for another one to do something at once, asking for memory ahead, and the
// floating-point environment.
#ifndef HALCYON_CPROCESSOR_H
#define HALCYON_CPROCESSOR_H

#include <stdint.h>

// The number of the processor that the calling thread runs on, from 0; out of date as soon as it is known. Where the system does
// not tell, a number that is the same for a thread all its life.
unsigned halcyon_processor(void);

// A count that only grows, at the same pace for all processors: what happened after something else, on whichever processor, has no
// lower one, unless less than some ten nanoseconds lie between the two. Its unit is the machine's own.
uint64_t halcyon_stamp(void);

// Waits a little, longer the more often it was done before in vain: some cycles, then whatever else wants the processor has its turn,
// then 20 microseconds pass, so that a thread of a lower priority comes to run.
void halcyon_wait(unsigned tries);

// Has the processor fetch what lies at an address into its cache, without waiting for it; of an address that is not valid nothing comes.
static inline void halcyon_prefetch(const void *_Nonnull address) { __builtin_prefetch(address); }

// Sets this thread's floating-point environment to that of IEEE 754 (round to nearest, ties to even; subnormal numbers honoured)
// and returns the control bits that were in force, for halcyon_float_leave.
uint64_t halcyon_float_enter(void);

// Restores the control bits that halcyon_float_enter returned.
void halcyon_float_leave(uint64_t control);

#endif
