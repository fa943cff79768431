import Foundation

/// How a pixel of a scaled picture is weighed out of those under it.
public enum ResamplingFilter: String, Sendable, Hashable, CaseIterable {
    /// The mean of the pixels that it covers.
    case box
    /// A triangle: linear between two pixels.
    case bilinear
    /// The cubic of Catmull and Rom (Keys, 1981, with a = -0.5): sharp, overshoots little.
    case bicubic
    /// The sinc of three lobes (Lanczos): sharpest, overshoots more.
    case lanczos

    /// How far it reaches, in pixels of the coarser picture.
    var support: Double {
        switch self {
        case .box: 0.5
        case .bilinear: 1
        case .bicubic: 2
        case .lanczos: 3
        }
    }

    /// Its value at a distance; 0 beyond the support.
    func weight(_ distance: Double) -> Double {
        let x = abs(distance)
        switch self {
        case .box: return distance > -0.5 && distance <= 0.5 ? 1 : 0
        case .bilinear: return max(0, 1 - x)
        case .bicubic:
            if x < 1 { return (1.5 * x - 2.5) * x * x + 1 }
            return x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0
        case .lanczos:
            if x == 0 { return 1 }
            return x < 3 ? 3 * sin(.pi * x) * sin(.pi * x / 3) / (.pi * .pi * x * x) : 0
        }
    }
}

/// The weights along one axis: for every pixel of the scaled picture the first that it is made of and their shares, which sum to 1.
struct ResamplingWeights {
    private(set) var starts: [Int] = []
    private(set) var counts: [Int] = []
    /// `longest` for every pixel, 0 behind its own.
    private(set) var shares: [Float] = []
    private(set) var longest = 0

    /// The filter is widened by the scale when a picture is made smaller, so that every pixel counts.
    init(from length: Int, to target: Int, _ filter: ResamplingFilter) {
        let scale = Double(length) / Double(target)
        let stretch = max(scale, 1)
        let reach = filter.support * stretch
        longest = min(Int(reach.rounded(.up)) * 2 + 1, length)
        shares.reserveCapacity(longest * target)
        for index in 0..<target {
            let center = (Double(index) + 0.5) * scale
            let first = max(0, Int(center - reach + 0.5))
            let last = max(first + 1, min(length, Int(center + reach + 0.5)))
            let start = min(first, length - 1)
            let weights = (start..<max(last, start + 1)).map { filter.weight((Double($0) + 0.5 - center) / stretch) }
            let sum = weights.reduce(0, +)
            starts.append(start)
            counts.append(weights.count)
            shares += weights.map { Float($0 / sum) }
            shares += repeatElement(0, count: longest - weights.count)
        }
    }
}
