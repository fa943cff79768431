// The policies, and the recorded access, the clock and the queues that the interface of this module names.
@_exported public import struct HalcyonAccessLogReading.RecordedAccess
@_exported public import HalcyonEviction
@_exported public import enum HalcyonSupport.CallbackQueue
@_exported public import protocol HalcyonSupport.CacheClock
@_exported public import struct HalcyonSupport.SystemClock
