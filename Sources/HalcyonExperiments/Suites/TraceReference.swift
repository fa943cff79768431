import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// A trace that an experiment names: a file, how to read it, and which of its requests to replay.
package struct TraceReference: Sendable, Hashable {
    /// The name in results. By default that of the file without its extensions.
    package var name: String
    /// The file as written: relative to the folder of the suite, perhaps with environment variables
    /// (`${HALCYON_TRACES}/web.csv`).
    package var path: String
    /// The files that continue the trace, written as ``path``, in this order; as for `--then`. Empty by default.
    package var then: [String] = []
    /// The rule for the sizes of objects, as for `--sizes`. The default is `first`.
    package var sizes = "first"
    /// The names of columns that differ from the usual ones, as for `--columns`. Nil by default.
    package var columns: String?
    /// Whether the first line of a CSV is a header, as for `--header`. The default is `auto`.
    package var header = HeaderRule.auto
    /// The byte between the fields of a CSV, as for `--delimiter`. Nil by default.
    package var delimiter: UInt8?
    /// The format of the file, as for `--trace-format`. Nil by default: that of its name, or one that its first lines
    /// show.
    package var format: TraceFormat?
    /// The unit of times in a CSV, as for `--time-unit`. The default is seconds.
    package var timeUnit = TimeUnit.seconds
    /// Whether entries expire by the lifetimes of the trace, as for `--use-ttl`. False by default.
    package var usesLifetimes = false
    /// The format of a published trace, as for `--preset`. Nil by default.
    package var preset: TracePreset?
    /// The blocks that a range of a disk requests, as for `--block-size`. Nil by default.
    package var blocks: BlockRule?
    /// Whether writes are requests, too, as for `--count-writes`. False by default.
    package var countsWrites = false
    /// The number of requests to skip at the start. For per-user caches it counts requests with a user.
    package var skip = 0
    /// The maximum number of requests. Nil by default: no limit. For per-user caches it counts requests with a user.
    package var limit: Int?
    /// Whether requests are sorted by time instead of refused if times decrease.
    package var sort = false
    /// The seed by which requests of one user at one time are put in a random order, as for `--shuffle`. Nil by default: the order of
    /// the file.
    package var shuffle: UInt64?
    /// The time by which a request at the time of the list that showed its object comes later, as for `--open-delay`. The
    /// default is 2 s.
    package var openDelay = Trace.standardOpenDelay.microseconds
    /// The time within which the lists of a user are joined, as for `--join-lists`, in microseconds. The default is 0: none is.
    package var joinLists: Int64 = 0
    /// Whether only first openings of items of lists are requests, as for `--openings-only`. False by default. A warm-up trace keeps all
    /// requests.
    package var openingsOnly = false
    /// The file of a warm-up trace, as written, which is read like ``path`` and replayed first without being counted.
    /// Nil by default.
    package var warmupTrace: String?

    /// Creates a reference to a whole file.
    package init(path: String, name: String? = nil) {
        self.path = path
        self.name = name ?? Self.name(of: path)
    }

    /// Returns the name of a file without its folder and extensions.
    static func name(of path: String) -> String {
        let file = path.split(separator: "/").last ?? ""
        return String(file.prefix { $0 != "." })
    }

    /// Returns the path of the file; the first of several.
    ///
    /// - Parameter path: the file that names the trace; a relative path is relative to its folder.
    /// - Throws: `ReplayError.data(_:)` if an environment variable of the path is not set.
    package func resolvedPath(inFileAt path: String) throws(ReplayError) -> String {
        try Self.resolved(self.path, inFileAt: path)
    }

    /// Returns the paths of all files of the trace, in order.
    ///
    /// - Parameter path: the file that names the trace; a relative path is relative to its folder.
    /// - Throws: `ReplayError.data(_:)` if an environment variable of a path is not set.
    package func resolvedPaths(inFileAt path: String) throws(ReplayError) -> [String] {
        try ([self.path] + then).map { file throws(ReplayError) in try Self.resolved(file, inFileAt: path) }
    }

    private static func resolved(_ file: String, inFileAt path: String) throws(ReplayError) -> String {
        var expanded = ""
        var rest = file[...]
        while let start = rest.firstRange(of: "${"), let end = rest[start.upperBound...].firstIndex(of: "}") {
            let variable = String(rest[start.upperBound..<end])
            guard let value = ProcessInfo.processInfo.environment[variable], !value.isEmpty else {
                throw .data("\(file): the environment variable \(variable) is not set.")
            }
            expanded += rest[..<start.lowerBound] + value
            rest = rest[rest.index(after: end)...]
        }
        expanded += rest
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        return URL(fileURLWithPath: expanded, relativeTo: folder).standardizedFileURL.path
    }

    /// Reads the file. O(requests).
    ///
    /// - Parameters:
    ///   - path: the file that names the trace.
    ///   - jobs: the jobs that will replay it: they decide whether keys and the recording of an access log are read.
    /// - Throws: `TraceError`, or `ReplayError.data(_:)` if an environment variable of the path is not set.
    func load(inFileAt path: String, for jobs: [ReplayJob]) throws -> Trace {
        try load([self.path] + then, inFileAt: path, for: jobs)
    }

    /// Reads the file of the warm-up trace; `nil` if there is none. O(requests).
    ///
    /// - Throws: as ``load(inFileAt:for:)``.
    func loadWarmup(inFileAt path: String, for jobs: [ReplayJob]) throws -> Trace? {
        try warmupTrace.map { try load([$0], inFileAt: path, for: jobs) }
    }

    private func load(_ names: [String], inFileAt path: String, for jobs: [ReplayJob]) throws -> Trace {
        var options = TraceLoadOptions()
        let prefetching = jobs.compactMap(\.options.prefetch)
        if prefetching.contains(where: { $0.traits.contains(.usesKeys) }) { options.names.insert(.keys) }
        options.recording = !prefetching.isEmpty
        options.sizes = SizeRule(argument: sizes) ?? .firstRequest
        options.sort = sort
        options.preset = preset
        options.header = header
        options.lifetimes = usesLifetimes
        options.delimiter = delimiter
        options.format = format
        options.timeUnit = timeUnit
        options.blocks = blocks
        options.countsWrites = countsWrites
        if let columns {
            do { options.columns = try ColumnNames(parsing: columns) } catch {
                throw ReplayError.data("\(names[0]): \(error.description)")
            }
        }
        // Two files have one numbering by their names.
        if warmupTrace != nil { options.names = .all }
        let paths = try names.map { name throws(ReplayError) in try Self.resolved(name, inFileAt: path) }
        options.continuations = Array(paths.dropFirst())
        return try Trace.load(paths[0], options)
    }

    /// Returns the requests that caches of a kind are to serve. O(requests).
    ///
    /// - Parameter warmup: the warm-up trace; `nil` if there is none.
    /// - Throws: `ReplayError.data(_:)` if there is none, or per-user caches lack users.
    func selection(of whole: Trace, warmup: Trace? = nil, mode: ReplayMode) throws(ReplayError) -> Trace {
        let isPerUser = mode == .perUser
        if isPerUser, !whole.hasUsers { throw .data("\(path) has no users, which per-user caches need.") }
        if whole.count == 0 { throw .data("\(path) has no request to replay.") }
        let trace = whole.selection(skip: skip, limit: limit, withUserOnly: isPerUser).trace
        if trace.count == 0 { throw .data("\(path) has no request left to replay after skipping \(skip).") }
        let shuffled = shuffle.map { trace.shufflingSimultaneous(seed: $0) } ?? trace
        let delay = TimeSpan(microseconds: openDelay)
        let join = TimeSpan(microseconds: joinLists)
        let joined = shuffled.joiningLists(within: join)
        let ordered = (openingsOnly ? joined.keepingOpenings() : joined).delayingOpenings(by: delay).trace
        if ordered.count == 0 { throw .data("\(path) has no opening of an item of a list.") }
        guard let warmup else { return ordered }
        let first = isPerUser ? warmup.selection(withUserOnly: true).trace : warmup
        do {
            return try ordered.warmed(by: first.joiningLists(within: join).delayingOpenings(by: delay).trace)
        } catch { throw .data("\(path): \(error.message)") }
    }
}

