import HalcyonEviction
import HalcyonPrefetch
import HalcyonSupport

/// What a server sends to each device in a replay, derived from the requests of all users: lists of objects, or rates of categories.
///
/// Time is divided into periods from the first request of the trace on. At its first request in a period, a device receives
/// the objects that all users requested most in the period before. If nothing was requested in that one, it receives nothing.
/// The most requested object is the first, of equal ones that with the lower number. The list knows nothing of the present
/// period. An entry has the object's key, its
/// size and categories at its last request, the time of its first request and, with ``hasCounts``, the number of
/// requests in that period.
///
/// With ``Content/rates`` a device receives how often all users had opened what was shown of each category before the present period,
/// in place of a list: an entry is a category.
///
/// ```swift
/// options.announcements = try AnnouncementOptions(parsing: "popular(count=100, every=1h)")
/// ```
public struct AnnouncementOptions: Sendable, Hashable, CustomStringConvertible {
    /// The accepted numbers of entries.
    public static let counts = 1...AnnouncedObject.longestList
    /// The accepted periods: one second to 366 days.
    public static let periods: ClosedRange<Int64> = 1_000_000...366 * 86_400 * 1_000_000
    /// The accepted sizes of an entry, in bytes.
    public static let entrySizes = 1...10_000

    /// What is sent.
    public enum Content: String, Sendable {
        /// The objects that all users requested most in the period before.
        case popular
        /// The openings by category of all users so far.
        case rates
    }

    /// What is sent. The default is ``Content/popular``.
    public var content = Content.popular
    /// The number of entries of a list. The default is 100. A list is shorter if fewer objects were requested.
    public var count: Int
    /// The length of a period, in microseconds. The default is one hour.
    public var period: Int64
    /// Whether an entry has the server's count. False by default.
    public var hasCounts: Bool
    /// The bytes of an entry, which a list takes from the network. The default is 64: a key of 32 hexadecimal digits, a size, a
    /// time, a count and some categories by number.
    public var entryBytes: Int

    /// Creates options. See the properties for the defaults.
    public init(count: Int = 100, period: Int64 = 3_600_000_000, hasCounts: Bool = false, entryBytes: Int = 64) {
        self.count = count
        self.period = period
        self.hasCounts = hasCounts
        self.entryBytes = entryBytes
    }

    /// Reads `popular`, or `popular(count=100, every=1h, counts=on, entry-bytes=64)` with any of the four; or `rates`, or
    /// `rates(every=1h, entry-bytes=64)`.
    ///
    /// - Throws: ``ReplayError/usage(_:)`` for other text, or a value out of range.
    public init(parsing text: String) throws(ReplayError) {
        self.init()
        let spec: PolicySpec
        do { spec = try PolicySpec(parsing: text) } catch { throw Self.fault(text) }
        guard let content = Content(rawValue: spec.name) else { throw Self.fault(text) }
        self.content = content
        for (number, setting) in spec.settings.enumerated() {
            if spec.settings[..<number].contains(where: { $0.name == setting.name }) {
                throw .usage("The announcements '\(text)' state '\(setting.name)' twice: state it once.")
            }
            switch setting.name {
            case "count" where content == .rates, "counts" where content == .rates: throw Self.fault(text)
            case "count": count = try Self.whole(setting, Self.counts, "entries of a list")
            case "entry-bytes": entryBytes = try Self.whole(setting, Self.entrySizes, "bytes of an entry")
            case "every":
                guard let span = try? TimeSpan(parsing: setting.value).microseconds, Self.periods.contains(span) else {
                    throw .usage("every=\(setting.value) is no period of announcements: give 1s to 366d, such as 1h.")
                }
                period = span
            case "counts":
                guard let isOn = ["on": true, "off": false][setting.value] else {
                    throw .usage("counts=\(setting.value) is neither on nor off.")
                }
                hasCounts = isOn
            default: throw Self.fault(text)
            }
        }
    }

    private static func fault(_ text: String) -> ReplayError {
        .usage(
            "'\(text)' describes no announcements: write popular(count=100, every=1h, counts=off, entry-bytes=64) "
                + "or rates(every=1h, entry-bytes=64).")
    }

    private static func whole(
        _ setting: PolicySpec.Setting, _ range: ClosedRange<Int>, _ what: String
    ) throws(ReplayError) -> Int {
        guard let value = Int(setting.value), range.contains(value) else {
            throw .usage(
                "\(setting.name)=\(setting.value) is no number of \(what): give \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return value
    }

    /// The notation that ``init(parsing:)`` reads, with every value.
    public var description: String {
        let every = "\(TimeSpan(microseconds: period))".filter { $0 != " " }
        if content == .rates { return "rates(every=\(every),entry-bytes=\(entryBytes))" }
        return "popular(count=\(count),every=\(every),counts=\(hasCounts ? "on" : "off"),"
            + "entry-bytes=\(entryBytes))"
    }
}
