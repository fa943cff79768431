/// The counts of one run for one category or one user: a row of tidy data.
public struct Breakdown: Sendable, Codable, Equatable {
    /// The variable that the requests are divided by: `category` or `user`.
    public var by: String
    /// The name of the category or user.
    public var name: String
    /// The number of requests.
    public var requests: Int
    /// The number of requests that found their object.
    public var hits: Int
    /// The object hit ratio: hits by requests, 0…1.
    public var objectHitRatio: Double
    /// The byte hit ratio: bytes hit by bytes requested, 0…1.
    public var byteHitRatio: Double
    /// The total size of the misses, in the unit of the capacity.
    public var bytesFetched: Int

    /// Returns a row for each name, ordered by name.
    static func rows(by variable: String, _ tallies: [String: Tally]?) -> [Breakdown] {
        (tallies ?? [:]).sorted { $0.key < $1.key }.map { name, tally in
            Breakdown(
                by: variable, name: name, requests: tally.requests, hits: tally.hits,
                objectHitRatio: tally.objectHitRatio, byteHitRatio: tally.byteHitRatio,
                bytesFetched: tally.bytesFetched)
        }
    }
}
