import Foundation
import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonTrace

extension TargetFile {
    /// Reads a file.
    ///
    /// - Parameter catalogue: the accepted policies.
    /// - Throws: `ReplayError.data(_:)` with file, line and column if the file cannot be read or
    ///   has invalid content.
    public init(path: String, catalogue: PolicyCatalogue = .laboratory) throws(ReplayError) {
        let text = try YAMLValue.text(ofFile: path, content: "targets")
        try self.init(parsing: text, file: path, catalogue: catalogue)
    }

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - file: the name of the file, for messages.
    ///   - catalogue: the accepted policies.
    /// - Throws: `ReplayError.data(_:)` with file, line and column.
    public init(parsing text: String, file: String, catalogue: PolicyCatalogue = .laboratory) throws(ReplayError) {
        let root = try YAMLValue.document(in: text, file: file, content: "targets")
        // The schema comes first: another schema has other fields.
        let schema = try root.fields(of: "A file of targets").required("schema")
        let found = try schema.text(as: "The schema")
        if found == "halcyon.targets/1" {
            throw schema.fault(
                "the schema halcyon.targets/1 is no longer read: write \(Self.schema), rename 'tolerances' to 'margins' and "
                    + "'lowest_hit_ratio' to 'floor', leave out 'hit_ratio', and record again with --update.")
        }
        guard found == Self.schema else {
            throw schema.fault("the schema '\(found.shortened)' is not known: it is \(Self.schema).")
        }
        let fields = try root.fields(
            accepting: ["schema", "result_version", "margins", "groups", "history"], of: "A file of targets")
        let reader = TargetReader(jobs: JobReader(catalogue: catalogue), comments: YAMLComments(text))
        resultVersion = try fields["result_version"].map { value throws(ReplayError) in
            try value.whole(atLeast: 1, as: "a result version")
        }
        margins = try reader.margins(fields["margins"])
        let list = try fields.required("groups")
        groups = []
        for value in try list.list(as: "'groups'") { groups.append(try reader.group(value)) }
        if groups.isEmpty { throw list.fault("'groups' needs at least one group: with none nothing would be checked.") }
        if resultVersion == nil, groups.contains(where: { $0.targets.contains { $0.hits != nil } }) {
            throw root.fault("'hits' need 'result_version': the result version of the build that recorded them.")
        }
        history = []
        for value in try fields["history"]?.list(as: "'history'") ?? [] { history.append(try reader.recording(value)) }
        for (name, key) in fields.keys { comments[name] = reader.comments.above(key) }
        comments["end"] = reader.comments.last
    }

    /// Refuses a file that has a target without a limit.
    ///
    /// - Parameter path: the name of the file, for the message.
    /// - Throws: `ReplayError.usage(_:)` if a target has no floor or, with a baseline, no highest loss.
    public func requireLimits(path: String) throws(ReplayError) {
        for group in groups {
            guard let target = group.targets.first(where: { !$0.hasLimit }) else { continue }
            throw .usage(
                "\(path): \(target.policy) at \(group.capacity(of: target)) on \(group.trace), \(group.mode.words), has no limit: "
                    + "give floor, or baseline with highest_loss, or record it with --update --reason \"…\".")
        }
    }
}

/// Creates targets from YAML.
private struct TargetReader {
    let jobs: JobReader
    let comments: YAMLComments

    func margins(_ value: YAMLValue?) throws(ReplayError) -> [(policy: String, margin: Double)] {
        guard let value else { return [("default", 0.001)] }
        let fields = try value.fields(of: "'margins'")
        var margins: [(policy: String, margin: Double)] = []
        for (name, key) in fields.keys {
            let isKnown =
                jobs.catalogue.entries.contains { $0.info.name == name } || PrefetchCatalogue.entry(named: name) != nil
            if name != "default", !isKnown {
                throw key.fault("'\(name.shortened)' is neither 'default' nor the name of a policy.")
            }
            margins.append((name, try fields.required(name).number(in: 0...1, as: "a margin")))
        }
        return margins
    }

