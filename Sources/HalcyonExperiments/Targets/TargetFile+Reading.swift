import Foundation
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
    public init(path: String, catalogue: PolicyCatalogue = .standard) throws(ReplayError) {
        let text = try YAMLValue.text(ofFile: path, content: "targets")
        try self.init(parsing: text, file: path, catalogue: catalogue)
    }

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - file: the name of the file, for messages.
    ///   - catalogue: the accepted policies.
    /// - Throws: `ReplayError.data(_:)` with file, line and column.
    public init(parsing text: String, file: String, catalogue: PolicyCatalogue = .standard) throws(ReplayError) {
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
        let reader = TargetReader(catalogue: catalogue, comments: YAMLComments(text))
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
                "\(path): \(target.policy) at \(target.capacity) on \(group.trace), \(group.mode.words), has no limit: "
                    + "give floor, or baseline with highest_loss, or record it with --update --reason \"…\".")
        }
    }
}

/// Creates targets from YAML.
private struct TargetReader {
    let catalogue: PolicyCatalogue
    let comments: YAMLComments

    func margins(_ value: YAMLValue?) throws(ReplayError) -> [(policy: String, margin: Double)] {
        guard let value else { return [("default", 0.001)] }
        let fields = try value.fields(of: "'margins'")
        var margins: [(policy: String, margin: Double)] = []
        for (name, key) in fields.keys {
            let isKnown =
                catalogue.entries.contains { $0.info.name == name } || PrefetchCatalogue.entry(named: name) != nil
            if name != "default", !isKnown {
                throw key.fault("'\(name.shortened)' is neither 'default' nor the name of a policy.")
            }
            margins.append((name, try fields.required(name).number(in: 0...1, as: "a margin")))
        }
        return margins
    }

    func group(_ value: YAMLValue) throws(ReplayError) -> TargetGroup {
        let fields = try value.fields(
            accepting: [
                "trace", "mode", "sizes", "columns", "limit", "warmup", "seed", "prefetch", "prefetch_budget",
                "targets",
            ],
            of: "A group")
        var group = TargetGroup(trace: try fields.required("trace").text(as: "The path of a trace"), targets: [])
        if let mode = fields["mode"] {
            let name = try mode.text(as: "A mode")
            guard let known = ReplayMode(rawValue: name) else {
                throw mode.fault("'\(name.shortened)' is not a mode: write shared or per_user.")
            }
            group.mode = known
        }
        if let sizes = fields["sizes"] {
            group.sizes = try sizes.text(as: "A rule for sizes")
            guard SizeRule(argument: group.sizes) != nil else {
                throw sizes.fault("'\(group.sizes.shortened)' is not a rule for sizes: write \(SizeRule.accepted).")
            }
        }
        if let columns = fields["columns"] {
            let text = try columns.text(as: "Names of columns")
            do { _ = try ColumnNames(parsing: text) } catch { throw columns.fault(error.description) }
            group.columns = text
        }
        group.limit = try fields["limit"].map { value throws(ReplayError) in
            try value.whole(atLeast: 1, as: "a number of requests")
        }
        if let warmup = fields["warmup"] {
            group.warmup = try warmup.number(in: 0...0.999_999, as: "a share of the requests")
        }
        if let seed = fields["seed"] { group.seed = try seed.whole(atLeast: 0, as: "a seed") }
        group.prefetch = try prefetch(fields["prefetch"], budget: fields["prefetch_budget"])
        var places: [String: Int] = [:]
        for value in try fields.required("targets").list(as: "'targets'") {
            let target = try target(value, in: group)
            let name = "\(target.policy) at \(target.capacity)"
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

    private func prefetch(_ value: YAMLValue?, budget: YAMLValue?) throws(ReplayError) -> PrefetchOptions? {
        guard let value else {
            if let budget { throw budget.fault("a budget needs 'prefetch', which names the prefetch policy.") }
            return nil
        }
        let name = try value.text(as: "A prefetch policy")
        let limits: PrefetchBudget
        let text = try budget?.text(as: "A budget") ?? "2/request"
        do { limits = try PrefetchBudget(parsing: text) } catch { throw (budget ?? value).fault("\(error)") }
        do { return try PrefetchOptions(policy: name, budget: limits) } catch { throw value.fault("\(error)") }
    }

    private func target(_ value: YAMLValue, in group: TargetGroup) throws(ReplayError) -> Target {
        let fields = try value.fields(
            accepting: ["policy", "capacity", "hits", "floor", "baseline", "highest_loss"], of: "A target")
        func ratio(_ name: String, from least: Double) throws(ReplayError) -> Double? {
            guard let value = fields[name] else { return nil }
            return try value.number(in: least...1, as: "a ratio")
        }
        let capacity = try fields.required("capacity")
        var target = Target(
            policy: try label(fields.required("policy")), capacity: try capacity.text(as: "A capacity"),
            floor: try ratio("floor", from: 0), highestLoss: try ratio("highest_loss", from: -1))
        do { target.capacity = try CapacityRequest(parsing: target.capacity).description } catch {
            throw capacity.fault(error.description)
        }
        if let baseline = fields["baseline"] { target.baseline = try label(baseline) }
        if let loss = fields["highest_loss"], target.baseline == nil {
            throw loss.fault("a highest loss needs a 'baseline' to compare with.")
        }
        if let hits = fields["hits"] {
            target.hits = try hits.whole(atLeast: 0, as: "a number of hits")
            if let owner = try processorDependent(fields.required("policy"), group.prefetch) {
                throw hits.fault(
                    "\(owner) depends on the processor and has no exact figure: leave out 'hits' and give a 'floor'.")
            }
        }
        target.comments = comments.above(value)
        return target
    }

    private func label(_ value: YAMLValue) throws(ReplayError) -> String { try policy(value).label }

    private func policy(_ value: YAMLValue) throws(ReplayError) -> ConfiguredPolicy {
        let text = try value.text(as: "A policy")
        do { return try catalogue.policy(text) } catch { throw value.fault(error.description) }
    }

    /// Returns the policy whose results depend on the processor; `nil` if neither depends on it.
    private func processorDependent(
        _ value: YAMLValue, _ prefetch: PrefetchOptions?
    ) throws(ReplayError) -> String? {
        let policy = try policy(value)
        if KernelInfo(policy)?.dependsOnProcessor == true { return policy.label }
        guard let prefetch, KernelInfo(prefetch)?.dependsOnProcessor == true else { return nil }
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
