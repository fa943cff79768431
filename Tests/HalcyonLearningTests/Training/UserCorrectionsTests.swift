import Testing

@testable import HalcyonLearning

@Suite("Corrections of single users to a shared network", .timeLimit(.minutes(20)))
struct UserCorrectionsTests {
    /// A sample whose first input is `value`; the constant stands where it does in every row.
    private func inputs(_ value: Float) -> [Float] {
        var row = [Float](repeating: 0, count: Feature.width)
        row[0] = value
        row[Feature.one] = 1
        return row
    }

    private func corrected(_ corrections: borrowing UserCorrections, _ user: UInt32, _ value: Float) -> Float {
        corrections.correction(user, inputs(value))
    }

    @Test("Two users learn opposite weights for the same input, each from the user's own samples")
    func apart() {
        var corrections = UserCorrections(blas: BLAS(.portable))
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

    @Test("A correction is used only after enough samples, and if it predicts better than the network alone")
    func trust() {
        var corrections = UserCorrections(blas: BLAS(.portable))
        let (young, idle) = (corrections.open(), corrections.open())
        for index in 0..<Int(UserCorrections.fewestSamples) {
            let isUsedEarly = corrections.isUsed(young)
            #expect(!isUsedEarly, "after \(index)")
            corrections.learn(young, inputs(1), logit: 0, isPositive: true)
        }
        let isUsedInTime = corrections.isUsed(young)
        #expect(isUsedInTime)
        // Contradictory labels teach nothing.
        for index in 0..<500 {
            corrections.learn(idle, inputs(index % 2 == 0 ? 1 : -1), logit: 0, isPositive: index % 4 < 2)
        }
        let isIdleUsed = corrections.isUsed(idle)
        let logit = corrected(corrections, idle, 1)
        #expect(!isIdleUsed && logit == 0)
    }

    @Test("A correction is no longer used when the user's behaviour reverses")
    func turning() {
        var corrections = UserCorrections(blas: BLAS(.portable))
        let user = corrections.open()
        for _ in 0..<400 { corrections.learn(user, inputs(1), logit: 0, isPositive: true) }
        let before = corrected(corrections, user, 1)
        for _ in 0..<60 { corrections.learn(user, inputs(1), logit: 0, isPositive: false) }
        let after = corrected(corrections, user, 1)
        #expect(before > 0 && after == 0)
    }

    @Test("It adds the same to samples in columns as to single ones")
    func columns() {
        var corrections = UserCorrections(blas: BLAS(.portable))
        let (user, idle) = (corrections.open(), corrections.open())
        for index in 0..<1_000 {
            let value: Float = index % 2 == 0 ? 1 : -1
            corrections.learn(user, inputs(value), logit: 0, isPositive: value > 0)
        }
        let values: [Float] = [-2, -0.5, 0, 0.25, 1]
        var matrix = [Float](repeating: 0, count: Feature.width * values.count)
        for (column, value) in values.enumerated() {
            for (row, input) in inputs(value).enumerated() { matrix[row * values.count + column] = input }
        }
        var logits = [Float](repeating: 3, count: values.count)
        corrections.correct(user, columns: matrix, count: values.count, logits: &logits)
        for (logit, value) in zip(logits, values) {
            let alone = corrected(corrections, user, value)
            #expect(abs(logit - 3 - alone) < 1e-5 && (value == 0 || alone != 0))
        }
        corrections.correct(idle, columns: matrix, count: values.count, logits: &logits)
        corrections.correct(UserCorrections.none, columns: matrix, count: values.count, logits: &logits)
        #expect(abs(logits[4] - 3 - corrected(corrections, user, 1)) < 1e-5)
    }
}
