import HalcyonSupport
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

    /// Whether two objects have different sizes.
    package var sizesVary: Bool { sizeUnit == .bytes && smallestSize * objects != distinctSize }

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
    package var sentences: [String] {
        var sentences: [String] = []
        if !parts.isEmpty {
            let files = parts.prefix(5).map { "\($0.path) (\($0.requests.counted("request")))" }.joined(separator: ", ")
            let more = parts.count > 5 ? " and \((parts.count - 5).counted("more file"))" : ""
            sentences.append("One trace of \(parts.count.counted("file")): \(files)\(more).")
        }
        if noSizes { sentences.append("No size is known: every object counts 1.") }
        if unknownSizes > 0 {
            sentences.append("\(unknownSizes.counted("object")) of unknown size: 1 byte each.")
        }
        if sizeDisagreements > 0 {
            sentences.append(
                "\(sizeDisagreements.counted("request")) with a size other than the object's first; --sizes selects the rule."
            )
        }
        if let lifetimes {
            sentences.append(
                "Entries expire by the lifetime of the request that inserts them; \(lifetimes.counted("request")) with one."
            )
        }
        if badLines > 0 { sentences.append("\(badLines.counted("bad line")) left out.") }
        if outOfOrder > 0 { sentences.append("\(outOfOrder.counted("request")) sorted by time.") }
        if itemsBeyondLimit > 0 {
            sentences.append(
                "\(itemsBeyondLimit.counted("item")) left out of lists with more than \(ShownLists.mostItems.grouped) items."
            )
        }
        if unreadItems > 0 {
            sentences.append(
                "\(unreadItems.counted("row")) of what was shown left out: a stream has no lists; load the trace for them."
            )
        }
        if heldTimes > 0 {
            sentences.append("\(heldTimes.counted("time")) of a clock set back, held at the latest time before.")
        }
        if unansweredReads > 0 {
            sentences.append("\(unansweredReads.counted("read")) left out, of objects whose size never becomes known.")
        }
        if let preset { sentences.append(preset.summary) }
        if let formatRule { sentences.append(formatRule) }
        if !operations.isEmpty {
            let areRequests = preset == nil && operations.allSatisfy { $0.leftOut == 0 }
            sentences.append(
                "Rows by operation: \(operations.map(\.text).joined(separator: ", "))"
                    + (areRequests ? "; every row is a request." : "."))
        }
        if repeatedHeaders > 0 {
            sentences.append("\(repeatedHeaders.counted("line")) left out that repeat the header.")
        }
        if noTimes { sentences.append("No time is known: request n is taken to happen n seconds after the first.") }
        if !columns.isAsUsual { sentences.append("Columns: \(columns.text).") }
        for part in parts where part.columns != columns && !part.columns.isAsUsual {
            sentences.append("Columns of \(part.path): \(part.columns.text).")
        }
        return sentences
    }
}

extension Trace {
    /// Returns the trace with openings at their list's time moved later, and adds a note of how many; see
    /// ``HalcyonTrace/Trace/delayingOpenings(by:)``.
    package func delayingOpenings(by delay: TimeSpan, _ notes: inout [String]) -> Trace {
        let (trace, moved) = delayingOpenings(by: delay)
        if moved > 0 {
            notes.append(
                "Openings at their list's time are taken to come \(delay) later (--open-delay): \(moved.grouped).")
        }
        return trace
    }
}

extension OperationCount {
    /// The count as text: `GET 5 (2 left out, 9 requests)`, `SET 3` or `DELETE 4 (left out)`.
    fileprivate var text: String {
        if leftOut == rows { return "\(name) \(rows.grouped) (left out)" }
        var parts: [String] = []
        if leftOut > 0 { parts.append("\(leftOut.grouped) left out") }
        if requests != rows - leftOut { parts.append(requests.counted("request")) }
        return parts.isEmpty ? "\(name) \(rows.grouped)" : "\(name) \(rows.grouped) (\(parts.joined(separator: ", ")))"
    }
}

extension ColumnUse {
    /// The columns by role, and the unused ones with the option that would use the first of them: `time, key=item;
    /// not used: genre (--columns category=genre would use it)`.
    var text: String {
        let roles = used.map { column in
            column.name.lowercased() == column.role.rawValue
                ? column.role.rawValue : "\(column.role.rawValue)=\(column.name.shortened())"
        }
        let text = roles.joined(separator: ", ")
        guard !unused.isEmpty else { return text }
        let shown = unused.prefix(8).map { $0.isEmpty ? "(no name)" : $0.shortened() }.joined(separator: ", ")
        return text + "; not used: \(shown)\(unused.count > 8 ? " and \(unused.count - 8) more" : "")\(suggestion)"
    }

    /// The option that would give an unused column a role that no column has, if there are both.
    private var suggestion: String {
        if isPreset { return "" }
        let free = Role.allCases.filter { role in !used.contains { $0.role == role } }
        let named = unused.filter { !$0.isEmpty && !$0.contains(",") && unused.count(of: $0) == 1 }
        let guess = named.lazy.compactMap { name in
            free.first { $0.isSuggested(by: name.lowercased()) }.map { (role: $0, name: name) }
        }.first
        let fallback = [Role.category, .user, .size, .time].first(where: free.contains)
        guard let choice = guess ?? fallback.flatMap({ role in named.first.map { (role: role, name: $0) } }) else {
            return ""
        }
        return " (--columns \(choice.role.rawValue)=\(choice.name.shortened()) would use \(choice.name.shortened()))"
    }
}

extension ColumnUse.Role {
    /// Whether a column of this name, in lower case, probably has the role.
    fileprivate func isSuggested(by name: String) -> Bool {
        let words: [String] =
            switch self {
            case .time: ["time", "date", "_at", "ts"]
            case .key: ["key", "item", "url"]
            case .size: ["size", "bytes", "length"]
            case .category: ["categ", "genre", "brand", "type", "topic", "class", "tag", "artist", "department"]
            case .user: ["user", "customer", "client", "visitor", "member", "household", "session"]
            case .event, .position, .list: []
            }
        return words.contains(where: name.contains)
    }
}

extension [String] {
    fileprivate func count(of text: String) -> Int { reduce(0) { $0 + ($1 == text ? 1 : 0) } }
}
