/// Puts something around a policy of the catalogue whose type the caller does not know: a checker, a recorder.
///
/// A cache made without one is compiled for its policy alone and pays nothing for this.
public protocol PolicyDecorator {
    /// A cache around `policy`, or around what it was wrapped in.
    func makeCache<Policy: EvictionPolicy & ~Copyable>(
        around policy: consuming Policy, context: PolicyContext
    ) -> CacheRun
}
