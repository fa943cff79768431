import Foundation
import HalcyonBoosting
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonSupport

extension Suite {
    /// Reads a file.
    ///
    /// - Parameters:
    ///   - catalogue: the accepted policies.
    ///   - keepsUnusable: whether a policy or tier that cannot be used is kept in `SuiteExperiment.unusable` with
    ///     its reason, so that the other policies run; by default it is an error.
    /// - Throws: `ReplayError.data(_:)` with file, line and column if the file cannot be read or has invalid content.
    public init(
        path: String, catalogue: PolicyCatalogue = .laboratory, keepsUnusable: Bool = false
    ) throws(ReplayError) {
        try self.init(
            parsing: try YAMLValue.text(ofFile: path, content: "a suite"), file: path, catalogue: catalogue,
            keepsUnusable: keepsUnusable)
    }

    /// Reads the text of a file.
    ///
    /// - Parameters:
    ///   - file: the path of the file; traces are relative to its folder.
    ///   - catalogue: the accepted policies.
    ///   - keepsUnusable: as in ``init(path:catalogue:keepsUnusable:)``.
    /// - Throws: `ReplayError.data(_:)` with file, line and column.
    package init(
        parsing text: String, file: String, catalogue: PolicyCatalogue = .laboratory, keepsUnusable: Bool = false
    ) throws(ReplayError) {
        let root = try YAMLValue.document(in: text, file: file, content: "a suite")
        let schema = try root.fields(of: "A suite").required("schema")
        let found = try schema.text(as: "The schema")
        guard found == Self.schema else {
            throw schema.fault("the schema '\(found.shortened)' is not known: it is \(Self.schema).")
        }
        let fields = try root.fields(
            accepting: ["schema", "description", "results", "traces", "experiments"], of: "A suite")
        let reader = SuiteReader(jobs: JobReader(catalogue: catalogue), keepsUnusable: keepsUnusable)
        let description = try fields["description"].map { value throws(ReplayError) in
            try value.text(as: "A description")
        }
        let list = try fields.required("traces")
        let traces = try reader.traces(list)
        let experiments = try fields.required("experiments")
        var parts: [SuiteExperiment] = []
        for value in try experiments.list(as: "'experiments'") {
            parts.append(try reader.experiment(value, traces: traces.map(\.name)))
        }
        if parts.isEmpty { throw experiments.fault("'experiments' needs at least one experiment.") }
        self.init(
            name: TraceReference.name(of: file), path: file, description: description ?? "", traces: traces,
            experiments: parts)
        results = try fields["results"].map { value throws(ReplayError) in try value.text(as: "A folder of results") }
    }
}

/// Creates experiments from YAML.
private struct SuiteReader {
    let jobs: JobReader
    let keepsUnusable: Bool

    func traces(_ list: YAMLValue) throws(ReplayError) -> [TraceReference] {
        var traces: [TraceReference] = []
        for value in try list.list(as: "'traces'") {
            let trace = try trace(value)
            if traces.contains(where: { $0.name == trace.name }) {
                throw value.fault("the trace '\(trace.name)' is given twice: give one of them another 'name'.")
            }
            traces.append(trace)
        }
        if traces.isEmpty { throw list.fault("'traces' needs at least one trace.") }
        return traces
    }

    private func trace(_ value: YAMLValue) throws(ReplayError) -> TraceReference {
        guard value.isMapping else { return TraceReference(path: try value.text(as: "The path of a trace")) }
        let fields = try value.fields(
            accepting: ["path", "name"] + TraceReference.readingFields, of: "A trace")
        var trace = TraceReference(path: try fields.required("path").text(as: "The path of a trace"))
        if let name = fields["name"] { trace.name = try name.text(as: "The name of a trace") }
        try trace.read(fields)
        return trace
    }

