import Foundation

/// Resizes a picture, up or down.
///
/// See `ProcessorPixelTests.resizedPixelsEqualExpected()`, `ProcessorTests.resizingStretchesFitsOrFills()` and
/// `ProcessorTests.smallPictureIsNotEnlarged()`.
public struct ResizingImageProcessor: BitmapProcessor {
    /// The target size, in pixels.
    public let referenceSize: PixelSize
    /// How the picture's proportions are treated; by default ``ContentMode/none``.
    public let mode: ContentMode
    /// The resampling filter; by default ``ResamplingFilter/bicubic``.
    public let filter: ResamplingFilter
    /// Whether a small picture becomes larger; by default `true`. Otherwise it keeps its size where it would: as a whole where
    /// proportions are kept, each side by itself with ``ContentMode/none``.
    public let enlarges: Bool

    /// Creates a processor that resizes to a size. By default it does not keep proportions, and enlarges small pictures.
    public init(
        referenceSize: PixelSize, mode: ContentMode = .none, filter: ResamplingFilter = .bicubic, enlarges: Bool = true
    ) {
        (self.referenceSize, self.mode, self.filter, self.enlarges) = (referenceSize, mode, filter, enlarges)
    }

    public var identifier: String {
        "halcyon.resize(\(referenceSize),\(mode.rawValue),\(filter.rawValue)" + (enlarges ? ")" : ",shrinks)")
    }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        try referenceSize.checkPossible()
        var target = picture.size.scaled(into: referenceSize, mode)
        if !enlarges { target.limit(to: picture.size) }
        return try picture.resampled(to: target, filter)
    }
}

/// Shrinks a picture to fit into a size. It takes less time and memory than ``ResizingImageProcessor``, because JPEG and WebP files are
/// decoded at a smaller scale.
///
/// Proportions are kept, and pictures are never enlarged. A ``ResamplingFilter/bicubic`` filter resamples the decoded picture to the
/// exact size.
///
/// See `ProcessorTests.downsamplingKeepsProportions()`.
public struct DownsamplingImageProcessor: ImageProcessor {
    /// The size to fit into, in pixels of the picture as it is shown.
    public let size: PixelSize

    /// Creates a processor that shrinks pictures to fit into a size.
    public init(size: PixelSize) { self.size = size }

    public var identifier: String { "halcyon.downsample(\(size))" }

    public func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
        try size.checkPossible()
        switch item {
        case .image(let picture): return try shrink(picture, to: target(picture.size))
        case .data(let data):
            let whole = try decoder.information(of: data).size
            let target = target(whole)
            return try shrink(try decoder.decode(data, covering: target), to: target)
        }
    }

    private func target(_ whole: PixelSize) -> PixelSize {
        whole.width <= size.width && whole.height <= size.height ? whole : whole.scaled(into: size, .aspectFit)
    }

    private func shrink(_ picture: Bitmap, to target: PixelSize) throws -> Bitmap {
        try picture.resampled(to: target, .bicubic)
    }
}

/// How a picture is resized to a size of other proportions.
public enum ContentMode: String, Sendable, Hashable, CaseIterable {
    /// To exactly the requested size. Proportions are lost.
    case none
    /// To the largest size with the picture's proportions inside the requested one.
    case aspectFit = "fit"
    /// To the smallest size with the picture's proportions that covers the requested one. The rest is not cropped.
    case aspectFill = "fill"
}

/// The kernel that weighs source pixels when a picture is resized.
public enum ResamplingFilter: String, Sendable, Hashable, CaseIterable {
    /// The mean of the covered pixels.
    case box
    /// A triangle kernel: linear interpolation between two pixels.
    case bilinear
    /// The Catmull-Rom cubic (Keys, 1981, with a = -0.5). It is sharp and overshoots little.
    case bicubic
    /// The Lanczos kernel of three lobes. It is sharper than ``bicubic`` and overshoots more.
    case lanczos

    /// The radius of the kernel, in pixels of the smaller picture.
    fileprivate var support: Double {
        switch self {
        case .box: 0.5
        case .bilinear: 1
        case .bicubic: 2
        case .lanczos: 3
        }
    }

