import CProcessor
import HalcyonEviction
import HalcyonLearning

/// The inputs of an ``OnlineNetwork`` for the next visit, for some objects of a user: a matrix with a row for each input and a column for each object.
///
/// Each input is one loop over the objects, which the compiler vectorizes. A number has the same bits as if it were computed for its
/// object alone. Writing is O(``inputCount`` × ``length``). Bytes: 9 kB, and 4 a category set.
struct VisitInputColumns: ~Copyable {
    /// The number of inputs, the constant 1 included.
    static let inputCount = 22
    /// The most objects.
    static let length = 64
    /// How many objects ahead their statistics are read into the processor's cache.
    private static let lookahead = 8

    /// The rows of plain numbers that several inputs are computed from.
    private enum Plain: Int, CaseIterable {
        case objectAge, fast, slow, returns, visits, objectSpan, share, setReturns
        case hasSet, knowsSet
        case age, count0, count1, count2, ownVisits, visitSpan, since, span, gaps
    }

    private let inputs = HeapArray<Float>(repeating: 0, count: inputCount * length)
    private let plain = HeapArray<Float>(repeating: 0, count: Plain.allCases.count * length)
    /// The number of the user's visits with each category set; 0 except between ``begin(_:sets:)`` and ``end(_:)``.
    private var countsBySet: [Float] = []

    /// The matrix; the rows are ``length`` numbers apart.
    var matrix: UnsafePointer<Float> { UnsafePointer(inputs.base) }

    var byteCount: Int { inputs.byteCount + plain.byteCount + countsBySet.capacity * MemoryLayout<Float>.stride }

    /// Appends the inputs of one object to a list.
    func append(_ column: Int, to list: inout [Float]) {
        for input in 0..<Self.inputCount { list.append(inputs[input * Self.length + column]) }
    }

    /// Prepares the categories of a user, for the calls that follow.
    mutating func begin(_ moment: VisitHistory.Moment, sets: Int) {
        if countsBySet.count < sets {
            countsBySet.append(contentsOf: repeatElement(0, count: sets - countsBySet.count))
        }
        for category in moment.categories where Int(category.set) < sets {
            countsBySet[Int(category.set)] = category.count
        }
    }

    /// Forgets the categories of the user.
    mutating func end(_ moment: VisitHistory.Moment) {
        for category in moment.categories where Int(category.set) < countsBySet.count {
            countsBySet[Int(category.set)] = 0
        }
    }

    /// Writes the inputs of the first `count` items.
    ///
    /// - Parameter known: the number of items from the first on, of which the next are read into the processor's cache.
    mutating func describe(
        _ items: UnsafePointer<VisitItem>, count: Int, known: Int, of history: VisitHistory,
        at moment: VisitHistory.Moment
    ) {
        history.objects.withUnsafeBufferPointer { objects in
            history.sets.withUnsafeBufferPointer { sets in
                for column in 0..<count {
                    if column + Self.lookahead < known {
                        let next = objects.baseAddress.unsafelyUnwrapped + Int(items[column + Self.lookahead].object)
                        halcyon_prefetch(next)
                    }
                    read(items[column], objects, sets, column, at: moment)
                }
            }
        }
        writeCommonInputs(count, at: moment)
        writeOwnInputs(count)
    }

    /// Sets the plain numbers of one item.
    @inline(__always)
    private func read(
        _ item: VisitItem, _ objects: UnsafeBufferPointer<VisitObject>, _ sets: UnsafeBufferPointer<VisitObject>,
        _ column: Int, at moment: VisitHistory.Moment
    ) {
        func set(_ row: Plain, _ number: Float) { plain[row.rawValue &* Self.length &+ column] = number }
        func microseconds(_ start: Int64, _ end: Int64) -> Float { Float(max(end &- start, 0)) }
        let object = objects[Int(item.object)]
        set(.objectAge, microseconds(object.time, moment.time))
        set(.fast, object.counts.x)
        set(.slow, object.counts.y)
        set(.returns, object.returns)
        set(.visits, object.visits)
        set(.objectSpan, microseconds(object.firstTime, moment.time))
        let knowsSet = object.set > 0 && Int(object.set) < sets.count
        set(.hasSet, object.set > 0 ? 1 : 0)
        set(.knowsSet, knowsSet ? 1 : 0)
        set(.setReturns, knowsSet ? (sets[Int(object.set)].returns + 1) / (sets[Int(object.set)].visits + 5) : 1)
        if knowsSet {
            set(.share, countsBySet[Int(object.set)])
        } else {
            set(.share, moment.categories.last { $0.set == object.set && object.set > 0 }?.count ?? 0)
        }
        set(.age, microseconds(item.lastTime, moment.time))
        set(.count0, item.counts.x)
        set(.count1, item.counts.y)
        set(.count2, item.counts.z)
        set(.ownVisits, Float(item.visits))
        set(.visitSpan, Float(moment.visit &- item.firstVisit &+ 1))
        set(.since, Float(moment.visit &- item.lastVisit))
        set(.span, microseconds(item.firstTime, item.lastTime))
        set(.gaps, Float(item.visits &- 1))
    }

