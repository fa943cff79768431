/// An observer of every access to an ``ImageCache`` and of every removal, without gaps, in the order of the cache's decisions.
/// The events of ``ImageCache/events(bufferingNewest:)`` may have gaps.
package protocol CacheObserver: AnyObject, Sendable {
    /// Handles an access. Called on the caller's path.
    func accessed(_ access: RecordedAccess)
    /// Handles removals from a tier. Called on the thread that caused them.
    func removed(_ type: CacheType, _ removals: [Removal])
    /// Handles that the app enters the background or is about to end.
    ///
    /// - Parameter done: called once the observer has saved its state.
    func enteredBackground(done: @escaping @Sendable () -> Void)
    /// Forgets all accesses until now.
    func forgetAccesses() async
    /// Stops, and returns when nothing is in flight and the state is saved.
    func stop() async
    /// The state that the next observer of the same cache starts with.
    var legacy: any Sendable { get }
}