    /// Returns the value of the kernel at a distance; 0 beyond the support.
    fileprivate func weight(_ distance: Double) -> Double {
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

// MARK: - Inside

extension PixelSize {
    /// Returns this size scaled to another one. Each side is rounded to the nearest integer, and is at least 1.
    fileprivate func scaled(into other: PixelSize, _ mode: ContentMode) -> PixelSize {
        let (x, y) = (Double(other.width) / Double(width), Double(other.height) / Double(height))
        let factor: Double
        switch mode {
        case .none: return other
        case .aspectFit: factor = min(x, y)
        case .aspectFill: factor = max(x, y)
        }
        func side(_ length: Int) -> Int { max(1, Int(min((Double(length) * factor).rounded(), 1e15))) }
        return PixelSize(width: side(width), height: side(height))
    }

    /// Makes no side longer than that of another size. A size of that one's proportions keeps them.
    fileprivate mutating func limit(to other: PixelSize) {
        self = PixelSize(width: min(width, other.width), height: min(height, other.height))
    }
}

/// The weights along one axis: for each target pixel its first source pixel and the weights from there on. They sum to 1.
private struct ResamplingWeights {
    private(set) var starts: [Int] = []
    private(set) var counts: [Int] = []
    /// The weights, `longest` for each target pixel, padded with 0.
    private(set) var shares: [Float] = []
    private(set) var longest = 0

    /// Calculates the weights. When a picture shrinks, the filter is widened by the scale, so that every source pixel counts.
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

extension Bitmap {
    /// Returns the picture resized to `target`.
    ///
    /// The filter is separable. Each source row is resized to the target width, in floating point. Each target row is a weighted sum
    /// of resized rows, and a ring buffer holds only those that one sum needs. Colours are weighed by alpha.
    ///
    /// - Complexity: O(width' * height * taps + width' * height' * taps), where width' and height' are those of `target`.
    ///
    /// - Throws: ``ImageError/invalidSize(_:)``.
    func resampled(to target: PixelSize, _ filter: ResamplingFilter) throws(ImageError) -> Bitmap {
        guard target != size else { return self }
        try target.checkPossible()
        let across = ResamplingWeights(from: width, to: target.width, filter)
        let down = ResamplingWeights(from: height, to: target.height, filter)
        let pixels = PixelMemory.make(target) { output in
            self.pixels.withUnsafeBufferPointer { input in
                guard let source = input.baseAddress,
                    let result = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                else { return }
                resample(source, result, target, across, down)
            }
        }
        return derived(target, isOpaque: isOpaque ? true : nil, pixels: pixels)
    }

    private func resample(
        _ source: UnsafePointer<UInt8>, _ result: UnsafeMutablePointer<UInt8>, _ target: PixelSize,
        _ across: ResamplingWeights, _ down: ResamplingWeights
    ) {
        let rowLength = target.width * 4
        // One source row, the sum, and the ring buffer of resized rows.
        let scratch = UnsafeMutablePointer<SIMD4<Float>>.allocate(
            capacity: width + target.width * (1 + down.longest))
        defer { scratch.deallocate() }
        let line = scratch
        let sum = UnsafeMutableRawPointer(scratch + width).assumingMemoryBound(to: Float.self)
        let ring = scratch + width + target.width
        var made = 0
        for y in 0..<target.height {
            let (start, count) = (down.starts[y], down.counts[y])
            made = max(made, start)
            while made < start + count {
                FloatRows.load(
                    source + made * width * 4, UnsafeMutableRawPointer(line).assumingMemoryBound(to: Float.self),
                    count: width, isOpaque: isOpaque)
                Self.narrow(line, ring + made % down.longest * target.width, across, target.width)
                made += 1
            }
            for tap in 0..<count {
                let share = down.shares[y * down.longest + tap]
                let row = UnsafeRawPointer(ring + (start + tap) % down.longest * target.width)
                    .assumingMemoryBound(to: Float.self)
                if tap == 0 {
                    for at in 0..<rowLength { sum[at] = share * row[at] }
                } else {
                    for at in 0..<rowLength { sum[at] += share * row[at] }
                }
            }
            FloatRows.store(sum, result + y * rowLength, count: target.width, isOpaque: isOpaque)
        }
    }

    /// Resizes one row to the target width.
    private static func narrow(
        _ line: UnsafePointer<SIMD4<Float>>, _ target: UnsafeMutablePointer<SIMD4<Float>>, _ weights: ResamplingWeights,
        _ width: Int
    ) {
        weights.shares.withUnsafeBufferPointer { shares in
            weights.starts.withUnsafeBufferPointer { starts in
                weights.counts.withUnsafeBufferPointer { counts in
                    for x in 0..<width {
                        let first = starts[x]
                        let from = x &* weights.longest
                        var sum = SIMD4<Float>.zero
                        for tap in 0..<counts[x] { sum += line[first &+ tap] * shares[from &+ tap] }
                        target[x] = sum
                    }
                }
            }
        }
    }
}
