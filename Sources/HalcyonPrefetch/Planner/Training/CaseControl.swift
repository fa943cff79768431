import HalcyonEviction
import HalcyonLearning

/// The choice of training samples: the requested candidates, and a share of the others that grows with their
/// probability, up to a maximum number a request.
///
/// Requested candidates are few, and they carry most of the information. Of the others, a share in proportion to their
/// probability is nearly as good as all of them. During training the logit of a sample is shifted by the logarithm of
/// that share, so that the network learns the probability among all candidates. Source: Fithian and Hastie: Local
/// case-control sampling: efficient subsampling in imbalanced data sets, The Annals of Statistics 42, 2014.
struct CaseControl: ~Copyable {
    /// The minimum sampling share of negative candidates.
    private static let minShare: Float = 0.02
    /// The decay of the count of offered samples at each request.
    private static let memory: Float = 0.999

    /// The number of negative samples for each expected positive one.
    private let controls: Float
    /// The maximum number of samples a request.
    private let sampling: Float
    private var generator: SplitMix64
    private var shares = HeapArray<Float>(repeating: 0, count: CandidateList.bound)
    /// The recent mean of offered samples a request.
    private var offered: Float = 0

    init(controls: Double, sampling: Double, seed: UInt64) {
        self.controls = Float(controls)
        self.sampling = Float(sampling)
        generator = SplitMix64(seed: seed)
    }

    var byteCount: Int { shares.byteCount }

    /// Returns the sampling share of negative candidates with this logit, relative to that of positive ones.
    @inline(__always)
    func share(_ logit: Float) -> Float { max(Self.minShare, min(1, controls * FastMath.sigmoid(logit))) }

    /// Returns the increase of a logit among the training samples.
    @inline(__always)
    static func offset(ofShare share: Float) -> Float { FastMath.log2(share) * -0.693_147_2 }

    /// Draws the candidates that become samples if they are not requested, each with its share. Returns a bit for
    /// each. Systematic sampling needs only one random number.
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

    /// Advances the time by one request.
    mutating func noteRequest() { offered *= Self.memory }

    /// Returns whether to train on a sample. Of more samples than the limit a part is skipped, whatever the labels.
    mutating func accepts() -> Bool {
        offered += 1 - Self.memory
        return offered <= sampling || Float(generator.nextUnit()) * offered < sampling
    }
}
