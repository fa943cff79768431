import HalcyonEviction
import HalcyonLearning

/// Which candidates are learnt from: of those that somebody asked for as many as there is time for, and of the others those of
/// which the network was less sure.
///
/// Candidates that are asked for are few, and only they can tell the network what it did not know; of the rest a share
/// in proportion to their probability tells nearly as much as all do. What the network says of such a sample is shifted by the
/// logarithm of that share while it learns, so that it learns the probability among all (Fithian and Hastie: Local
/// case-control sampling: efficient subsampling in imbalanced data sets, The Annals of Statistics 42, 2014).
struct CaseControl: ~Copyable {
    /// The minShare share of those that nobody asks for.
    private static let minShare: Float = 0.02
    /// What is kept of the count of offered samples at the next request.
    private static let memory: Float = 0.999

    /// How many that nobody asks for are learnt from for each that somebody is expected to ask for.
    private let controls: Float
    /// The most samples a request.
    private let sampling: Float
    private var generator: SplitMix64
    private var shares = HeapArray<Float>(repeating: 0, count: CandidateList.bound)
    /// How many samples a request were offered of late.
    private var offered: Float = 0

    init(controls: Double, sampling: Double, seed: UInt64) {
        self.controls = Float(controls)
        self.sampling = Float(sampling)
        generator = SplitMix64(seed: seed)
    }

    var byteCount: Int { shares.byteCount }

    /// The share that is learnt from of the candidates with this logit that nobody asks for, by that of those that somebody does.
    @inline(__always)
    func share(_ logit: Float) -> Float { max(Self.minShare, min(1, controls * FastMath.sigmoid(logit))) }

    /// By how much a logit is greater among those that are learnt from.
    @inline(__always)
    static func offset(ofShare share: Float) -> Float { FastMath.log2(share) * -0.693_147_2 }

    /// Draws which candidates are learnt from if nobody asks for them, each with its share: a bit each. Systematically, which
    /// takes one random number.
    mutating func draw(_ logits: UnsafePointer<Float>, count: Int) -> UInt32 {
        for index in 0..<count { shares[index] = share(logits[index]) }
        var (sum, passed, drawn): (Float, Float, UInt32) = (Float(generator.nextUnit()), 1, 0)
        for index in 0..<count {
            sum += shares[index]
            if sum < passed { continue }
            passed += 1
            drawn |= 1 << UInt32(index)
        }
        return drawn
    }

    /// Takes account of a request.
    mutating func noteRequest() { offered *= Self.memory }

    /// Whether a sample is learnt from. Of more than there is time for a part is left out, whatever their labels.
    mutating func accepts() -> Bool {
        offered += 1 - Self.memory
        return offered <= sampling || Float(generator.nextUnit()) * offered < sampling
    }
}