    func group(_ value: YAMLValue) throws(ReplayError) -> TargetGroup {
        let fields = try value.fields(
            accepting: ["trace", "mode", "models", "tiers"] + TraceReference.readingFields
                + ["warmup", "seed", "seeds", "prefetch", "prefetch_budget", "prefetch_latency", "targets"],
            of: "A group")
        var group = TargetGroup(trace: try fields.required("trace").text(as: "The path of a trace"), targets: [])
        if let mode = fields["mode"] { group.mode = try jobs.mode(mode) }
        if let models = fields["models"] {
            group.models = try jobs.models(models)
            guard group.mode == .perUser else { throw models.fault("'models' needs 'mode: per_user'.") }
        }
        try group.source.read(fields)
        if let tiers = fields["tiers"] {
            let options = try jobs.tiers(tiers)
            if options.memoryPolicy != nil, options.diskPolicy != nil {
                throw tiers.fault(
                    "the tiers name both policies, so that those of the targets decide nothing: leave out 'memory_policy' or "
                        + "'disk_policy'.")
            }
            group.tiers = options
        }
        if let warmup = fields["warmup"] { group.warmup = try jobs.warmup(warmup) }
        if let seed = fields["seed"] { group.seeds = [try seed.whole(atLeast: 0, as: "a seed")] }
        if let seeds = fields["seeds"] {
            if fields["seed"] != nil { throw seeds.fault("'seed' and 'seeds' exclude each other: leave one out.") }
            group.seeds = try jobs.seeds(seeds)
        }
        group.prefetch = try prefetch(
            fields["prefetch"], budget: fields["prefetch_budget"], latency: fields["prefetch_latency"])
        var places: [String: Int] = [:]
        for value in try fields.required("targets").list(as: "'targets'") {
            let target = try target(value, in: group)
            let name = "\(target.policy) at \(group.capacity(of: target))"
            if let line = places[name] {
                throw value.fault("\(name) is also in line \(line); a group has each policy and capacity once.")
            }
            places[name] = value.line
            group.targets.append(target)
        }
        if group.targets.isEmpty { throw value.fault("a group needs at least one target.") }
        group.comments = comments.above(value)
        for (_, key) in fields.keys where key.line != value.line { group.comments += comments.above(key) }
        return group
    }

    private func prefetch(
        _ value: YAMLValue?, budget: YAMLValue?, latency: YAMLValue?
    ) throws(ReplayError) -> PrefetchOptions? {
        guard let value else {
            if let budget { throw budget.fault("a budget needs 'prefetch', which names the prefetch policy.") }
            if let latency { throw latency.fault("a latency needs 'prefetch', which names the prefetch policy.") }
            return nil
        }
        return try jobs.prefetch(value, budget: budget, latency: latency)
    }

    private func target(_ value: YAMLValue, in group: TargetGroup) throws(ReplayError) -> Target {
        let fields = try value.fields(
            accepting: [
                "policy", "capacity", "hits", "floor", "baseline", "highest_loss", "byte_floor", "highest_latency_ms",
            ],
            of: "A target")
        func ratio(_ name: String, from least: Double) throws(ReplayError) -> Double? {
            guard let value = fields[name] else { return nil }
            return try value.number(in: least...1, as: "a ratio")
        }
        var target = Target(
            policy: try label(fields.required("policy")), capacity: try capacity(fields, in: group),
            floor: try ratio("floor", from: 0), highestLoss: try ratio("highest_loss", from: -1))
        target.byteFloor = try ratio("byte_floor", from: 0)
        if let latency = fields["highest_latency_ms"] {
            guard group.tiers != nil else {
                throw latency.fault("a highest latency needs 'tiers' in the group: only tiers have latencies.")
            }
            target.highestLatency = try latency.number(in: 0...1e9, as: "a latency in milliseconds")
        }
        if let baseline = fields["baseline"] { target.baseline = try label(baseline) }
        if let loss = fields["highest_loss"], target.baseline == nil {
            throw loss.fault("a highest loss needs a 'baseline' to compare with.")
        }
        if let hits = fields["hits"] {
            target.hits = try hits.whole(atLeast: 0, as: "a number of hits")
            if let owner = try processorDependent(fields.required("policy"), group) {
                throw hits.fault(
                    "\(owner) depends on the processor and has no exact figure: leave out 'hits' and give a 'floor'.")
            }
        }
        target.comments = comments.above(value)
        return target
    }

    /// Returns the capacity of a target; empty in a group with tiers, which state the capacities.
    private func capacity(_ fields: YAMLFields, in group: TargetGroup) throws(ReplayError) -> String {
        guard group.tiers != nil else { return try jobs.capacity(fields.required("capacity")).description }
        if let capacity = fields["capacity"] {
            throw capacity.fault("the 'tiers' of the group state the capacities: leave out 'capacity'.")
        }
        return ""
    }

    private func label(_ value: YAMLValue) throws(ReplayError) -> String { try jobs.policy(value).label }

    /// Returns the policy whose results depend on the processor; `nil` if none depends on it.
    private func processorDependent(_ value: YAMLValue, _ group: TargetGroup) throws(ReplayError) -> String? {
        let policies = [try jobs.policy(value), group.tiers?.memoryPolicy, group.tiers?.diskPolicy].compactMap { $0 }
        for policy in policies where KernelInfo(policy)?.dependsOnProcessor == true { return policy.label }
        guard let prefetch = group.prefetch, KernelInfo(prefetch)?.dependsOnProcessor == true else { return nil }
        return prefetch.policy.description
    }

    func recording(_ value: YAMLValue) throws(ReplayError) -> TargetRecording {
        let fields = try value.fields(accepting: ["date", "halcyon", "targets", "reason"], of: "An entry of 'history'")
        var recording = TargetRecording(
            date: try fields.required("date").text(as: "A date"),
            halcyonVersion: try fields.required("halcyon").text(as: "A version"),
            targets: try fields.required("targets").whole(atLeast: 0, as: "a number of targets"),
            reason: try fields.required("reason").text(as: "A reason"))
        recording.comments = comments.above(value)
        return recording
    }
}
