import ArgumentParser
import Foundation
import HalcyonEviction
import HalcyonExperiments
import HalcyonLearning
import HalcyonSimulation
import HalcyonTrace

/// `replay curve TRACE`: computes the miss ratio of policies by capacity.
struct CurveCommand: AsyncParsableCommand {
    enum Unit: String, CaseIterable, ExpressibleByArgument {
        case objects, bytes
    }

    enum Spacing: String, CaseIterable, ExpressibleByArgument {
        case log, even
    }

    static let configuration = CommandConfiguration(
        commandName: "curve",
        abstract: "Compute the miss-ratio curves of policies; for large traces from a sample of the objects.",
        discussion: """
            replay curve Traces/shop.csv
            replay curve Traces/shop.csv --policy lru,s3-fifo --policy belady --points 10
            replay curve Traces/shop.csv --policy learned --sample 10%

            The curve of LRU is exact in one pass; with --sample it is estimated by SHARDS. The other policies are \
            replayed at each capacity; with --sample they are simulated in miniature, and each point states the \
            error of sampling. With variable sizes the byte curve of LRU alone is computed by byte stack distances, an \
            approximation of a cache that evicts whole objects; together with other policies LRU is replayed, too.
            """)

    @OptionGroup var trace: TraceArguments

    @Option(
        name: [.short, .long],
        help: "A policy, with parameters if any. May be repeated; several may be separated by commas. (default: lru)")
    var policy: [String] = []

    @Option(
        name: [.short, .long],
        help: ArgumentHelp(
            "The capacities, as for 'replay run', in place of --points.", valueName: "capacity,…"))
    var capacity: String?

    @Option(
        help: ArgumentHelp(
            "Measure only this share of the objects, above 0 to 1, and estimate: 0.01 or 1%.", valueName: "share"))
    var sample: Share?

    @Option(
        help: ArgumentHelp(
            "With --sample, for LRU: measure at most this number of objects. The share falls as needed.",
            valueName: "objects"))
    var maximumObjects: Int?

    @Option(help: "The unit of capacities; by default bytes if the trace has sizes. In objects, each has size 1.")
    var unit: Unit?

    @Option(
        help:
            "The number of capacities up to the size of all objects; 0 gives every point of LRU's curve."
    )
    var points: Int = 20

    @Option(help: "The spacing of these capacities: equal ratios (log) or equal differences (even).")
    var spacing: Spacing = .log

    @Option(help: "The seed of the sample and of all random choices.")
    var seed: UInt64 = 1

    @Option(help: "The number of parallel runs; by default one per core.")
    var threads: Int?

    @OptionGroup(title: "Output") var output: OutputArguments

    func run() async throws {
        try await reportingFailure {
            let policies = try chosenPolicies()
            try validate(policies)
            try CommandFiles(reads: trace.files, writes: [("--output", output.output)]).verify()
            let requests = try await showingProgress(of: nil) { try loaded() }
            let curves = try await curves(of: policies, over: requests)
            let data =
                switch output.format {
                case .table: Data(MissRatioCurve.table(curves).utf8)
                case .csv: MissRatioCurve.csv(curves)
                case .json: try MissRatioCurve.json(curves)
                case .jsonl: try MissRatioCurve.jsonLines(curves)
                }
            try Output.write(data, to: output.output)
        }
    }

    private func chosenPolicies() throws(PolicyError) -> [ConfiguredPolicy] {
        var chosen: [ConfiguredPolicy] = []
        for text in policy.isEmpty ? ["lru"] : policy.flatMap(PolicySpec.split) {
            let policy = try Program.catalogue.policy(text)
            if !chosen.contains(where: { $0.label == policy.label }) { chosen.append(policy) }
        }
        return chosen
    }

    private func validate(_ policies: [ConfiguredPolicy]) throws(ReplayError) {
        if let sample, !(sample.value > 0 && sample.value <= 1) {
            throw .usage("--sample \(sample) is not a share: give a number above 0 and at most 1.")
        }
        if let maximumObjects, maximumObjects < 1 || sample == nil {
            throw .usage("--maximum-objects needs --sample and at least 1.")
        }
        if maximumObjects != nil, policies.contains(where: { !Self.isLRU($0) }) {
            throw .usage("--maximum-objects bounds the sample of lru alone: leave out the other policies.")
        }
        if points < 0 || points == 1 {
            throw .usage("--points \(points) is no curve: give at least 2, or 0 for every point of lru.")
        }
        if points == 0, capacity != nil || policies.contains(where: { !Self.isLRU($0) }) {
            throw .usage("--points 0, every point, is for lru without --capacity alone: give at least 2.")
        }
        if let threads, threads < 1 { throw .usage("--threads \(threads) is too small: give at least 1.") }
    }

