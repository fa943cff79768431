import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonSimulation
import HalcyonTrace

/// `replay hypothesis TRACE…`: tests whether categories raise the hit ratio.
struct HypothesisCommand: AsyncParsableCommand {
    enum CacheModes: String, CaseIterable, ExpressibleByArgument {
        case user, shared, both
    }

    enum Format: String, CaseIterable, ExpressibleByArgument {
        case table, json, jsonl
    }

    static let configuration = CommandConfiguration(
        commandName: "hypothesis",
        abstract: "Test whether categories raise the hit ratio over the learner without them and over permuted labels.",
        discussion: """
            replay hypothesis Traces/shop.csv
            replay hypothesis Traces/shop.csv Traces/feed.csv --per shared --capacity 1%,10% --format json
            replay hypothesis Traces/shop.csv --per user --prefetch planner --prefetch-budget 2/request
            """)

    @Argument(help: "The traces: CSV with a header, or any other format with categories; - is standard input.")
    var traces: [String]

    @OptionGroup(title: "Reading") var reading: ReadingArguments

    @Option(
        help: "One cache for all ('shared'), one for each 'user', or 'both'; by default both if the trace has users.")
    var per: CacheModes?

    @Option(
        name: [.short, .long],
        help:
            "Capacities, separated by commas: 1%, 64MB, 1000; by default 1%,5%,10% shared and 20,60,100 objects a user."
    )
    var capacity: String?

    @Option(help: "Capacities of per-user caches, if they differ from --capacity.")
    var userCapacity: String?

    @OptionGroup var knowing: KnowledgeArguments

    @Option(
        help: ArgumentHelp(
            """
            The learner with its parameters, as for --policy: a policy with category feature groups. With --prefetch any policy, so \
            that lru tests prefetching alone.
            """))
    var learner: String = "learned"

    @OptionGroup var pretraining: PretrainArguments

    @OptionGroup(title: "Prefetching") var fetching: PrefetchArguments

    @Option(
        help: ArgumentHelp(
            "With --prefetch, per-user caches and device knowledge: the lists that a device receives, as for 'replay'.",
            valueName: "popular(count=100, every=1h)"))
    var announce: String?

    @Option(help: "The number of seeds of the learner to average, with and without categories.")
    var seeds: Int = HypothesisOptions().seeds

    @Option(help: "The number of these seeds to run under each permutation of the labels, at most all.")
    var permutedSeeds: Int = HypothesisOptions().permutedSeeds

    @Option(
        help: ArgumentHelp(
            """
            How labels are permuted among the objects: uniform, or within=popularity,size,age (any of them), which \
            permutes only among objects that are alike in these. May be repeated; the first one decides. (default: \
            within=popularity,size,age and uniform)
            """, valueName: "way"))
    var permute: [String] = []

    @Option(
        help: ArgumentHelp(
            """
            The number of permutations, at least 19 to find support. Of 19..199, 19 are run at first, and up to 199 \
            while a cell shows a gain that more permutations could make significant.
            """, valueName: "number"))
    var permutations: String = "\(HypothesisOptions().permutations)..\(HypothesisOptions().mostPermutations)"

    @Option(help: "The smallest relevant gain in hit ratio, such as 0.005: half a point.")
    var margin: Double = HypothesisOptions().margin

    @Option(help: "Replay at most this number of requests of each trace.")
    var limit: Int?

    @OptionGroup var opening: ListArguments

    @Option(help: "The share of the requests that warms up the cache and is not counted, from 0 to less than 1.")
    var warmup = Share(HypothesisOptions().warmup)

    @Option(help: "The first seed of all random choices.")
    var seed: UInt64 = HypothesisOptions().seed

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    @Option(help: "The format of the result.")
    var format: Format = .table

    @Option(name: [.short, .long], help: "The file to write; by default standard output.")
    var output: String?

