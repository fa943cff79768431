import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonSimulation
import HalcyonTrace

/// `replay hypothesis TRACE…`: do the categories raise the hit ratio?
struct HypothesisCommand: AsyncParsableCommand {
    enum Devices: String, CaseIterable, ExpressibleByArgument {
        case user, shared, both
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, jsonl
    }

    static let configuration = CommandConfiguration(
        commandName: "hypothesis",
        abstract: "Test whether categories raise the hit ratio: against the learner without them and permuted labels.",
        discussion: """
            replay hypothesis Traces/shop.csv
            replay hypothesis Traces/shop.csv Traces/feed.csv --per shared --capacity 1%,10% --format json
            replay hypothesis Traces/shop.csv --per user --prefetch planner --prefetch-budget 2/request
            """)

    @Argument(help: "The traces: CSV with a header, or any other format with categories; - is standard input.")
    var traces: [String]

    @OptionGroup(title: "Reading") var reading: ReadingArguments

    @Option(
        help: "One cache for all ('shared'), one for each 'user', or 'both'; by default both where there are users.")
    var per: Devices?

    @Option(
        name: [.short, .long],
        help:
            "Capacities, separated by commas: 1%, 64MB, 1000; by default 1%,5%,10% shared and 20,60,100 objects a user."
    )
    var capacity: String?

    @Option(help: "Capacities of each user's cache, where they differ from --capacity.")
    var deviceCapacity: String?

    @Option(
        help:
            "What the users' caches learn together: one model, their own, or one adapted to each user. (default: shared)"
    )
    var models: ModelSharing?

    @Option(help: "The learner: a policy whose groups of features made of categories can be switched off.")
    var learner: String = "learned"

    @OptionGroup(title: "Fetching ahead") var fetching: PrefetchArguments

    @Option(help: "Seeds of the learner that are run and averaged, with and without categories.")
    var seeds: Int = HypothesisOptions().seeds

    @Option(help: "How many of these seeds are run under each permutation of the labels, at most all of them.")
    var permutedSeeds: Int = HypothesisOptions().permutedSeeds

    @Option(help: "Permutations of the labels; at least 19 to find support.")
    var permutations: Int = HypothesisOptions().permutations

    @Option(help: "Draws of the bootstrap.")
    var resamples: Int = HypothesisOptions().resamples

    @Option(help: "The smallest gain in hit ratio that matters: 'not supported' means that a larger one is ruled out.")
    var margin: Double = HypothesisOptions().margin

    @Option(help: "Replay at most so many requests of each trace.")
    var limit: Int?

    @Option(help: "The share of the requests that warms the cache and is not counted, 0 to less than 1.")
    var warmup: Double = HypothesisOptions().warmup

    @Option(help: "The first seed of everything random.")
    var seed: UInt64 = HypothesisOptions().seed

    @Option(help: "How many runs go on at once; by default one a core.")
    var threads: Int?

    @Option(help: "The form of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    func run() async throws {
        try await reportingFailure {
            try validateOptions()
            try CommandFiles(
                reads: traces.map { ("trace", $0) } + [("prefetch model", fetching.prefetchModel)],
                writes: [("--output", output)]
            ).verify()
            let learner = try HypothesisLearner(learner, prefetch: prefetch())
            // Every trace is read before the first run, so that a fault in the last one costs no results. Of several
            // traces only those are kept that cannot be read again.
            var kept: [String: Question] = [:]
            var hasUsers = false
            for path in traces {
                let question = try question(of: path, learner)
                hasUsers = hasUsers || question.hasUsers
                if traces.count == 1 || !Self.canBeReadAgain(path) { kept[path] = question }
            }
            if !hasUsers { try refuseOptionsOfUsers() }
            var report = HypothesisReport(options: options)
            for path in traces {
                let question = try kept[path] ?? question(of: path, learner)
                let progress = question.hypothesis.makeProgress()
                let results = await showingProgress(progress) {
                    await question.hypothesis.run(workers: threads, progress: progress)
                }
                report.add(results, of: TraceSummary(question.replayed, path: path, notes: question.notes))
            }
            let data =
                switch format {
                case .table: Data(report.table(emphasis: Terminal.allowsEmphasis && output == nil).utf8)
                case .json: try report.json()
                case .jsonl: try report.jsonLines()
                }
            try Output.write(data, to: output)
        }
    }

