// The clock and the queues that the interface of this module names.
@_exported public import enum HalcyonSupport.CallbackQueue
@_exported public import protocol HalcyonSupport.CacheClock
@_exported public import struct HalcyonSupport.SystemClock
