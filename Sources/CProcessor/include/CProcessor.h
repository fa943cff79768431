// Which processor a thread runs on, waiting for another one to do something at once, and asking for memory ahead.
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

#endif