    private func row(_ row: Plain) -> UnsafeMutablePointer<Float> { plain.base + row.rawValue * Self.length }
    private func input(_ number: Int) -> UnsafeMutablePointer<Float> { inputs.base + number * Self.length }

    /// Writes the inputs that every object has.
    private func writeCommonInputs(_ count: Int, at moment: VisitHistory.Moment) {
        let (objectAge, fast, slow, share) = (row(.objectAge), row(.fast), row(.slow), row(.share))
        let (returns, visits, setReturns, objectSpan) = (
            row(.returns), row(.visits), row(.setReturns), row(.objectSpan)
        )
        let (hasSet, knowsSet, ownVisits) = (row(.hasSet), row(.knowsSet), row(.ownVisits))
        let (first, isOwn, i2, i3, i4, i5) = (input(0), input(1), input(2), input(3), input(4), input(5))
        let (i6, i7, i8, i9, i10, i11) = (input(6), input(7), input(8), input(9), input(10), input(11))
        let (halfLives, day) = (VisitHistory.commonHalfLives, VisitHistory.microsecondsPerDay)
        let (expected, size, returning, total) = (
            moment.expectedShare, moment.size, moment.returning, moment.categoryTotal
        )
        for column in 0..<count {
            let age = objectAge[column] / day
            let own: Float = ownVisits[column] > 0 ? 1 : 0
            let expectedFast = fast[column] * FastMath.exp2(-age / halfLives.x) * expected.x
            let expectedSlow = slow[column] * FastMath.exp2(-age / halfLives.y) * expected.y
            first[column] = 1
            isOwn[column] = own
            i2[column] = FastMath.log2(expectedFast + 1e-4) * 0.2
            i3[column] = FastMath.log2(expectedSlow + 1e-4) * 0.2
            i4[column] = own * i3[column]
        }
        for column in 0..<count {
            i5[column] = FastMath.log2((returns[column] + 1) / (visits[column] + 5))
            i6[column] = size
            i7[column] = returning
            i8[column] = isOwn[column] * i5[column]
            let logShare = FastMath.log2(share[column] / total + 0.01) * 0.3
            i9[column] = hasSet[column] > 0 ? logShare : 0
            let logReturns = FastMath.log2(setReturns[column]) + 2
            i10[column] = knowsSet[column] > 0 ? logReturns : 0
            i11[column] = FastMath.log2(1 + objectSpan[column] / day) * 0.2
        }
    }

    /// Writes the inputs of objects that the user has requested; they are 0 for others.
    private func writeOwnInputs(_ count: Int) {
        let (own, ages, gaps, spans) = (row(.ownVisits), row(.age), row(.gaps), row(.span))
        let (visitSpan, sinces) = (row(.visitSpan), row(.since))
        let (c0, c1, c2) = (row(.count0), row(.count1), row(.count2))
        let (i12, i13, i14, i15, i16) = (input(12), input(13), input(14), input(15), input(16))
        let (i17, i18, i19, i20, i21) = (input(17), input(18), input(19), input(20), input(21))
        let (halfLives, day) = (VisitHistory.ownHalfLives, VisitHistory.microsecondsPerDay)
        for column in 0..<count {
            let (visits, age) = (own[column], ages[column] / day)
            let decayed0 = c0[column] * FastMath.exp2(-age / halfLives.x)
            let decayed1 = c1[column] * FastMath.exp2(-age / halfLives.y)
            let decayed2 = c2[column] * FastMath.exp2(-age / halfLives.z)
            let isOwn = visits > 0
            let (log0, log1, log2) = (
                FastMath.log2(decayed0 + 0.05) * 0.3, FastMath.log2(decayed1 + 0.05) * 0.3,
                FastMath.log2(decayed2 + 0.05) * 0.3
            )
            i14[column] = isOwn ? log0 : 0
            i15[column] = isOwn ? log1 : 0
            i16[column] = isOwn ? log2 : 0
        }
        for column in 0..<count {
            let (visits, age, since) = (own[column], ages[column] / day, sinces[column])
            let isOwn = visits > 0
            let (logVisits, logSince, logAge) = (
                FastMath.log2(visits) * 0.5, FastMath.log2(1 + since) * 0.3, FastMath.log2(1 + age) * 0.2
            )
            let (ratioOfVisits, recency) = (visits / visitSpan[column], 1 / (1 + since))
            i12[column] = isOwn ? logVisits : 0
            i13[column] = isOwn ? ratioOfVisits : 0
            i17[column] = isOwn ? recency : 0
            i18[column] = isOwn ? logSince : 0
            i19[column] = isOwn ? logAge : 0
            let gap = spans[column] / day / gaps[column]
            let ratio = max(-4, min(4, FastMath.log2((age + 0.05) / (gap + 0.05))))
            let (linear, square) = (ratio * 0.3, ratio * ratio * 0.1)
            i20[column] = visits > 1 ? linear : 0
            i21[column] = visits > 1 ? square : 0
        }
    }
}
