import HalcyonEviction
import HalcyonEvictionTestSupport
import Testing

/// W-TinyLFU with an adaptive window and with a doorkeeper, beside a model that follows Caffeine's simulator line by line:
/// lists as arrays, a climb after each request, the doorkeeper as a set of bit numbers.
@Suite("W-TinyLFU beside a model of Caffeine's simulator", .timeLimit(.minutes(20)))
struct AdaptiveWindowTests {
    static let traces = [
        MicroTrace(.zipf, sizes: .unit, count: 60_000, objects: 3_000, seed: 5),
        MicroTrace(.mixed, sizes: .unit, count: 60_000, objects: 2_000, seed: 6),
        MicroTrace(.loop, sizes: .unit, count: 60_000, objects: 2_000, seed: 7),
    ]

    @Test(
        "Every outcome equals that of the model of Caffeine's simulator", arguments: [40, 300, 600],
        ["adapt=simple", "doorkeeper=on", "adapt=simple,doorkeeper=on", "adapt=none"])
    func everyOutcomeEqualsTheSimulatorModel(capacity: Int, setting: String) throws {
        let policy = try PolicyCatalogue.classical.policy("w-tinylfu(\(setting))")
        let adapts = setting.contains("simple")
        var moved = 0
        for trace in Self.traces {
            var model = WindowModel(
                capacity: capacity, adapts: adapts, hasDoorkeeper: setting.contains("=on"))
            let cache = policy.makeCache(PolicyContext(capacity: capacity))
            var differences = 0
            for access in trace.accesses where cache.access(access).isHit != model.request(access.entry) {
                differences += 1
            }
            #expect(differences == 0, "\(setting) on \(trace) at \(capacity)")
            moved += model.moves
        }
        #expect((moved > 20) == adapts)
    }

    @Test("With variable sizes the window changes and every limit holds")
    func windowChangesWithVariableSizesWithinAllLimits() throws {
        let policy = try PolicyCatalogue.classical.policy("w-tinylfu(adapt=simple,doorkeeper=on)")
        for trace in MicroTrace.all where trace.sizes != .unit && trace.pattern != .scan {
            let run = CheckedRun(policy, trace.context(for: policy, capacity: 400))
            let initial = run.cache.metrics.first { $0.name == "window" }?.value
            run.serve(trace.accesses)
            #expect(run.record.breaches.isEmpty, "\(trace): \(run.record.breaches.prefix(3))")
            #expect(run.cache.metrics.first { $0.name == "window" }?.value != initial, "\(trace)")
        }
    }
}

/// `HillClimberWindowTinyLfuPolicy` with `SimpleClimber`, or with a fixed window.
private struct WindowModel {
    let capacity: Int
    let adapts: Bool
    /// Each list from the least to the most recent entry.
    var window: [EntryID] = []
    var probation: [EntryID] = []
    var protected: [EntryID] = []
    var maxWindow: Int
    var maxProtected: Int
    /// As in the simulator, the number of entries of the window and a fraction of an entry.
    var windowSize = 0.0
    var moves = 0
    private var sketch = FrequencySketchModel()
    private var doorkeeper: DoorkeeperModel?
    private var climber: ClimberModel

    init(capacity: Int, adapts: Bool, hasDoorkeeper: Bool) {
        self.capacity = capacity
        self.adapts = adapts
        let main = adapts ? Int(Double(capacity) * 0.99) : capacity - max(1, Int(0.01 * Double(capacity)))
        maxWindow = capacity - main
        maxProtected = Int(Double(main) * 0.8)
        doorkeeper = hasDoorkeeper ? DoorkeeperModel() : nil
        climber = ClimberModel(maximumSize: capacity)
    }

    var count: Int { window.count + probation.count + protected.count }

    /// Serves a request and returns whether it is a hit.
    mutating func request(_ key: EntryID) -> Bool {
        let isFull = count >= capacity
        record(key)
        let isHit = hit(key)
        if !isHit {
            window.append(key)
            windowSize += 1
            evict()
            if window.contains(key) || probation.contains(key) {
                let residents = count
                sketch.sketch.ensure(entries: residents)
                doorkeeper?.ensure(entries: residents)
            }
        }
        if adapts { climb(isHit: isHit, isFull: isFull) }
        return isHit
    }

    private mutating func record(_ key: EntryID) {
        if doorkeeper?.put(key) == true { return }
        if sketch.sketch.add(key) { doorkeeper?.bits.removeAll() }
    }

    private func frequency(_ key: EntryID) -> Int {
        min(sketch.sketch.estimate(key) + (doorkeeper?.mightContain(key) == true ? 1 : 0), 15)
    }

