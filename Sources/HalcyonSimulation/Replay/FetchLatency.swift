import HalcyonTrace

/// How long a fetch takes in a replay with prefetching.
///
/// A fetch is in time if it ends strictly before the time stamp of the request. A request while its object is in
/// flight is a miss that joins the transfer. So requests of one user within the latency, and all to which a trace
/// gives one time, are simultaneous: what is
/// fetched because of the first of them serves none of the others.
///
/// Two requests whose stamps differ by d, at a resolution of r, came d − r to d + r apart. At a latency of r or a
/// multiple of it, a fetch that is in time here was in time. A shorter one stands for any time up to 2r, and reports
/// say so (`PrefetchResult.isBelowResolution`).
public enum FetchLatency: Sendable, Equatable {
    /// The same for each object, in microseconds.
    case fixed(Int64)
    /// ``LatencyModel/network``, and the size of the object over ``LatencyModel/bandwidth``. Where every object counts 1, only the
    /// former.
    case modelled(LatencyModel)
    /// As long as the log's own fetches of the object took, in the median; an object without any takes the median of all.
    case measured(MeasuredFetches)

    /// Fetches that take no time, which no network has: each is held before the next request, even of the same time.
    public static let ideal = FetchLatency.fixed(0)
    /// The default: 150 ms and the size over 5 MB/s.
    public static let standard = FetchLatency.modelled(LatencyModel())

    /// Whether fetches take no time.
    package var isIdeal: Bool { self == .ideal }

    /// The latency of a fetch of no bytes, in microseconds; the median of measured fetches.
    package var shortest: Int64 {
        switch self {
        case .fixed(let latency): latency
        case .modelled(let model): Int64((model.network * 1_000).rounded())
        case .measured(let fetches): fetches.median ?? 0
        }
    }

    /// The bandwidth in bytes a second. Nil if sizes do not matter.
    package var bandwidth: Double? {
        if case .modelled(let model) = self { model.bandwidth } else { nil }
    }

    /// Returns the latency of a fetch of an object of so many bytes, in microseconds. O(1).
    func latency(ofObject object: UInt32, bytes size: Int) -> Int64 {
        if case .measured(let fetches) = self { return fetches.duration(ofObject: object) }
        guard let bandwidth else { return shortest }
        let transfer = (Double(max(size, 0)) / bandwidth * 1e6).rounded()
        return shortest + Int64(min(transfer, 0x1p62))
    }
}

extension FetchLatency: CustomStringConvertible {
    /// The latency for people: `500 ms`, `150 ms + size / (5.0 MB/s)`, `as recorded (median of 93: 210 ms)`, or `ideal (zero latency)`.
    public var description: String {
        if isIdeal { return "ideal (zero latency)" }
        if case .measured(let fetches) = self {
            return "as recorded (median of \(fetches.count): \((Double(shortest) / 1_000).shortest) ms)"
        }
        let milliseconds = Double(shortest) / 1_000
        let start =
            milliseconds < 1_000 ? "\(milliseconds.shortest) ms" : "\((milliseconds / 1_000).shortest) s"
        return bandwidth.map { "\(start) + size / (\(Int($0).bytesForPeople)/s)" } ?? start
    }
}

extension Double {
    /// The number with as few digits as it needs: `150`, `0.5`.
    fileprivate var shortest: String { self == rounded() && magnitude < 1e15 ? "\(Int(self))" : "\(self)" }
}
