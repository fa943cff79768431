import HalcyonSupport

/// A trace of a browsing model and what is true of it.
public struct BrowsingOutcome: Sendable {
    /// What can be observed.
    public let trace: Trace
    /// The hidden group of each object of the trace, by object number.
    public let groups: [UInt32]
    /// Of each category number of the trace, the group that the label stands for.
    public let groupOfCategory: [UInt32]
}

extension BrowsingModel {
    /// Draws a trace. O(requests · (1 + arrivals · objectsPerCategory)).
    public func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace {
        try generateWithTruth(seed: seed, names: names).trace
    }

    /// Draws a trace and tells what is hidden in it.
    public func generateWithTruth(seed: UInt64, names: Bool = true) throws(GenerationError) -> BrowsingOutcome {
        try validate()
        var simulation = BrowsingSimulation(model: self, seed: seed)
        var objects = FirstRequestOrder(capacity: simulation.catalogue.count)
        var people = FirstRequestOrder(capacity: users)
        var entries: [UInt32] = []
        var requesters: [UInt32] = []
        var seconds: [UInt32] = []
        entries.reserveCapacity(requests)
        requesters.reserveCapacity(requests)
        seconds.reserveCapacity(requests)
        for _ in 0..<requests {
            let request = simulation.step()
            entries.append(objects.number(of: Int(request.object)))
            requesters.append(people.number(of: request.user))
            seconds.append(UInt32(clamping: request.second))
        }
        let groups = objects.originals.map { simulation.catalogue.groups[Int($0)] }
        let labels = labels(of: simulation.catalogue, seed: seed)
        let columns = LabelColumns(labels: objects.originals.map { labels[Int($0)] }, labelCount: categories)
        let sizes = sizes(of: simulation, seed: seed)

        var tables = TraceNames()
        if names {
            for original in objects.originals { tables.keys.append("o\(original)") }
            for original in people.originals { tables.users.append("u\(original)") }
            for label in columns.order { tables.categories.append(categoryName(Int(label))) }
        }
        var report = LoadReport()
        report.noSizes = sizes.isEmpty
        let trace = Trace(
            entries: entries, times: TimeColumn(base: 0, unit: 1_000_000, offsets: seconds), users: requesters,
            objectSizes: objects.originals.map { sizes.isEmpty ? 1 : sizes[Int($0)] },
            objectCategories: columns.sets, categorySets: columns.categorySets, categoryCount: columns.order.count,
            userCount: people.originals.count, sizeUnit: sizes.isEmpty ? .objects : .bytes, names: tables,
            report: report)
        return BrowsingOutcome(trace: trace, groups: groups, groupOfCategory: columns.order)
    }

    /// The name of the category that stands for `group`.
    public func categoryName(_ group: Int) -> String {
        if group < categoryNames.count { return categoryNames[group] }
        return group < 10 ? "c0\(group)" : "c\(group)"
    }

    /// The label of each object: its group with the probability of the signal, else any category alike.
    private func labels(of catalogue: BrowsingCatalogue, seed: UInt64) -> [UInt32] {
        var random = SeededGenerator(seed: seed, stream: BrowsingStream.labels)
        return catalogue.groups.map { group in
            let told = random.chance(categorySignal)
            let other = UInt32(random.below(categories))
            return told ? group : other
        }
    }

    /// The size of each object, by its group; empty without sizes.
    private func sizes(of simulation: BrowsingSimulation, seed: UInt64) -> [UInt64] {
        let medians = simulation.logMedians
        if medians.isEmpty { return [] }
        var random = SeededGenerator(seed: seed, stream: BrowsingStream.sizes)
        return simulation.catalogue.groups.map { group in
            let size = PortableMath.exp(medians[Int(group)] + sizeSpread * PortableMath.normal(using: &random))
            return UInt64(min(max(size, Double(smallestSize)), Double(largestSize)))
        }
    }
}

/// The labels of objects as the category columns of a trace.
private struct LabelColumns {
    /// The labels in the order in which the trace numbers them.
    private(set) var order: [UInt32] = []
    /// The category set of each object.
    private(set) var sets: [UInt32] = []
    private(set) var categorySets = CategorySets()

    init(labels: [UInt32], labelCount: Int) {
        var numbers = FirstRequestOrder(capacity: labelCount)
        sets.reserveCapacity(labels.count)
        for label in labels { sets.append(categorySets.number(of: [numbers.number(of: Int(label))])) }
        order = numbers.originals
    }
}
