import HalcyonSupport
import Testing

@testable import HalcyonBoosting

@Suite("Boosted trees in LightGBM's text format", .timeLimit(.minutes(20)))
struct BoostedTreesTests {
    /// A tree of three leaves on two features, and one without a split.
    static let text = """
        tree
        version=v4
        num_class=1
        max_feature_idx=1

        Tree=0
        num_leaves=3
        num_cat=0
        split_feature=1 0
        threshold=2.5 -1
        decision_type=2 2
        left_child=1 -1
        right_child=-3 -2
        leaf_value=10 20 30
        shrinkage=1

        Tree=1
        num_leaves=1
        num_cat=0
        leaf_value=0.25

        end of trees

        feature_importances:
        """

    @Test("A value of at most the threshold goes left; the leaves of all trees add up")
    func predictionAddsTheLeavesOfAllTrees() throws {
        let trees = try BoostedTrees(text: Self.text, features: 2)
        #expect(trees.count == 2)
        for (row, expected) in [
            ([-1.0, 2.5], 10.25), ([-0.5, 2.5], 20.25), ([-1.0, 2.6], 30.25), ([0.0, 0.0], 20.25),
            ([-9.0, -9.0], 10.25),
        ] {
            #expect(trees.predict(row) == expected, "\(row)")
        }
        #expect(BoostedTrees().predict([1]) == 0)
        // Several rows at once: four, and the rest one by one.
        let rows: [Double] = [-1, 2.5, -0.5, 2.5, -1, 2.6, 0, 0, -9, -9, 4, 4]
        var sums = [Double](repeating: 7, count: 6)
        trees.predict(rows, count: 6, features: 2, into: &sums)
        #expect(sums == [10.25, 20.25, 30.25, 20.25, 10.25, 30.25])
    }

    @Test(
        "A text that is no such model is refused",
        arguments: [
            ("end of trees", "", "no end of trees"),
            ("leaf_value=10 20 30", "leaf_value=10 20", "2 leaves and 2 splits"),
            ("threshold=2.5 -1", "threshold=2.5 x", "'x', which is no number"),
            ("threshold=2.5 -1", "threshold=2.5", "3 leaves and 2 splits"),
            ("decision_type=2 2", "decision_type=2 1", "not numerical"),
            ("decision_type=2 2", "decision_type=2 10", "missing values"),
            ("split_feature=1 0", "split_feature=2 0", "does not exist"),
            ("left_child=1 -1", "left_child=2 -1", "does not exist"),
            ("right_child=-3 -2", "right_child=-4 -2", "does not exist"),
            ("right_child=-3 -2", "right_child=-3 1", "does not exist"),
        ])
    func malformedModelTextIsRefused(part: String, replacement: String, sentence: String) throws {
        let text = Self.text.replacing(part, with: replacement)
        #expect(text != Self.text)
        let error = #expect(throws: BoostedTrees.Malformed.self) { try BoostedTrees(text: text, features: 2) }
        #expect(error?.description.contains(sentence) == true, "\(error?.description ?? "none")")
    }

    @Test("A missing library gives one sentence that names HALCYON_LIGHTGBM")
    func missingLibraryIsOneSentence() {
        let error = #expect(throws: LightGBM.Missing.self) { try LightGBM(path: "/nowhere/lib_lightgbm.so") }
        let sentence = error?.description ?? ""
        #expect(sentence.hasPrefix("LightGBM cannot be loaded (/nowhere/lib_lightgbm.so: "), "\(sentence)")
        #expect(sentence.contains("HALCYON_LIGHTGBM") && !sentence.contains("\n"))
    }

    @Test("Predictions equal LightGBM's, bit for bit, and training is repeatable")
    func predictionsEqualLightGBMsBits() throws {
        guard let library = lightGBM(for: "the comparison of predictions") else { return }
        var (set, generator) = (TrainingSet(features: 5), SplitMix64(seed: 7))
        for _ in 0..<4_000 {
            // Some values are 0 and some equal, as features of objects are.
            let row = (0..<5).map { _ in Double(generator.next(below: 9)) * (generator.nextUnit() < 0.3 ? 0 : 1.25) }
            set.append(row, label: Float(row[0] * row[1] - 3 * row[2] + generator.nextUnit()))
        }
        let parameters = TreeParameters(trees: 20, leaves: 31)
        let trees = library.train(set, parameters)
        let own = (0..<set.count).map { index in
            set.values.withUnsafeBufferPointer { values in
                values.baseAddress.map { trees.predict($0 + index * 5) }
            }
        }
        #expect(trees.count == 20)
        #expect(own == library.trainedPredictions(set, parameters))
        var together = [Double](repeating: 0, count: set.count)
        trees.predict(set.values, count: set.count, features: 5, into: &together)
        #expect(own == together)
        #expect(Set(own).count > 100)
        let again = library.train(set, parameters)
        #expect(again.predict(Array(set.values.prefix(5))) == own[0])
    }
}