    private static func isLRU(_ policy: ConfiguredPolicy) -> Bool { policy.label == LRU.info.name }

    private func loaded() throws -> Trace {
        var options = try trace.options(names: [])
        if unit == .objects { options.sizes = .unit }
        let requests = try Trace.load(trace.path, options)
        if unit == .bytes, requests.sizeUnit == .objects {
            throw ReplayError.data("\(trace.trace) has no sizes for a curve over bytes.")
        }
        try requests.verifyStackDistances(trace.trace)
        return requests
    }

    private func curves(of policies: [ConfiguredPolicy], over trace: Trace) async throws -> [MissRatioCurve] {
        let isUniform = trace.uniformSize != nil
        let stacked = policies.filter { Self.isLRU($0) && (isUniform || policies.count == 1) }
        if policies.count == 1, stacked.count == 1, capacity == nil {
            let curve = try await showingProgress(of: nil) { try lru(trace) }
            return [points > 0 ? curve.thinned(to: points) : curve]
        }
        let capacities = try capacities(of: trace)
        let replayed = policies.filter { policy in !stacked.contains { $0.label == policy.label } }
        var curves: [String: MissRatioCurve] = [:]
        if !stacked.isEmpty {
            curves[LRU.info.name] = try await showingProgress(of: nil) { try lru(trace) }.points(at: capacities)
        }
        if !replayed.isEmpty {
            let sweep = try CurveSweep(
                trace: trace, policies: replayed, capacities: capacities, rate: sample?.value ?? 1, seed: seed)
            let progress = sweep.makeProgress()
            for curve in await showingProgress(progress, { await sweep.run(workers: threads, progress: progress) }) {
                curves[curve.policy] = curve
            }
        }
        return policies.compactMap { curves[$0.label] }
    }

    /// Returns the curve of LRU: exact, or estimated from a sample.
    private func lru(_ trace: Trace) throws(ReplayError) -> MissRatioCurve {
        guard let sample, sample.value < 1 || maximumObjects != nil else { return MissRatioCurve.exact(of: trace) }
        let curve = MissRatioCurve.sampled(
            of: trace, rate: sample.value, maximumObjects: maximumObjects, seed: seed)
        let smallest = MissRatioCurve.smallestSample
        guard curve.measuredObjects >= smallest else {
            throw .usage(
                "--sample selects \(curve.measuredObjects == 0 ? "none" : "only \(curve.measuredObjects)") of the "
                    + "\(trace.objectCount.counted("object")): give a larger share.")
        }
        return curve
    }

    /// Returns the capacities of the points, in the unit of the trace.
    private func capacities(of trace: Trace) throws(ReplayError) -> [Int] {
        let distinct = Int(clamping: trace.distinctSize)
        if let capacity {
            var chosen: Set<Int> = []
            for request in try CapacityRequest.list(parsing: capacity) {
                chosen.insert(try request.resolved(unit: trace.sizeUnit, distinct: distinct))
            }
            return chosen.sorted()
        }
        var smallest = max(1, distinct / 1_000)
        if let sample, sample.value < 1 {
            // Below, a part of the sample would have a cache of less than one object.
            let object = Double(distinct) / Double(max(1, trace.objectCount))
            let least = 8 * object / sample.value
            guard least < Double(distinct) else {
                throw .usage(
                    "--sample \(sample) leaves too few of the \(trace.objectCount.counted("object")) for a curve: give "
                        + "a larger share.")
            }
            smallest = max(smallest, Int(least.rounded(.up)))
        }
        return MissRatioCurve.capacities(points, from: smallest, to: distinct, byRatio: spacing == .log)
    }
}

extension Trace {
    /// Refuses a trace with too many objects for stack distances.
    func verifyStackDistances(_ name: String) throws(ReplayError) {
        guard objectCount < MissRatioCurve.tooManyObjects else {
            throw .data(
                "\(name) has \(objectCount.counted("object")), and stack distances need less than "
                    + "\(MissRatioCurve.tooManyObjects.grouped): read a part of it.")
        }
    }
}