    func experiment(_ value: YAMLValue, traces: [String]) throws(ReplayError) -> SuiteExperiment {
        let fields = try value.fields(
            accepting: [
                "name", "traces", "modes", "policies", "capacities", "tiers", "knowledge", "prefetch", "announce",
                "pretrain", "restart", "seeds", "labels", "permutations", "warmup", "limits",
            ],
            of: "An experiment")
        var experiment = SuiteExperiment(
            name: try fields.required("name").text(as: "The name of an experiment"), rows: [])
        if let list = fields["traces"] {
            if list.listOrOne().isEmpty { throw list.emptyList }
            for item in list.listOrOne() {
                let name = try item.text(as: "The name of a trace")
                guard traces.contains(name) else {
                    throw item.fault(
                        "the suite has no trace '\(name.shortened)': it has \(traces.joined(separator: ", ")).")
                }
                experiment.traces.append(name)
            }
        }
        experiment.modes = try list(fields["modes"], or: experiment.modes) { value throws(ReplayError) in
            try jobs.mode(value)
        }
        experiment.knowledge = try list(fields["knowledge"], or: experiment.knowledge) { value throws(ReplayError) in
            try jobs.knowledge(value)
        }
        for item in fields["tiers"]?.listOrOne() ?? [] {
            try keepingUnusable(item, in: "tiers", of: &experiment) { experiment throws(ReplayError) in
                experiment.tiers.append(try jobs.tiers(item))
            }
        }
        if let capacities = fields["capacities"] {
            if let tiers = fields["tiers"] {
                throw tiers.fault("'tiers' state their capacities: leave out 'capacities' or 'tiers'.")
            }
            if capacities.listOrOne().isEmpty {
                throw capacities.fault("the list is empty: give at least one capacity.")
            }
            for item in capacities.listOrOne() { experiment.capacities += try jobs.capacities(item) }
        } else if fields["tiers"]?.listOrOne().isEmpty ?? true {
            throw value.fault("an experiment needs 'capacities' or 'tiers'.")
        }
        for item in try fields.required("policies").listOrOne() {
            try keepingUnusable(item, in: "policies", of: &experiment) { experiment throws(ReplayError) in
                experiment.rows += try rows(item)
            }
        }
        if experiment.rows.isEmpty, experiment.unusable.isEmpty {
            throw value.fault("an experiment needs at least one policy.")
        }
        if let prefetching = fields["prefetch"] {
            experiment.prefetch = []
            for item in prefetching.listOrOne() {
                try keepingUnusable(item, in: "prefetch", of: &experiment) { experiment throws(ReplayError) in
                    experiment.prefetch.append(try prefetch(item))
                }
            }
            if prefetching.listOrOne().isEmpty { throw prefetching.emptyList }
        }
        experiment.announce = try list(fields["announce"], or: experiment.announce) { value throws(ReplayError) in
            try jobs.announcements(value)
        }
        experiment.pretrain = try list(fields["pretrain"], or: experiment.pretrain) { value throws(ReplayError) in
            let pretraining = try jobs.pretraining(value)
            try verify(pretraining, value, experiment, traces)
            return pretraining
        }
        experiment.restart = try fields["restart"].map { value throws(ReplayError) in try jobs.restart(value) }
        if let seeds = fields["seeds"] { experiment.seeds = try jobs.seeds(seeds) }
        if let warmup = fields["warmup"] { experiment.warmup = try jobs.warmup(warmup) }
        if let labels = fields["labels"] {
            let permutations: Int = try fields["permutations"]?.whole(atLeast: 1, as: "a number of permutations") ?? 1
            experiment.labels = []
            if labels.listOrOne().isEmpty { throw labels.emptyList }
            for item in labels.listOrOne() {
                let text = try item.text(as: "Labels")
                do { experiment.labels += try LabelControl.controls(parsing: text, permutations: permutations) } catch {
                    throw item.fault(error.description)
                }
            }
        } else if let permutations = fields["permutations"] {
            throw permutations.fault("'permutations' needs 'labels' that are permuted.")
        }
        if experiment.unusable.isEmpty, experiment.jobs.isEmpty {
            throw (fields["labels"] ?? value).fault(
                "the experiment has no run: labels other than 'given' are for runs that look at categories.")
        }
        if let limits = fields["limits"] {
            let reader = LimitReader(jobs: jobs, experiment: experiment, traces: traces)
            experiment.limits = try reader.limits(limits)
        }
        return experiment
    }

