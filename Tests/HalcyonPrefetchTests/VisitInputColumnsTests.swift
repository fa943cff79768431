import HalcyonEviction
import HalcyonLearning
import Testing

@testable import HalcyonPrefetch

/// The inputs of many objects compared with those of one object, and the predictions with those of learning.
@Suite("Inputs of a visit as columns", .timeLimit(.minutes(20)))
struct VisitInputColumnsTests {
    private let day: Int64 = 86_400_000_000

    /// A history of 70 objects in 5 category sets and one without, and a user with visits to two of three.
    private func history() -> (VisitHistory, VisitUser, Int64) {
        var (history, user) = (VisitHistory(), VisitUser())
        var generator = SplitMix64(seed: 3)
        (user.visit, user.size, user.returning) = (9, 12.5, 0.4)
        user.categories = [(1, 3), (2, 7), (4, 1), (9, 2)]
        user.categoryTotal = 13
        for request in 0..<400 {
            let object = UInt32(generator.next(below: 70))
            let access = Access(
                entry: object, time: Int64(request) * day / 10, categories: object % 6, user: 0, object: object)
            history.count(access, isReturn: generator.next(below: 3) == 0)
        }
        for object in 0..<UInt32(70) {
            var item = VisitItem(object: object)
            if object % 3 > 0 {
                item.visits = object % 5 + 1
                (item.firstVisit, item.lastVisit) = (Int32(object % 4), Int32(object % 4 + 5))
                (item.firstTime, item.lastTime) = (Int64(object) * day / 7, Int64(object) * day / 5)
                item.counts = SIMD3(Float(object) * 0.1, Float(object) * 0.2, Float(object) * 0.3)
            }
            user.items.append(item)
        }
        return (history, user, 41 * day)
    }

    /// The inputs of one object by their definitions.
    private func inputs(_ item: VisitItem, _ history: VisitHistory, _ moment: VisitHistory.Moment) -> [Float] {
        let (object, time) = (history.objects[Int(item.object)], moment.time)
        let own: Float = item.visits > 0 ? 1 : 0
        let expected = VisitHistory.popularity(object, at: time) * moment.expectedShare
        let (fast, slow) = (FastMath.log2(expected.x + 1e-4) * 0.2, FastMath.log2(expected.y + 1e-4) * 0.2)
        let returns = FastMath.log2((object.returns + 1) / (object.visits + 5))
        var (share, setReturns): (Float, Float) = (0, 0)
        if object.set > 0 {
            let count = moment.categories.first { $0.set == object.set }?.count ?? 0
            share = FastMath.log2(count / moment.categoryTotal + 0.01) * 0.3
            let set = history.sets[Int(object.set)]
            setReturns = FastMath.log2((set.returns + 1) / (set.visits + 5)) + 2
        }
        let known = FastMath.log2(1 + VisitHistory.days(from: object.firstTime, to: time)) * 0.2
        let common = [
            1, own, fast, slow, own * slow, returns, moment.size, moment.returning, own * returns, share, setReturns,
            known,
        ]
        guard item.visits > 0 else { return common + [Float](repeating: 0, count: 10) }
        let age = VisitHistory.days(from: item.lastTime, to: time)
        let decayed = (0..<3).map {
            FastMath.log2(item.counts[$0] * FastMath.exp2(-age / VisitHistory.ownHalfLives[$0]) + 0.05) * 0.3
        }
        let (visits, since) = (Float(item.visits), Float(moment.visit - item.lastVisit))
        var ratio: Float = 0
        if item.visits > 1 {
            let gap = VisitHistory.days(from: item.firstTime, to: item.lastTime) / (visits - 1)
            ratio = max(-4, min(4, FastMath.log2((age + 0.05) / (gap + 0.05))))
        }
        return common + [FastMath.log2(visits) * 0.5, visits / Float(moment.visit - item.firstVisit + 1)] + decayed
            + [1 / (1 + since), FastMath.log2(1 + since) * 0.3, FastMath.log2(1 + age) * 0.2]
            + [ratio * 0.3, ratio * ratio * 0.1]
    }

    @Test("Each column has the inputs of its object, and each prediction is that of learning")
    func columnsAndPredictionsEqualThoseOfOneObject() {
        let (history, user, time) = history()
        let moment = history.moment(of: user, at: time)
        var columns = VisitInputColumns()
        var model = OnlineNetwork(inputs: VisitInputColumns.inputCount, seed: 5)
        for item in user.items {
            _ = model.learn(inputs(item, history, moment), isRequested: item.object % 2 == 0)
        }
        var probabilities = [Float](repeating: 0, count: VisitInputColumns.length)
        columns.begin(moment, sets: history.sets.count)
        for (first, count) in [(0, 64), (64, 6)] {
            let items = Array(user.items[first..<first + count])
            columns.describe(items, count: count, known: count, of: history, at: moment)
            model.predict(columns.matrix, count: count, length: VisitInputColumns.length, into: &probabilities)
            for (column, item) in items.enumerated() {
                let expected = inputs(item, history, moment)
                var row: [Float] = []
                columns.append(column, to: &row)
                #expect(row.map(\.bitPattern) == expected.map(\.bitPattern), "object \(item.object)")
                var copy = model
                let learned = copy.learn(expected, isRequested: false)
                #expect(probabilities[column].bitPattern == learned.bitPattern, "object \(item.object)")
            }
        }
        columns.end(moment)
    }
}