    func run() async throws {
        try await reportingFailure {
            try validateOptions()
            let options = try options()
            try CommandFiles(
                reads: traces.flatMap(reading.files) + [("prefetch model", fetching.prefetchModel)] + pretraining.files,
                writes: [("--output", output)]
            ).verify()
            let learner = try hypothesisLearner()
            // Every trace is read before the first run, so that an error in the last one loses no results. Of several
            // traces, only those that cannot be read again stay in memory.
            var kept: [String: Question] = [:]
            var hasUsers = false
            for path in traces {
                let question = try question(of: path, learner, options)
                hasUsers = hasUsers || question.hasUsers
                if traces.count == 1 || !Self.canBeReadAgain(path) { kept[path] = question }
            }
            if !hasUsers { try refuseOptionsOfUsers() }
            var report = HypothesisReport(options: options)
            for path in traces {
                let question = try kept[path] ?? question(of: path, learner, options)
                Terminal.say("\(path): \(question.hypothesis.estimate(workers: threads).sentence)")
                let progress = question.hypothesis.makeProgress()
                let results = try await showingProgress(progress) {
                    try await question.hypothesis.run(workers: threads, progress: progress)
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
        let requested = try fetching.options()
        if requested.count > 1 {
            throw ReplayError.usage("The test needs a single prefetch policy: give --prefetch once.")
        }
        var prefetch = try requested.compactMap { $0 }.first.map { try HypothesisPrefetch($0) }
        if announce != nil, prefetch == nil {
            throw ReplayError.usage("--announce sends lists to a prefetch policy: add --prefetch planner.")
        }
        prefetch?.announcements = try announce.map { text throws(ReplayError) in try AnnouncementOptions(parsing: text)
        }
        return prefetch
    }

    private func hypothesisLearner() throws -> HypothesisLearner {
        var learner = try HypothesisLearner(learner, prefetch: prefetch(), catalogue: Program.catalogue)
        learner.pretraining = try pretraining.pretraining()
        if learner.pretraining != nil, !ReplayJob.begins(learner.withCategories) {
            throw ReplayError.usage(
                "--pretrain needs a learner that begins with a trained model: give --learner learned.")
        }
        learner.others = try pretraining.traces(besides: traces.flatMap(reading.files).compactMap(\.path))
        return learner
    }

    private func options() throws(ReplayError) -> HypothesisOptions {
        var options = HypothesisOptions()
        options.warmup = warmup.value
        options.seeds = seeds
        options.permutedSeeds = permutedSeeds
        (options.permutations, options.mostPermutations) = try numbersOfPermutations()
        if !permute.isEmpty {
            options.permute = []
            for way in permute { options.permute.append(try PermutationScheme(parsing: way)) }
        }
        options.margin = margin
        options.knowledge = knowing.knowledge ?? options.knowledge
        options.limit = limit
        options.seed = seed
        return options
    }

    /// The first and the maximum number of permutations: 19..199, or one number for both.
    private func numbersOfPermutations() throws(ReplayError) -> (Int, Int) {
        let parts = permutations.components(separatedBy: "..")
        let numbers = parts.compactMap { Int($0) }
        guard numbers.count == parts.count, parts.count <= 2, let first = numbers.first, let most = numbers.last else {
            throw .usage("--permutations \(permutations): give a number, such as 199, or a range, such as 19..199.")
        }
        return (first, most)
    }

    private func validateOptions() throws(ReplayError) {
        try knowing.validateNames()
        if let limit, limit < 1 { throw .usage("--limit \(limit) leaves nothing: give at least 1.") }
        if let threads, threads < 1 { throw .usage("--threads \(threads): give at least 1.") }
        if traces.count > 1, !reading.then.isEmpty {
            throw .usage("--then continues one trace, and \(traces.count) are given: name one.")
        }
        if per == .shared, let name = optionsOfUsers.first {
            throw .usage("\(name) needs per-user caches: leave out --per shared.")
        }
        if per == .user, capacity != nil, userCapacity != nil {
            throw .usage("With --per user, --user-capacity states the capacities: leave out --capacity.")
        }
        var places: Set<String> = []
        for path in traces where !places.insert(Output.place(of: path)).inserted {
            throw .usage("\(path) is given twice and would count twice: give it once.")
        }
    }

    /// The names of the given options that apply to per-user caches only.
    private var optionsOfUsers: [String] {
        (knowing.knowledge == nil ? [] : ["--knowledge"]) + (userCapacity == nil ? [] : ["--user-capacity"])
            + (pretraining.pretrain == nil ? [] : ["--pretrain"]) + (announce == nil ? [] : ["--announce"])
    }

    /// Refuses the options for per-user caches if no trace has users.
    private func refuseOptionsOfUsers() throws(ReplayError) {
        guard !optionsOfUsers.isEmpty else { return }
        let subject = traces.count == 1 ? "\(traces[0]) has no users" : "None of the traces has users"
        let names = optionsOfUsers.joined(separator: " and ")
        throw .usage("\(subject), which per-user caches need: leave out \(names).")
    }

    private static func canBeReadAgain(_ path: String) -> Bool {
        let attributes = try? FileManager.default.attributesOfItem(atPath: Output.place(of: path))
        return attributes?[.type] as? FileAttributeType == .typeRegular
    }

    /// The test on one trace.
    private struct Question {
        let hasUsers: Bool
        let notes: [String]
        let hypothesis: Hypothesis
        /// The replayed trace. With both modes, that of the shared cache.
        var replayed: Trace { hypothesis.fields[0].trace }
    }

    private func question(
        of path: String, _ learner: HypothesisLearner, _ options: HypothesisOptions
    ) throws -> Question {
        let trace = try Trace.load(ReadingArguments.path(of: path), reading.options(of: path, names: []))
        guard trace.hasUsers || per == .shared || per == nil else {
            throw ReplayError.data("\(path) has no users, which per-user caches need.")
        }
        do {
            var delayed: [String] = []
            var (fields, notes) = try fields(of: opening.applied(to: trace, &delayed))
            notes += delayed
            let hypothesis = try Hypothesis(fields: fields, learner: learner, options: options)
            notes += LimitNotes.sentences(
                learner: learner.withCategories.label, sharesModel: options.knowledge != .device,
                users: trace.userCount,
                categories: trace.categoryCount)
            return Question(hasUsers: trace.hasUsers, notes: notes, hypothesis: hypothesis)
        } catch ReplayError.data(let sentence) {
            throw ReplayError.data("\(path): \(sentence)")
        }
    }

    /// Returns the requested modes, and the notes for a report.
    private func fields(of trace: Trace) throws -> ([HypothesisField], [String]) {
        var fields: [HypothesisField] = []
        var notes: [String] = []
        let shared = try capacity.map { try CapacityRequest.list(parsing: $0) }
        let perUser = try userCapacity.map { try CapacityRequest.list(parsing: $0) } ?? shared
        if per != .user {
            fields.append(
                try HypothesisField(mode: .shared, trace: trace.selection(limit: limit).trace, capacities: shared))
        }
        if per != .shared, trace.hasUsers {
            let part = trace.selection(limit: limit, withUserOnly: true)
            if part.withoutUser > 0 {
                notes.append("\(part.withoutUser.grouped) requests without a user are left out of per-user caches.")
            }
            fields.append(try HypothesisField(mode: .perUser, trace: part.trace, capacities: perUser))
        }
        if per == nil, !trace.hasUsers { notes.append("No user is known: only the shared cache is tested.") }
        return (fields, notes)
    }
}
