import HalcyonSimulation

/// Limits that runs of an experiment have to keep, whatever the result version.
///
/// ```yaml
/// limits:
///   - {policy: lru, capacity: 1%, floor: 0.2743}
///   - {policy: learned, capacity: 1%, floor: 0.3500, baseline: lru, highest_loss: -0.0747}
/// ```
///
/// A limit holds for the runs of its policy: on every trace, in every mode and at every capacity of the experiment,
/// as far as it names none. A run has one limit at most. With several seeds, a limit holds for the mean.
package struct RunLimit: Sendable, Equatable {
    /// The policy as the experiment names it: `lru`, `s3-fifo(small=0.2)`, `kingfisher`.
    package var policy: String
    /// The name of the trace. Nil by default: all.
    package var trace: String?
    /// The kind of caches. Nil by default: all.
    package var mode: ReplayMode?
    /// The capacity as in the experiment: `1%`, `64MB`, `20`. Nil by default: all.
    package var capacity: String?
    /// The lowest accepted object hit ratio, 0…1. Nil by default: none.
    package var floor: Double?
    /// The lowest accepted byte hit ratio, 0…1, for a trace with sizes. Nil by default: none.
    package var byteFloor: Double?
    /// The highest accepted mean latency in milliseconds, for tiers or prefetching. Nil by default: none.
    package var highestLatency: Double?
    /// The policy of the experiment that this one is compared with, at the same capacity. Nil by default: none.
    package var baseline: String?
    /// The largest accepted difference of the baseline's object hit ratio minus this policy's; negative if this
    /// policy must be better. Nil by default: none.
    package var highestLoss: Double?

    /// Creates a limit without any bound.
    package init(policy: String) { self.policy = policy }

    /// Returns whether the limit holds for a run.
    func covers(policy: String, trace: String, mode: ReplayMode, capacity: String) -> Bool {
        self.policy == policy && (self.trace ?? trace) == trace && (self.mode ?? mode) == mode
            && (self.capacity ?? capacity) == capacity
    }

    /// Returns whether a run may have both limits.
    fileprivate func overlaps(_ other: RunLimit) -> Bool {
        func canAgree<Value: Equatable>(_ path: KeyPath<RunLimit, Value?>) -> Bool {
            guard let own = self[keyPath: path], let others = other[keyPath: path] else { return true }
            return own == others
        }
        return policy == other.policy && canAgree(\.trace) && canAgree(\.mode) && canAgree(\.capacity)
    }
}

/// Creates the limits of an experiment from YAML.
struct LimitReader {
    let jobs: JobReader
    /// The experiment, whose other fields are read.
    let experiment: SuiteExperiment
    /// The names of the suite's traces.
    let traces: [String]

    func limits(_ value: YAMLValue) throws(ReplayError) -> [RunLimit] {
        var limits: [(limit: RunLimit, line: Int)] = []
        let items = try value.list(as: "'limits'")
        for item in items {
            guard let limit = try limit(item) else { continue }
            if let other = limits.first(where: { $0.limit.overlaps(limit) }) {
                throw item.fault("a run of \(limit.policy) has a limit in line \(other.line) already.")
            }
            limits.append((limit, item.line))
        }
        if items.isEmpty { throw value.fault("the list is empty: give at least one limit, or leave it out.") }
        return limits.map(\.limit)
    }

    /// Reads a limit; `nil` for one of a policy that cannot be used.
    private func limit(_ value: YAMLValue) throws(ReplayError) -> RunLimit? {
        let fields = try value.fields(
            accepting: [
                "policy", "trace", "mode", "capacity", "floor", "byte_floor", "highest_latency_ms", "baseline",
                "highest_loss",
            ],
            of: "A limit")
        let policy = try fields.required("policy")
        if try unusable(policy) != nil { return nil }
        var limit = RunLimit(policy: try row(policy))
        if let trace = fields["trace"] {
            let own = experiment.traces.isEmpty ? traces : experiment.traces
            limit.trace = try member(trace, of: own, as: "trace", text: trace.text(as: "The name of a trace"))
        }
        if let mode = fields["mode"] {
            let found = try jobs.mode(mode)
            _ = try member(mode, of: experiment.modes.map(\.rawValue), as: "mode", text: found.rawValue)
            limit.mode = found
        }
        if let capacity = fields["capacity"] {
            guard experiment.tiers.isEmpty else {
                throw capacity.fault("'tiers' state their capacities: leave out 'capacity'.")
            }
            limit.capacity = try member(
                capacity, of: experiment.capacities.map(\.description), as: "capacity",
                text: jobs.capacity(capacity).description)
        }
        try readBounds(&limit, fields)
        guard limit.floor != nil || limit.byteFloor != nil || limit.highestLatency != nil || limit.highestLoss != nil
        else { throw value.fault("a limit needs 'floor', 'byte_floor', 'highest_latency_ms' or 'highest_loss'.") }
        return limit
    }

    private func readBounds(_ limit: inout RunLimit, _ fields: YAMLFields) throws(ReplayError) {
        limit.floor = try fields["floor"].map { value throws(ReplayError) in try value.number(in: 0...1, as: "a ratio")
        }
        limit.byteFloor = try fields["byte_floor"].map { value throws(ReplayError) in
            try value.number(in: 0...1, as: "a ratio")
        }
        if let latency = fields["highest_latency_ms"] {
            let hasLatencies =
                !experiment.unusable.isEmpty || !experiment.tiers.isEmpty || limit.policy == "kingfisher"
                || experiment.prefetch.allSatisfy { $0 != nil }
            guard hasLatencies else {
                throw latency.fault("a highest latency needs 'tiers' or 'prefetch': other runs have no latencies.")
            }
            limit.highestLatency = try latency.number(in: 0...1e9, as: "a latency in milliseconds")
        }
        if let baseline = fields["baseline"] {
            if let name = try unusable(baseline) { limit.baseline = name } else { limit.baseline = try row(baseline) }
        }
        if let loss = fields["highest_loss"] {
            guard limit.baseline != nil else { throw loss.fault("a highest loss needs a 'baseline' to compare with.") }
            limit.highestLoss = try loss.number(in: -1...1, as: "a ratio")
        } else if let baseline = fields["baseline"] {
            throw baseline.fault("a baseline needs 'highest_loss'.")
        }
    }

    /// Reads the name of a policy that cannot be used; `nil` for another.
    private func unusable(_ value: YAMLValue) throws(ReplayError) -> String? {
        let name = try value.text(as: "A policy").trimmingSpaces
        return experiment.unusable.contains { $0.name == name } ? name : nil
    }

    /// Reads the name of a policy of the experiment.
    private func row(_ value: YAMLValue) throws(ReplayError) -> String {
        let text = try value.text(as: "A policy").trimmingSpaces.lowercased()
        let name = text == "kingfisher" || text == "tiers" ? text : try jobs.policy(value).label
        return try member(value, of: experiment.rows.map(\.name), as: "policy", text: name)
    }

    private func member(
        _ value: YAMLValue, of accepted: [String], as what: String, text: String
    ) throws(ReplayError) -> String {
        guard accepted.contains(text) else {
            throw value.fault(
                "the experiment has no \(what) '\(text.shortened)': it has \(accepted.joined(separator: ", ")).")
        }
        return text
    }
}
