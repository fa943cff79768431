/// A limit of bytes a second: after each piece nothing is taken for as long as the piece should have needed.
///
/// libcurl has a limit of its own, which lets some megabytes through before it begins.
final class SpeedLimit {
    /// The limit.
    let bytesPerSecond: Int
    /// When the next piece may be taken.
    private(set) var freeAt = ContinuousClock.now

    /// A limit; `nil` where 0 says that there is none.
    init?(bytesPerSecond: Int) {
        guard bytesPerSecond > 0 else { return nil }
        self.bytesPerSecond = bytesPerSecond
    }

    /// Counts a piece that is taken.
    func take(_ count: Int, at now: ContinuousClock.Instant) {
        freeAt = max(freeAt, now).advanced(by: .seconds(Double(count) / Double(bytesPerSecond)))
    }
}