    private mutating func hit(_ key: EntryID) -> Bool {
        if let index = window.firstIndex(of: key) {
            window.append(window.remove(at: index))
        } else if let index = probation.firstIndex(of: key) {
            protected.append(probation.remove(at: index))
            demoteProtected()
        } else if let index = protected.firstIndex(of: key) {
            protected.append(protected.remove(at: index))
        } else {
            return false
        }
        return true
    }

    private mutating func demoteProtected() {
        if protected.count > maxProtected { probation.append(protected.removeFirst()) }
    }

    private mutating func evict() {
        if windowSize <= Double(maxWindow) { return }
        let candidate = window.removeFirst()
        windowSize -= 1
        probation.append(candidate)
        if count > capacity {
            let victim = probation[0]
            if frequency(candidate) > frequency(victim) { probation.removeFirst() } else { probation.removeLast() }
        }
    }

    private mutating func climb(isHit: Bool, isFull: Bool) {
        if isFull { if isHit { climber.hitsInSample += 1 } else { climber.missesInSample += 1 } }
        guard isFull, let amount = climber.adapt() else { return }
        moves += 1
        if amount > 0 {
            if maxProtected == 0 { return }
            let quota = min(amount, Double(maxProtected))
            let steps = Int(windowSize + quota) - Int(windowSize)
            windowSize += quota
            for _ in 0..<steps {
                maxWindow += 1
                maxProtected -= 1
                demoteProtected()
                window.append(probation.removeFirst())
            }
        } else {
            if maxWindow == 0 { return }
            let quota = min(-amount, Double(maxWindow))
            let steps = Int(windowSize) - Int(windowSize - quota)
            windowSize -= quota
            for _ in 0..<steps {
                maxWindow -= 1
                maxProtected += 1
                probation.insert(window.removeFirst(), at: 0)
            }
        }
    }
}

/// `SimpleClimber` with the default parameters of the simulator.
private struct ClimberModel {
    let maximumSize: Int
    let initialStepSize: Double
    let initialSampleSize: Int
    var stepSize: Double
    var sampleSize: Int
    var increaseWindow: Bool
    var previousHitRate = 0.0
    var hitsInSample = 0
    var missesInSample = 0

    init(maximumSize: Int) {
        self.maximumSize = maximumSize
        initialStepSize = max(0.0625 * Double(maximumSize), 2)
        initialSampleSize = Int(10 * Double(maximumSize))
        (stepSize, sampleSize) = (initialStepSize, initialSampleSize)
        increaseWindow = maximumSize <= 512
    }

    mutating func adapt() -> Double? {
        let count = hitsInSample + missesInSample
        if count < sampleSize { return nil }
        let hitRate = Double(hitsInSample) / Double(count)
        if hitRate < previousHitRate + 0 { increaseWindow.toggle() }
        if abs(hitRate - previousHitRate) >= 0.05 { (sampleSize, stepSize) = (initialSampleSize, initialStepSize) }
        let amount = increaseWindow ? stepSize : -stepSize
        (previousHitRate, hitsInSample, missesInSample) = (hitRate, 0, 0)
        if maximumSize <= 512 {
            stepSize *= 0.995
            let magnitude = max(initialStepSize / 4, abs(stepSize))
            let ratio = min(max(initialStepSize / magnitude, 1), 4)
            sampleSize = Int(Double(initialSampleSize) * ratio)
        } else {
            stepSize *= 0.98
            sampleSize = max(1, Int(Double(sampleSize) * 1))
        }
        return amount
    }
}

/// A box for the sketch, which cannot be copied and is tested elsewhere.
private final class FrequencySketchModel {
    var sketch = FrequencySketch(sampleFactor: 10)
}

/// A Bloom filter as a set of bit numbers. It doubles by adding each number again in the upper half.
private struct DoorkeeperModel {
    var bits: Set<UInt64> = []
    private var size: UInt64 = 128

    mutating func ensure(entries: Int) {
        while UInt64(entries) * 32 > size {
            for bit in bits { bits.insert(bit + size) }
            size *= 2
        }
    }

    func mightContain(_ key: EntryID) -> Bool { places(key).allSatisfy(bits.contains) }

    /// Adds an entry and returns whether a bit changed.
    mutating func put(_ key: EntryID) -> Bool {
        var changed = false
        for place in places(key) where bits.insert(place).inserted { changed = true }
        return changed
    }

    private func places(_ key: EntryID) -> [UInt64] {
        let hash = SplitMix64.mix(UInt64(key) + 1)
        return (UInt64(0)..<4).map { (hash &+ $0 &* (hash >> 32 | 1)) % size }
    }
}
