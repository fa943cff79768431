/// What an entry's own expiration says about the deadline after a hit; 8 bytes.
struct Renewal: BitwiseCopyable {
    /// The microseconds that a hit gives; `Int64.max` for ever, -1 where a hit changes nothing.
    let span: Int64

    /// A hit changes nothing.
    static let none = Renewal(span: -1)

    init(span: Int64) { self.span = span }

    init(_ expiration: StorageExpiration) {
        span =
            switch expiration {
            case .never: .max
            case .seconds, .days: max(expiration.deadline(from: 0), 0)
            case .date, .expired: -1
            }
    }

    /// The deadline after a hit at `time`; `nil` if it stays.
    @inline(__always)
    func deadline(from time: Int64) -> Int64? {
        if span < 0 { return nil }
        return span >= .max - time ? .max : time &+ span
    }
}

extension ExpirationExtending {
    /// The deadline after a hit at `time` on an entry with such a renewal; `nil` if it stays.
    @inline(__always)
    func deadline(from time: Int64, renewal: Renewal) -> Int64? {
        switch self {
        case .none: nil
        case .cacheTime: renewal.deadline(from: time)
        case .expirationTime(let expiration): expiration.deadline(from: time)
        }
    }
}
