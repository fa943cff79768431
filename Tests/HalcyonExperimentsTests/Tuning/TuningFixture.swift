import HalcyonEviction
import HalcyonLearning
import HalcyonTestSupport

@testable import HalcyonExperiments

/// A folder with small traces for training, validation and test, on which the best parameter is known.
struct TuningFixture {
    static let capacity = 20
    let folder: TemporaryFolder
    /// The keys of each trace.
    var keys: [String: [Int]]

    /// Creates the traces: loops over more objects than fit, where the newest entry is the best victim.
    init(validation: [Int] = TuningFixture.loop(31)) throws {
        folder = try TemporaryFolder()
        keys = ["training": Self.loop(30), "validation": validation, "test": Self.loop(33)]
        for (name, keys) in keys { try write(keys, name) }
    }

    /// 400 requests for these objects in turn.
    static func loop(_ objects: Int) -> [Int] { (0..<400).map { $0 % objects } }

    /// 400 requests: each object is requested again after five others and never after that, where the oldest entry is the
    /// best victim.
    static var recency: [Int] { (0..<400).map { $0 % 10 < 5 ? $0 : $0 - 5 } }

    /// Writes a trace.
    func write(_ keys: [Int], _ name: String) throws {
        _ = try folder.file("\(name).csv", "key\n" + keys.map { "o\($0)\n" }.joined())
    }

    var store: ResultStore { ResultStore(folder: "\(folder.path)/results") }

    static let catalogue: PolicyCatalogue = {
        var catalogue = PolicyCatalogue.standard
        catalogue.add(PolicyEntry(PickedVictim.self))
        return catalogue
    }()

    /// The suite with these traces.
    ///
    /// - Parameter tuning: the section of searched values.
    func suite(_ traces: String? = nil, tuning: String = "") throws -> Suite {
        let list =
            traces
            ?? ["training", "validation", "test"].map { "  - {path: \($0).csv, split: \($0)}\n" }.joined()
        return try Suite(
            parsing: "schema: halcyon.suite/1\ntraces:\n\(list)experiments:\n"
                + "  - {name: all, policies: [lru], capacities: [\(Self.capacity)]}\n\(tuning)",
            file: "\(folder.path)/small.yml", catalogue: Self.catalogue)
    }

    /// Tunes the policy in `store`.
    func tune(
        _ policy: String = "picked", _ suite: Suite? = nil, store: ResultStore? = nil,
        grid: String? = "position=5,12,19",
        search: TuningSearch? = nil, budget: Int = 36, finalists: Int = 3, seed: UInt64 = 1, workers: Int? = nil
    ) async throws -> TuningRun.Outcome {
        var options = TuningRun.Options()
        options.space = grid
        options.search = search
        options.budget = budget
        options.finalists = finalists
        options.seed = seed
        options.workers = workers
        return try await TuningRun(
            policy, suite: try suite ?? self.suite(), store: store ?? self.store, options: options,
            catalogue: Self.catalogue
        ).run()
    }

    /// The score of a position on a trace, counted in the plainest way: its miss ratio divided by LRU's.
    func score(_ position: Int, _ trace: String, divisor: Int = 1) -> Double {
        let keys = Array((keys[trace] ?? []).prefix(400 / divisor))
        func misses(_ position: Int) -> Double {
            var entries: [Int] = []
            var hits = 0
            for key in keys {
                if let place = entries.firstIndex(of: key) {
                    hits += 1
                    entries.remove(at: place)
                } else if entries.count == Self.capacity {
                    entries.remove(at: min(position, entries.count - 1))
                }
                entries.append(key)
            }
            return 1 - Double(hits) / Double(keys.count)
        }
        return misses(position) / misses(0)
    }
}

/// Evicts the entry at a position in the order of last accesses: 0 is LRU, the capacity less one is MRU.
struct PickedVictim: ~Copyable, CataloguedPolicy {
    struct Parameters: PolicyParameters {
        enum Word: String, CaseIterable, Sendable { case one, two }

        var position = 0
        var scale = 2.0
        var word = Word.one

        static let table = [
            Parameter<Parameters>.integer("position", \.position, in: 0...1_000, "position of the victim"),
            .real("scale", \.scale, in: 0...5, "without effect"),
            .choice("word", \.word, "without effect"),
        ]
    }

    static let info = PolicyInfo(name: "picked", summary: "evicts at a position", source: "none")
    private let position: Int
    private var recent: [EntryID] = []

    init(_ parameters: Parameters, context: PolicyContext) { position = parameters.position }

    mutating func hit(_ access: Access) {
        remove(access.entry)
        recent.append(access.entry)
    }
    mutating func victim(for access: Access) -> EntryID { recent.remove(at: min(position, recent.count - 1)) }
    mutating func insert(_ access: Access) { recent.append(access.entry) }
    mutating func remove(_ entry: EntryID) { recent.removeAll { $0 == entry } }
}
