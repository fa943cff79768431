import CPortableBLAS

/// The floating-point environment of IEEE 754 (round to nearest, subnormal numbers honoured), in force for one call.
///
/// A host application may have set another rounding mode or flush-to-zero on the thread that asks the cache. Both would change
/// what the learner computes, so its entry points set the standard environment and restore the host's:
///
///     let environment = FloatEnvironment.enter()
///     defer { environment.leave() }
///
/// Costs a few cycles where the thread has the standard environment already.
struct FloatEnvironment {
    private let control: UInt64

    /// Sets the standard environment for this thread.
    static func enter() -> FloatEnvironment { FloatEnvironment(control: halcyon_float_enter()) }

    /// Restores what was in force before.
    func leave() { halcyon_float_leave(control) }
}
