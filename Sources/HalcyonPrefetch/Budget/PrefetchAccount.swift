/// What a ``PrefetchSpending`` keeps so that another goes on from it, such as that of the next start of an app.
public struct PrefetchAccount: Codable, Sendable, Equatable {
    let minute: PrefetchSpending.Sum
    let minuteNumber: Int64
    let day: PrefetchSpending.Sum
    let dayNumber: Int64
    let total: PrefetchSpending.Sum

    /// Whether all of these can have been spent, and be added to.
    var isSound: Bool {
        let range = 0...(1 << 53)
        return [minute, day, total].allSatisfy { range.contains($0.objects) && range.contains($0.bytes) }
    }
}
