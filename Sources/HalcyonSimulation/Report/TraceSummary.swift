import HalcyonTrace

/// What a report says of the trace it is about.
public struct TraceSummary: Sendable, Codable {
    /// The file as it was named.
    public var path: String
    /// A hash of what was replayed, the same for the same requests in any file format.
    public var fingerprint: String
    /// The requests.
    public var requests: Int
    /// The distinct objects.
    public var objects: Int
    /// The cost of all distinct objects, in ``sizeUnit``.
    public var distinctSize: Int
    /// Whether costs are bytes or every object counts 1.
    public var sizeUnit: SizeUnit
    /// The distinct users; 0 where none is known.
    public var users: Int
    /// The distinct categories; 0 where none is known.
    public var categories: Int
    /// What was noticed while loading and changes what the figures mean, a sentence each.
    public var notes: [String]

    /// A summary of a stream that has been read to its end.
    init(_ stream: TraceStream, path: String, requests: Int, identity: StreamIdentity, notes: [String]) {
        self.path = path
        fingerprint = identity.fingerprint
        self.requests = requests
        objects = identity.objects.count
        distinctSize = identity.distinctSize
        sizeUnit = stream.sizeUnit
        users = identity.users.count
        categories = identity.categoryCount(stream.categorySets)
        self.notes = stream.report.sentences + notes
    }

    /// A summary of `trace`. O(requests), for the fingerprint.
    ///
    /// - Parameter notes: what else the reader should know.
    public init(_ trace: Trace, path: String, notes: [String] = []) {
        self.path = path
        fingerprint = trace.fingerprint
        requests = trace.count
        objects = trace.objectCount
        distinctSize = Int(clamping: trace.distinctSize)
        sizeUnit = trace.sizeUnit
        users = trace.userCount
        categories = trace.categoryCount
        self.notes = trace.report.sentences + notes
    }
}

extension LoadReport {
    /// What was noticed, a sentence each.
    public var sentences: [String] {
        var sentences: [String] = []
        if noSizes { sentences.append("No size is known: every object counts 1.") }
        if unknownSizes > 0 {
            sentences.append("\(unknownSizes.counted("object")) of unknown size: 1 byte each.")
        }
        if sizeDisagreements > 0 {
            sentences.append(
                "\(sizeDisagreements.counted("request")) with another size than the object's first; --sizes says which counts."
            )
        }
        if badLines > 0 { sentences.append("\(badLines.counted("bad line")) left out.") }
        if outOfOrder > 0 { sentences.append("\(outOfOrder.counted("request")) put in order of time.") }
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