extension TraceReference {
    /// The fields of a trace in YAML, besides `path` and `name`.
    static let readingFields = [
        "then", "sizes", "columns", "header", "delimiter", "format", "time_unit", "use_ttl", "preset", "block_size",
        "count_writes", "limit", "skip", "sort", "shuffle", "open_delay", "join_lists", "openings_only", "warmup_trace",
    ]

    /// Reads the fields that say how to read a file and which requests to replay.
    ///
    /// - Throws: `ReplayError.data(_:)` with file, line and column.
    mutating func read(_ fields: YAMLFields) throws(ReplayError) {
        if let value = fields["then"] {
            then = try value.list(as: "Files that continue a trace").map { file throws(ReplayError) in
                try file.text(as: "The path of a trace")
            }
        }
        if let value = fields["sizes"] {
            sizes = try value.text(as: "A rule for sizes")
            guard SizeRule(argument: sizes) != nil else {
                throw value.fault("'\(sizes.shortened)' is not a rule for sizes: write \(SizeRule.accepted).")
            }
        }
        if let value = fields["columns"] {
            let text = try value.text(as: "Names of columns")
            do { _ = try ColumnNames(parsing: text) } catch { throw value.fault(error.description) }
            columns = text
        }
        preset = try fields["preset"].map { value throws(ReplayError) in try Self.choice(value, "a preset") }
        if let value = fields["header"] { header = try Self.choice(value, "a rule for the header") }
        format = try fields["format"].map { value throws(ReplayError) in try Self.choice(value, "a format") }
        if let value = fields["use_ttl"] { usesLifetimes = try value.truth(as: "Whether to use lifetimes") }
        if let value = fields["time_unit"] { timeUnit = try Self.choice(value, "a unit of times") }
        if let value = fields["delimiter"] {
            let text = try value.text(as: "A delimiter")
            guard let byte = TraceLoadOptions.delimiter(named: text) else {
                throw value.fault("'\(text.shortened)' is not a delimiter: write one ASCII character, or tab.")
            }
            delimiter = byte
        }
        if let value = fields["block_size"] {
            let text = try value.text(as: "A size of blocks")
            guard let rule = BlockRule(argument: text) else {
                throw value.fault("'\(text.shortened)' is not a size of blocks: write \(BlockRule.accepted).")
            }
            blocks = rule
        }
        if let value = fields["count_writes"] { countsWrites = try value.truth(as: "Whether writes count") }
        warmupTrace = try fields["warmup_trace"].map { value throws(ReplayError) in
            try value.text(as: "The path of a warm-up trace")
        }
        limit = try fields["limit"].map { value throws(ReplayError) in
            try value.whole(atLeast: 1, as: "a number of requests")
        }
        if let value = fields["skip"] { skip = try value.whole(atLeast: 0, as: "a number of requests") }
        if let value = fields["sort"] { sort = try value.truth(as: "Whether to sort") }
        shuffle = try fields["shuffle"].map { value throws(ReplayError) in
            UInt64(try value.whole(atLeast: 0, as: "a seed"))
        }
        openDelay = try fields["open_delay"].map(Self.duration) ?? openDelay
        if let value = fields["openings_only"] { openingsOnly = try value.truth(as: "Whether only openings count") }
        joinLists = try fields["join_lists"].map(Self.duration) ?? joinLists
    }

    /// Reads a duration in microseconds.
    private static func duration(_ value: YAMLValue) throws(ReplayError) -> Int64 {
        let text = try value.text(as: "A duration")
        do { return try TimeSpan(parsing: text).microseconds } catch { throw value.fault("\(error)") }
    }

    /// Reads one of a few names.
    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ value: YAMLValue, _ what: String
    ) throws(ReplayError) -> Choice {
        let name = try value.text(as: what.prefix(1).uppercased() + what.dropFirst())
        guard let known = Choice(rawValue: name) else {
            let accepted = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw value.fault("'\(name.shortened)' is not \(what): write one of \(accepted).")
        }
        return known
    }
}
