import CPortableBLAS

/// Converts the plain numbers of features to the inputs of a network: a byte each.
///
/// Times and counts are represented by their logarithm with a fixed number of steps per octave, 0 by 0. Ratios and numbers
/// that are bytes already are represented linearly. A decision needs some hundred rows, so a loop without a branch, of
/// ``VectorKernels``, converts a whole row.
@usableFromInline
package struct FeatureScales: ~Copyable {
    /// The steps per octave; 0 for a linear feature.
    private let steps = HeapArray<Float>(repeating: 0, count: Feature.places)
    /// The steps per 1; 0 for a logarithmic feature.
    private let slopes = HeapArray<Float>(repeating: 0, count: Feature.places)

    private let vectors: VectorKernels

    package init(vectors: VectorKernels = VectorKernels()) {
        self.vectors = vectors
        let times = [
            Feature.age, Feature.sinceFirst, Feature.categoryAge, Feature.userAge, Feature.seconds, Feature.sinceUser,
            Feature.sessionLength, Feature.userAccesses,
        ]
        for place in times { steps[place] = 8 }
        let counts = [
            Feature.count0, Feature.count1, Feature.count2, Feature.count3, Feature.accesses, Feature.residentAccesses,
            Feature.categoryFast, Feature.categorySlow, Feature.userRate, Feature.userDistinct,
            Feature.transition,
        ]
        for place in counts { steps[place] = 16 }
        let bytes = [
            Feature.gap1, Feature.gap2, Feature.gap3, Feature.worth, Feature.categoryGap, Feature.userGap,
        ]
        for place in bytes + Array(Feature.workload) { slopes[place] = 1 }
        let shares = [
            Feature.categoryReuse, Feature.userShare, Feature.userReuse, Feature.active, Feature.dayPhase,
            Feature.dayQuadrature, Feature.weekPhase, Feature.weekQuadrature,
        ]
        for place in shares { slopes[place] = 255 }
        slopes[Feature.size] = 8
    }

    package var byteCount: Int { steps.byteCount + slopes.byteCount }

    /// Writes a row of ``Feature/width`` numbers as bytes.
    func pack(_ numbers: UnsafePointer<Float>, into row: UnsafeMutablePointer<UInt8>) {
        halcyon_pack(vectors.routines, numbers, steps.base, slopes.base, row, Feature.width)
    }

    /// Writes a row of numbers as inputs: the same as ``VectorKernels/decode(_:into:)`` of its bytes.
    package func encode(_ numbers: UnsafePointer<Float>, into inputs: UnsafeMutablePointer<Float>) {
        halcyon_encode(vectors.routines, numbers, steps.base, slopes.base, inputs, Feature.width)
        inputs[Feature.one] = 1
    }

    /// Replaces `count` numbers of one feature by the inputs that ``encode(_:into:)`` writes.
    @usableFromInline
    package func encode(_ numbers: UnsafeMutablePointer<Float>, count: Int, of feature: Int) {
        encode(numbers, count: count, of: feature..<feature + 1)
    }

    /// Replaces the numbers of some features, a row of `count` each, by inputs.
    func encode(_ rows: UnsafeMutablePointer<Float>, count: Int, of features: Range<Int>) {
        let first = features.lowerBound
        halcyon_encode_rows(vectors.routines, rows, count, steps.base + first, slopes.base + first, features.count)
    }
}
