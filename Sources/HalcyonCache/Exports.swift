// The types of other modules that the interface of this module uses: policies, recorded accesses, the clock and the
// queues.
@_exported public import struct HalcyonAccessLogReading.RecordedAccess
@_exported public import HalcyonEviction
@_exported public import enum HalcyonSupport.CallbackQueue
@_exported public import protocol HalcyonSupport.CacheClock
@_exported public import struct HalcyonSupport.SystemClock
