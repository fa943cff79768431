extension ReplayReport {
    /// How many categories or users the table for people lists; the JSON has all.
    private static let listed = 10

    /// The hit ratios of runs at one capacity by category or user, those with the most requests first; empty if not counted.
    func breakdown(of group: [RunResult], by what: String, _ tallies: (RunResult) -> [String: Tally]?) -> String {
        guard let first = group.first.flatMap(tallies), !first.isEmpty else { return "" }
        let names = first.sorted { ($1.value.requests, $0.key) < ($0.value.requests, $1.key) }
        var table = TextTable(
            [(title: what, alignment: .left), (title: "requests", alignment: .right)]
                + group.map { (title: $0.label, alignment: .right) })
        for (name, tally) in names.prefix(Self.listed) {
            let ratios = group.map { TextTable.Cell(tallies($0)?[name]?.objectHitRatio.percent ?? "-") }
            table.add([.init(name), .init(tally.requests.grouped)] + ratios)
        }
        let rest = names.count - Self.listed
        return "\n" + table.rendered() + (rest > 0 ? "and \(rest.grouped) more, in --format json\n" : "")
    }
}
