import Testing

@testable import HalcyonModel

@Suite("What single users add to a shared network")
struct UserCorrectionsTests {
    /// A sample whose first input is `value`; the constant stands where it does in every row.
    private func inputs(_ value: Float) -> [Float] {
        var row = [Float](repeating: 0, count: Feature.width)
        row[0] = value
        row[Feature.one] = 1
        return row
    }

    private func corrected(_ corrections: borrowing UserCorrections, _ user: UInt32, _ value: Float) -> Float {
        var logit: Float = 0
        corrections.correct(user, inputs(value), rows: 1, logits: &logit)
        return logit
    }

    @Test("Two users learn opposite things of the same input, each from their own samples")
    func apart() {
        var corrections = UserCorrections()
        let users = [corrections.open(), corrections.open(), corrections.open()]
        for index in 0..<2_000 {
            let value: Float = index % 2 == 0 ? 1 : -1
            corrections.learn(users[0], inputs(value), logit: 0, isPositive: value > 0)
            corrections.learn(users[1], inputs(value), logit: 0, isPositive: value < 0)
        }
        let high = [corrected(corrections, users[0], 1), corrected(corrections, users[1], -1)]
        let low = [corrected(corrections, users[0], -1), corrected(corrections, users[1], 1)]
        let none = [corrected(corrections, users[2], 1), corrected(corrections, UserCorrections.none, 1)]
        #expect(high.allSatisfy { $0 > 0.5 } && low.allSatisfy { $0 < -0.5 } && none == [0, 0], "\(high) \(low)")
    }

    @Test("A correction counts only once it has predicted better than the network alone, and enough samples")
    func trust() {
        var corrections = UserCorrections()
        let (young, idle) = (corrections.open(), corrections.open())
        for index in 0..<Int(UserCorrections.fewestSamples) {
            let countsEarly = corrections.counts(young)
            #expect(!countsEarly, "after \(index)")
            corrections.learn(young, inputs(1), logit: 0, isPositive: true)
        }
        let countsInTime = corrections.counts(young)
        #expect(countsInTime)
        // Labels that contradict themselves teach nothing.
        for index in 0..<500 {
            corrections.learn(idle, inputs(index % 2 == 0 ? 1 : -1), logit: 0, isPositive: index % 4 < 2)
        }
        let idleCounts = corrections.counts(idle)
        let logit = corrected(corrections, idle, 1)
        #expect(!idleCounts && logit == 0)
    }

    @Test("A correction that served gives way when habits turn")
    func turning() {
        var corrections = UserCorrections()
        let user = corrections.open()
        for _ in 0..<400 { corrections.learn(user, inputs(1), logit: 0, isPositive: true) }
        let before = corrected(corrections, user, 1)
        for _ in 0..<60 { corrections.learn(user, inputs(1), logit: 0, isPositive: false) }
        let after = corrected(corrections, user, 1)
        #expect(before > 0 && after == 0)
    }
}
