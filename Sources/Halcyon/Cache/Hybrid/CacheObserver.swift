/// Who hears of every access to an ``ImageCache`` and of everything that leaves it, without a gap, in the order in which the
/// cache decides; what an app listens to (``ImageCache/events(bufferingNewest:)``) may miss some.
protocol CacheObserver: Sendable {
    /// The cache was asked for something. Called on the caller's path.
    func accessed(_ access: RecordedAccess)
    /// Values left a tier. Called on the thread that caused it.
    func departed(_ type: CacheType, _ departures: [Departure])
    /// The app goes to the background or is about to end; calls `done` when everything is kept that is to be.
    func enteredBackground(done: @escaping @Sendable () -> Void)
}