    /// Refuses traces that the suite does not have, and a replayed trace that would leave nothing to train on.
    private func verify(
        _ pretraining: Pretraining?, _ value: YAMLValue, _ experiment: SuiteExperiment, _ traces: [String]
    ) throws(ReplayError) {
        guard let names = pretraining?.traceNames, !names.isEmpty else { return }
        if let name = names.first(where: { !traces.contains($0) }) {
            throw value.fault("the suite has no trace '\(name.shortened)': it has \(traces.joined(separator: ", ")).")
        }
        let replayed = experiment.traces.isEmpty ? traces : experiment.traces
        if let own = replayed.first(where: { names == [$0] }) {
            throw value.fault(
                "'\(own)' is replayed, and no model is tested on users that it was trained on: name other traces, too.")
        }
    }

    private func list<Value>(
        _ value: YAMLValue?, or standard: [Value], _ read: (YAMLValue) throws(ReplayError) -> Value
    ) throws(ReplayError) -> [Value] {
        guard let value else { return standard }
        var values: [Value] = []
        for item in value.listOrOne() { values.append(try read(item)) }
        if values.isEmpty { throw value.emptyList }
        return values
    }

    private func prefetch(_ value: YAMLValue) throws(ReplayError) -> PrefetchOptions? {
        guard value.isMapping else {
            return try value.text(as: "A prefetch policy") == "none"
                ? nil : try jobs.prefetch(value, budget: nil, latency: nil)
        }
        let fields = try value.fields(accepting: ["policy", "budget", "latency"], of: "Prefetching")
        return try jobs.prefetch(
            fields.required("policy"), budget: fields["budget"], latency: fields["latency"])
    }

    /// Reads an item of a list. One that cannot be used is kept with its reason, if that was asked for.
    private func keepingUnusable(
        _ item: YAMLValue, in list: String, of experiment: inout SuiteExperiment,
        _ read: (inout SuiteExperiment) throws(ReplayError) -> Void
    ) throws(ReplayError) {
        do throws(ReplayError) { try read(&experiment) } catch {
            guard keepsUnusable else { throw error }
            let name = Self.policyName(item) ?? "'\(list)' in line \(item.line)"
            experiment.unusable.append(UnusablePolicy(name: name, sentence: error.description))
        }
    }

    /// Returns the policy that an item names; `nil` if it names none.
    private static func policyName(_ item: YAMLValue) -> String? {
        let owner = item.isMapping ? try? item.fields(of: "A policy").required("policy") : item
        return (try? owner?.text(as: "A policy"))?.trimmingSpaces
    }

    /// Returns the policies of an item: one, or those of a grid of parameters.
    private func rows(_ value: YAMLValue) throws(ReplayError) -> [SuiteExperiment.Row] {
        guard value.isMapping else {
            switch try value.text(as: "A policy").trimmingSpaces.lowercased() {
            case "kingfisher": return [.kingfisher]
            case "tiers": return [.tiers]
            default: return [.policy(try jobs.policy(value))]
            }
        }
        let fields = try value.fields(accepting: ["policy", "grid"], of: "A policy with a grid")
        let owner = try fields.required("policy")
        let base = try jobs.policy(owner).label
        var specs: [PolicySpec]
        do { specs = [try PolicySpec(parsing: base)] } catch { throw owner.fault(error.description) }
        let grid = try fields.required("grid")
        let parameters = try grid.fields(of: "A grid")
        for (name, _) in parameters.keys {
            let values = try parameters.required(name)
            var texts: [String] = []
            for item in values.listOrOne() { texts.append(try item.text(as: "A value of '\(name)'")) }
            if texts.isEmpty { throw values.fault("'\(name)' needs at least one value.") }
            specs = specs.flatMap { spec in
                texts.map { text in
                    var spec = spec
                    spec.settings.removeAll { $0.name == name }
                    spec.settings.append(PolicySpec.Setting(name, text))
                    return spec
                }
            }
        }
        var rows: [SuiteExperiment.Row] = []
        for spec in specs {
            do { rows.append(.policy(try jobs.catalogue.policy(spec.description))) } catch {
                throw grid.fault(error.description)
            }
        }
        return rows
    }
}
