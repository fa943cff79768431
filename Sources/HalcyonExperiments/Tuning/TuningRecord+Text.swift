import HalcyonSimulation

extension TuningRun.Outcome {
    /// The report as text: the search, the best candidates, the test by cell, and what the figures mean.
    ///
    /// - Parameters:
    ///   - shown: the number of candidates to list; the finalists are always listed.
    ///   - emphasis: whether to set the chosen candidate in bold, as on a terminal.
    public func text(shown: Int = 5, emphasis: Bool = false) -> String {
        var text = record.heading + "\n\n" + record.candidateTable(shown: shown, emphasis: emphasis) + "\n"
        text += record.choiceSentence + "\n"
        if record.test != nil { text += "\n" + record.testTable + "\n" }
        for sentence in record.sentences { text += sentence + "\n" }
        return text + "\(ran.counted("cell")) run now; the others were stored. Tuning: \(file)\n"
    }
}

extension TuningRecord {
    /// What was searched, and at what cost.
    var heading: String {
        let seed = identity.seed.map { ", seed \($0)" } ?? ""
        let searched = identity.space.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return "\(defaults.policy) on the suite '\(suite)': \(identity.search.rawValue) search\(seed), "
            + "\((candidates.count - 1).counted("candidate")) in \(spent.decimals(2)) of \(identity.budget) passes over the "
            + "training traces.\nSearched: \(searched.joined(separator: "; ")).\n"
            + "Scores are miss ratios divided by LRU's, averaged over cells; lower is better."
    }

    /// The finalists and the best other candidates, in the order of the validation and training scores.
    func candidateTable(shown: Int, emphasis: Bool) -> String {
        let rungs = candidates[0].training.map(\.share)
        var table = TextTable(
            [("candidate", .left)] + rungs.map { ($0 == "1" ? "training" : "training \($0)", .right) }
                + [("validation", .right), ("", .left)])
        let order = candidates.indices.sorted { one, other in
            let (left, right) = (candidates[one], candidates[other])
            if left.validation != nil || right.validation != nil {
                return (left.validation ?? .infinity, one) < (right.validation ?? .infinity, other)
            }
            if left.training.count != right.training.count { return left.training.count > right.training.count }
            return (left.training.last?.score ?? .infinity, one) < (right.training.last?.score ?? .infinity, other)
        }
        let finalists = candidates.count { $0.validation != nil }
        for number in order.prefix(max(shown, finalists)) {
            let candidate = candidates[number]
            let scores = rungs.indices.map { rung in
                rung < candidate.training.count ? candidate.training[rung].score.decimals(4) : "-"
            }
            let role = [number == choice ? "chosen" : nil, number == 0 ? "as given" : nil].compactMap { $0 }
            let cells =
                [candidate.policy] + scores
                + [candidate.validation?.decimals(4) ?? "-", role.joined(separator: ", ")]
            table.add(cells.map { .init($0, isBold: number == choice) })
        }
        return table.rendered(emphasis: emphasis)
    }

    /// Which candidate was chosen, and why.
    var choiceSentence: String {
        choice == 0
            ? "Chosen: \(chosen.policy) as given; no candidate has a lower score on the validation traces."
            : "Chosen: \(chosen.policy), which has the lowest score on the validation traces."
    }

    /// The hit ratios of the test by cell.
    var testTable: String {
        guard let test else { return "" }
        var table = TextTable([
            ("test trace", .left), ("mode", .left), ("capacity", .right), ("lru", .right), ("as given", .right),
            ("chosen", .right), ("points", .right), ("95 % interval", .right),
        ])
        for cell in test.cells {
            let trace = [cell.trace, cell.models.map { "models \($0.rawValue)" }, cell.prefetch].compactMap { $0 }
            let interval = cell.contrast.interval
            table.add(
                [
                    trace.joined(separator: ", "), cell.mode.words, cell.capacity, cell.lru.percent,
                    cell.defaults.percent,
                    cell.chosen.percent, cell.contrast.difference.signedHundredths,
                    "\(interval.low.signedHundredths) to \(interval.high.signedHundredths)",
                ].map { .init($0) })
        }
        return table.rendered()
    }

    /// What the figures mean, in sentences.
    var sentences: [String] {
        var sentences: [String] = []
        guard let test else { return ["The test traces have not been replayed yet."] }
        if choice != 0 {
            let better = test.cells.count { $0.contrast.interval.low > 0 }
            let worse = test.cells.count { $0.contrast.interval.high < 0 }
            sentences.append(
                "The chosen parameters hit more often in \(better) of \(test.cells.counted) and less often in \(worse), by "
                    + "intervals of 95 % for each cell alone.")
            if isRandomised, !hasRunNoise {
                sentences.append("The intervals leave out the chance of a run: there is one seed.")
            }
        }
        sentences.append(gapSentence(test))
        sentences.append(lookSentence(test.look))
        return sentences
    }

    /// Compares the gain on the test traces with that on the training traces.
    private func gapSentence(_ test: Test) -> String {
        let training = (defaults.fullTraining ?? 0) - (chosen.fullTraining ?? 0)
        let validation = (defaults.validation ?? 0) - (chosen.validation ?? 0)
        let gain = test.defaults - test.chosen
        if choice == 0 {
            return "The test score of the policy as given is \(test.defaults.decimals(4)). There is no gain to compare."
        }
        let figures =
            "Gain over the policy as given, in score: training \(training.decimals(4)), validation \(validation.decimals(4)), "
            + "test \(gain.decimals(4)) (from \(test.defaults.decimals(4)) to \(test.chosen.decimals(4)))."
        if gain < 0 {
            return figures + " On the test traces the chosen parameters are worse: the gain was that of chance."
        }
        guard training > 0 else { return figures }
        let share = gain / training
        return figures
            + (share >= 1
                ? " The whole training gain remains on the test traces."
                : " \((share * 100).decimals(0)) % of the training gain remain on the test traces; the rest fitted the training "
                    + "traces.")
    }

    private func lookSentence(_ look: Int) -> String {
        look == 1
            ? "First look at these test traces for \(identity.policy) in this folder of results."
            : "\(Self.ordinal(look)) look at these test traces for \(identity.policy) in this folder of results: "
                + "\((look - 1).counted("other tuning")) reported on them before, so the test is no longer independent."
    }

    /// A number as an ordinal: `Third`, `12th`.
    static func ordinal(_ number: Int) -> String {
        let words = ["First", "Second", "Third", "Fourth", "Fifth", "Sixth", "Seventh", "Eighth", "Ninth", "Tenth"]
        if number >= 1, number <= words.count { return words[number - 1] }
        switch (number % 10, number % 100) {
        case (_, 11...13): return "\(number)th"
        case (1, _): return "\(number)st"
        case (2, _): return "\(number)nd"
        case (3, _): return "\(number)rd"
        default: return "\(number)th"
        }
    }
}

extension [TuningRecord.TestCell] {
    fileprivate var counted: String { count.counted("test cell") }
}