    private func prefetch() throws -> HypothesisPrefetch? {
        let asked = try fetching.options()
        if asked.count > 1 { throw ReplayError.usage("The test is of one prefetch policy: give --prefetch once.") }
        return try asked.first.map { try HypothesisPrefetch($0) }
    }

    private var options: HypothesisOptions {
        var options = HypothesisOptions()
        options.warmup = warmup
        options.seeds = seeds
        options.permutedSeeds = permutedSeeds
        options.permutations = permutations
        options.resamples = resamples
        options.margin = margin
        options.models = models ?? .shared
        options.limit = limit
        options.seed = seed
        return options
    }

    private func validateOptions() throws(ReplayError) {
        if let limit, limit < 1 { throw .usage("--limit \(limit) leaves nothing: give at least 1.") }
        if let threads, threads < 1 { throw .usage("--threads \(threads): give at least 1.") }
        if per == .shared, let name = optionsOfUsers.first {
            throw .usage("\(name) needs caches of users: leave out --per shared.")
        }
        if per == .user, capacity != nil, deviceCapacity != nil {
            throw .usage("With --per user --device-capacity states the capacities: leave out --capacity.")
        }
        var places: Set<String> = []
        for path in traces where !places.insert(Output.place(of: path)).inserted {
            throw .usage("\(path) is named twice, and would count twice: name it once.")
        }
    }

    /// What was said of the caches of users.
    private var optionsOfUsers: [String] {
        (models == nil ? [] : ["--models"]) + (deviceCapacity == nil ? [] : ["--device-capacity"])
    }

    /// Where no trace names a user, there would be nothing that these say anything of.
    private func refuseOptionsOfUsers() throws(ReplayError) {
        guard !optionsOfUsers.isEmpty else { return }
        let who = traces.count == 1 ? "\(traces[0]) names no user" : "None of the traces names a user"
        let names = optionsOfUsers.joined(separator: " and ")
        throw .usage("\(who), so that there is no cache for each: leave out \(names).")
    }

    private static func canBeReadAgain(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: Output.place(of: path))
        return attributes?[.type] as? FileAttributeType == .typeRegular
    }

    /// What is asked of one trace.
    private struct Question {
        let hasUsers: Bool
        let notes: [String]
        let hypothesis: Hypothesis
        /// What is replayed; where each user has a cache beside one for all, what that one serves.
        var replayed: Trace { hypothesis.fields[0].trace }
    }

    private func question(of path: String, _ learner: HypothesisLearner) throws -> Question {
        let trace = try Trace.load(ReadingArguments.path(of: path), reading.options(of: path, names: []))
        guard trace.hasUsers || per == .shared || per == nil else {
            throw ReplayError.data("\(path) has no users, which per-user caches need.")
        }
        do {
            let (fields, notes) = try fields(of: trace)
            let hypothesis = try Hypothesis(fields: fields, learner: learner, options: options)
            return Question(hasUsers: trace.hasUsers, notes: notes, hypothesis: hypothesis)
        } catch ReplayError.data(let sentence) {
            throw ReplayError.data("\(path): \(sentence)")
        }
    }

    /// The modes that were asked for, and what the reader should know of them.
    private func fields(of trace: Trace) throws -> ([HypothesisField], [String]) {
        var fields: [HypothesisField] = []
        var notes: [String] = []
        let shared = try capacity.map { try CapacityRequest.list(parsing: $0) }
        let own = try deviceCapacity.map { try CapacityRequest.list(parsing: $0) } ?? shared
        if per != .user {
            fields.append(
                try HypothesisField(mode: .shared, trace: trace.selection(limit: limit).trace, capacities: shared))
        }
        if per != .shared, trace.hasUsers {
            let part = trace.selection(limit: limit, withUserOnly: true)
            if part.withoutUser > 0 {
                notes.append("\(part.withoutUser.grouped) requests without a user are left out where each has a cache.")
            }
            fields.append(try HypothesisField(mode: .perUser, trace: part.trace, capacities: own))
        }
        if per == nil, !trace.hasUsers { notes.append("No user is known: one cache for all, none for each.") }
        return (fields, notes)
    }
}
