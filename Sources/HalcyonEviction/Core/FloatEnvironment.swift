import CProcessor

/// The floating-point environment of IEEE 754 (round to nearest, subnormal numbers honoured), in force for one call.
///
/// A host application may have set another rounding mode or flush-to-zero on the thread that asks a cache. Both would change
/// what policies compute. Caches made by the catalogue therefore set the standard environment and restore the host's:
///
/// ```swift
/// let environment = FloatEnvironment.enter()
/// defer { environment.leave() }
/// ```
///
/// Only a ``CacheCore`` that is used directly leaves this to its owner. Costs some nanoseconds.
public struct FloatEnvironment {
    /// The host's control bits; `nil` if nothing was set.
    @usableFromInline let control: UInt64?

    @usableFromInline
    init(control: UInt64?) { self.control = control }

    /// Sets the standard environment for this thread.
    public static func enter() -> FloatEnvironment { FloatEnvironment(control: halcyon_float_enter()) }

    /// Sets the standard environment for this thread if it is needed.
    @inlinable @inline(__always)
    public static func enter(if isNeeded: Bool) -> FloatEnvironment {
        isNeeded ? enter() : FloatEnvironment(control: nil)
    }

    /// Restores what was in force before.
    @inlinable @inline(__always)
    public func leave() { if let control { restore(control) } }

    @usableFromInline
    func restore(_ control: UInt64) { halcyon_float_leave(control) }
}
