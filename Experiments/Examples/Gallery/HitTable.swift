import Halcyon

/// Where the images of each category came from.
struct HitTable {
    private struct Counts {
        var memory = 0
        var disk = 0
        var original = 0
        var loaded = 0
    }

    private var counts: [String: Counts] = [:]

    mutating func add(_ result: ImageResult, _ resource: Resource) {
        for category in ["all"] + resource.categories {
            switch result.cacheType {
            case .memory: counts[category, default: Counts()].memory += 1
            case .disk: counts[category, default: Counts()].disk += 1
            case .none where result.isFromOriginal: counts[category, default: Counts()].original += 1
            case .none: counts[category, default: Counts()].loaded += 1
            }
        }
    }

    /// The table, all in front.
    var rendered: String {
        let names = ["all"] + counts.keys.filter { $0 != "all" }.sorted()
        let rows = names.map { name in
            let row = counts[name] ?? Counts()
            return [name] + [row.memory, row.disk, row.original, row.loaded].map(String.init)
        }
        return ([["category", "memory", "disk", "original", "loaded"]] + rows).map { row in
            row.enumerated().map { column, text in
                let blank = String(repeating: " ", count: max(10 - text.count, 0))
                return column == 0 ? text + blank : blank + text
            }.joined()
        }.joined(separator: "\n")
    }
}
