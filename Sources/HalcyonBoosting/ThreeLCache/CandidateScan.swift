/// How 3L-Cache chooses the residents whose next requests are predicted, and how it adapts the choice.
///
/// A scan passes the residents from the least recently to the most recently requested one. Every resident of its first
/// `headPercent` is a candidate, later ones only with few requests (``frequencyLimit``). At the end of a scan the
/// limits follow the evictions of that scan, unless the objective is `object-miss-ratio`: then every resident is a
/// candidate.
struct CandidateScan {
    /// The candidates of a part of the scan, and the evictions of objects that the scan had passed.
    struct Part {
        var evictions = 0
        var candidates = 0
    }

    /// The residents evicted for each candidate predicted: 1 of 2.
    static let candidatesPerEviction = 2

    /// The most candidates of one step.
    let largestStep: Int
    /// Whether the limits follow the evictions.
    let adapts: Bool

    /// The number of residents when the scan began.
    private(set) var length = 0
    /// The number of residents passed.
    private(set) var passed = 0
    /// The candidates of one step.
    private(set) var step: Int
    /// The requests of a candidate after its first one, at most one less.
    private(set) var frequencyLimit: Int
    /// The percentage of the residents in which all are candidates.
    private(set) var headPercent = 1
    /// The new objects that are not candidates yet may take this percentage of the size used.
    private(set) var reservedPercent = 2
    /// The part of the scan that is in progress, and the head once it is complete.
    private var part = Part()
    private var head = Part()
    /// The evictions by the base-2 logarithm of the frequency.
    private var evictionsByFrequency = [Int](repeating: 0, count: 16)

    init(largestStep: Int, adapts: Bool) {
        self.largestStep = largestStep
        self.adapts = adapts
        step = largestStep
        frequencyLimit = adapts ? 1 : Int(ThreeLRecord.largestFrequency)
    }

    /// Begins a step.
    mutating func beginStep(residents: Int) {
        if length == 0 { length = residents }
        limitStep()
    }

    /// Passes a resident and returns whether it is a candidate.
    mutating func pass(frequency: UInt16) -> Bool {
        let headLength = length * headPercent / 100
        if head.candidates == 0, passed > headLength { (head, part) = (part, Part()) }
        let isCandidate =
            Int(frequency) - 1 < frequencyLimit || passed <= headLength + Self.candidatesPerEviction
        passed += 1
        return isCandidate
    }

    /// Whether every resident was passed.
    var isComplete: Bool { passed >= length }

    /// Begins the next scan.
    ///
    /// - Parameter waiting: the new objects that are not candidates yet.
    mutating func restart(residents: Int, waiting: Int) {
        length = residents
        step = largestStep
        limitStep()
        passed = 0
        guard adapts else { return }
        adaptFrequencyLimit()
        if head.evictions * part.candidates > part.evictions * head.candidates {
            headPercent = min(headPercent + 1, 255)
        } else if headPercent > 1 {
            headPercent -= 1
        }
        if part.evictions + head.evictions > waiting {
            reservedPercent = min(reservedPercent + 1, 255)
        } else if reservedPercent > 1 {
            reservedPercent /= 2
        }
        (part, head) = (Part(), Part())
        evictionsByFrequency = [Int](repeating: 0, count: 16)
    }

    /// Ends a step.
    mutating func endStep() { part.candidates += step }

    /// Counts an eviction.
    ///
    /// - Parameter wasPassed: whether the last request is not after that of the last candidate.
    mutating func countEviction(frequency: UInt16, wasPassed: Bool) {
        evictionsByFrequency[15 - frequency.leadingZeroBitCount] += 1
        if wasPassed { part.evictions += 1 }
    }

    private mutating func limitStep() {
        let share = Int(Double(length) * 0.01) + Self.candidatesPerEviction
        if step >= share { step = length > 2 ? share : 1 }
    }

    /// Sets the limit to the frequency that 99 % of the evicted objects have at most, interpolated between powers of 2.
    private mutating func adaptFrequencyLimit() {
        let wanted = 0.99 * Double(evictionsByFrequency.reduce(0, +))
        var sum = 0
        for (power, evictions) in evictionsByFrequency.enumerated() {
            sum += evictions
            guard Double(sum) >= wanted else { continue }
            if power == 0 {
                frequencyLimit = 1
            } else {
                let half = 1 << (power - 1)
                let share = (wanted + Double(evictions - sum)) / Double(evictions)
                frequencyLimit = half + Int((Double(half) * share).rounded(.up))
            }
            return
        }
    }
}
