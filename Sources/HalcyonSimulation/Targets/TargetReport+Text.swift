extension TargetReport {
    /// The report for people: what moved or was missed, and a sentence.
    ///
    /// - Parameter emphasis: whether what was missed is set in bold, as on a terminal.
    public func text(emphasis: Bool = false) -> String {
        var text = ""
        let told = outcomes.filter { $0.hasMoved || !$0.misses.isEmpty || !$0.target.isBounded }
        if !told.isEmpty {
            var table = TextTable(
                Self.columns.map { (title: $0.title, alignment: $0.isFigure ? .right : .left) })
            for outcome in told {
                table.add(outcome.cells.map { .init($0, isBold: !outcome.misses.isEmpty) })
            }
            text += table.rendered(emphasis: emphasis) + "\n"
        }
        for outcome in missed {
            for miss in outcome.misses { text += "\(outcome.name): \(miss)\n" }
        }
        return text + summary + "\n"
    }

    /// How many targets were reached, missed and moved.
    public var summary: String {
        let traces = Set(outcomes.map(\.trace)).count
        var text =
            "\(outcomes.count) \(outcomes.count == 1 ? "target" : "targets") on \(traces) \(traces == 1 ? "trace" : "traces"): "
        text += missed.isEmpty ? "none missed" : "\(missed.count) missed"
        text += moved.isEmpty ? ", none moved" : ", \(moved.count) moved"
        if !unbounded.isEmpty { text += ", \(unbounded.count) not recorded yet" }
        return text + "."
    }

    static let columns: [(title: String, isFigure: Bool)] = [
        ("trace", false), ("mode", false), ("policy", false), ("capacity", true), ("measured", true),
        ("recorded", true), ("moved", true), ("lowest", true), ("baseline", false), ("loss", true), ("highest", true),
        ("verdict", false),
    ]
}

extension TargetOutcome {
    /// The target in words: `../Traces/shop.csv, shared: lru at 1%`.
    public var name: String { "\(trace), \(mode.words): \(target.policy) at \(target.capacity)" }

    /// The outcome in the columns of a table.
    var cells: [String] {
        [
            trace, mode.words, target.policy, target.capacity, hitRatio.percent,
            target.hitRatio?.percent ?? "-", change?.signedHundredths ?? "-", target.lowestHitRatio?.percent ?? "-",
            target.baseline ?? "-", loss?.signedHundredths ?? "-", target.highestLoss?.signedHundredths ?? "-", verdict,
        ]
    }

    private var verdict: String {
        if !misses.isEmpty { return "MISSED" }
        return target.isBounded ? "reached" : "not recorded"
    }
}

extension ReplayMode {
    /// The mode for people.
    var words: String { self == .shared ? "shared" : "per user" }
}
