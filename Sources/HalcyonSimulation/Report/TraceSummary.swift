import HalcyonTrace

/// The part of a report that describes its trace.
public struct TraceSummary: Sendable, Codable {
    /// The file as the user named it.
    public var path: String
    /// The hash of the replayed requests, independent of the file format.
    public var fingerprint: String
    /// The number of requests.
    public var requests: Int
    /// The number of distinct objects.
    public var objects: Int
    /// The total size of all distinct objects, in ``sizeUnit``.
    public var distinctSize: Int
    /// The size of the smallest request, in ``sizeUnit``.
    public var smallestSize: Int
    /// Whether the trace has times. Without them, request n is taken to happen n seconds after the first.
    public var hasTimes: Bool
    /// The unit of sizes: bytes, or objects that count 1 each.
    public var sizeUnit: SizeUnit
    /// The number of distinct users; 0 if none is known.
    public var users: Int
    /// The number of distinct categories; 0 if none is known.
    public var categories: Int
    /// The notes of the loader that affect the meaning of the figures, one sentence each.
    public var notes: [String]

    /// Creates the summary of a stream that was read to its end.
    init(_ stream: TraceStream, path: String, requests: Int, identity: StreamIdentity, notes: [String]) {
        self.path = path
        fingerprint = identity.fingerprint
        self.requests = requests
        objects = identity.objects.count
        distinctSize = identity.distinctSize
        smallestSize = identity.smallestSize
        hasTimes = !stream.report.noTimes
        sizeUnit = stream.sizeUnit
        users = identity.users.count
        categories = identity.categoryCount(stream.categorySets)
        self.notes = stream.report.sentences + notes
    }

    /// Creates a summary of `trace`. O(requests), for the fingerprint.
    ///
    /// - Parameter notes: additional notes.
    public init(_ trace: Trace, path: String, notes: [String] = []) {
        self.path = path
        fingerprint = trace.fingerprint
        requests = trace.count
        objects = trace.objectCount
        distinctSize = Int(clamping: trace.distinctSize)
        smallestSize =
            trace.requestSizes.isEmpty
            ? Int(clamping: trace.objectSizes.min() ?? 0) : Int(trace.requestSizes.min() ?? 0)
        hasTimes = !trace.report.noTimes
        sizeUnit = trace.sizeUnit
        users = trace.userCount
        categories = trace.categoryCount
        self.notes = trace.report.sentences + notes
    }
}

extension LoadReport {
    /// The notes as sentences.
    public var sentences: [String] {
        var sentences: [String] = []
        if noSizes { sentences.append("No size is known: every object counts 1.") }
        if unknownSizes > 0 {
            sentences.append("\(unknownSizes.counted("object")) of unknown size: 1 byte each.")
        }
        if sizeDisagreements > 0 {
            sentences.append(
                "\(sizeDisagreements.counted("request")) with a size other than the object's first; --sizes selects the rule."
            )
        }
        if badLines > 0 { sentences.append("\(badLines.counted("bad line")) left out.") }
        if outOfOrder > 0 { sentences.append("\(outOfOrder.counted("request")) sorted by time.") }
        if heldTimes > 0 {
            sentences.append("\(heldTimes.counted("time")) of a clock set back, held at the latest time before.")
        }
        if unansweredReads > 0 {
            sentences.append("\(unansweredReads.counted("read")) left out, of objects whose size never becomes known.")
        }
        if noTimes { sentences.append("No time is known: request n is taken to happen n seconds after the first.") }
        return sentences
    }
}
