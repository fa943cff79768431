/// Blurs a picture by an approximated Gaussian: three passes of an extended box filter along each axis. The time hardly depends on the
/// radius.
///
/// The outermost pixels are repeated beyond the edges. Colours are weighed by alpha. In the tests the result is within 2 of 255 of the
/// exact Gaussian.
///
/// See `ProcessorPixelTests.blurredPixelsEqualExpected()`.
public struct BlurImageProcessor: BitmapProcessor {
    /// The standard deviation in pixels. 0 does not change the picture.
    public let blurRadius: Double

    /// Creates a processor that blurs.
    ///
    /// - Parameter blurRadius: the standard deviation in pixels, 0 to 1,000.
    public init(blurRadius: Double) { self.blurRadius = blurRadius }

    public var identifier: String { "halcyon.blur(\(blurRadius))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1_000).contains(blurRadius) else {
            throw ImageError.invalidParameter("A blur of radius \(blurRadius) is none; 0 to 1,000 pixels are")
        }
        return blurRadius == 0 ? picture : picture.blurred(sigma: blurRadius)
    }
}

// MARK: - Inside

/// A box filter of odd length with one more, partly weighted pixel at either end. The weight of the ends gives it any variance.
///
/// Source: Gwosdek, Grewenig, Bruhn, Weickert: Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011.
private struct ExtendedBox {
    /// The number of fully weighted pixels on either side of the centre.
    let radius: Int
    /// The full weight of a pixel. `(2 * radius + 1) * inner + 2 * edge` is 1.
    let inner: Float
    /// The weight of either end.
    let edge: Float

    /// Creates the box filter that has the variance `sigma * sigma` after `passes` passes.
    init(sigma: Double, passes: Int) {
        let variance = sigma * sigma / Double(passes)
        let length = (12 * variance + 1).squareRoot()
        let radius = ((length - 1) / 2).rounded(.down)
        let share =
            (2 * radius + 1) * (radius * (radius + 1) - 3 * variance)
            / (6 * (variance - (radius + 1) * (radius + 1)))
        let inner = 1 / (2 * radius + 1 + 2 * share)
        self.radius = Int(radius)
        self.inner = Float(inner)
        edge = Float(share * inner)
    }
}

extension Bitmap {
    /// Returns the picture blurred with the standard deviation `sigma`.
    ///
    /// Sums are in floating point and are rounded to 1/128 between the axes. The tests allow a difference of 1 of 255 to Pillow's box
    /// filters, and of 2 to the exact Gaussian.
    ///
    /// - Complexity: O((width + 6 sigma) * (height + 6 sigma)).
    fileprivate func blurred(sigma: Double) -> Bitmap {
        let box = ExtendedBox(sigma: sigma, passes: 3)
        let between = UnsafeMutablePointer<UInt16>.allocate(capacity: width * height * 4)
        defer { between.deallocate() }
        let blurred = PixelMemory.make(size) { output in
            pixels.withUnsafeBufferPointer { input in
                guard let source = input.baseAddress,
                    let result = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
                else { return }
                blurRows(source, between, box)
                blurColumns(between, result, box)
            }
        }
        return derived(isOpaque: isOpaque ? true : nil, pixels: blurred)
    }

    /// The fixed-point scale of the values between the axes.
    private static var unit: Float { 128 }

    /// Runs all three passes over one row at a time, while it is in the processor's cache.
    private func blurRows(_ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt16>, _ box: ExtendedBox) {
        // A margin on either side for all passes, so that the inner loop checks no bounds.
        let margin = (box.radius + 1) * 3
        let length = width + 2 * margin
        let scratch = UnsafeMutablePointer<SIMD4<Float>>.allocate(capacity: 2 * length)
        defer { scratch.deallocate() }
        for y in 0..<height {
            var (from, to) = (scratch, scratch + length)
            let pixels = from + margin
            FloatRows.load(
                source + y * width * 4, UnsafeMutableRawPointer(pixels).assumingMemoryBound(to: Float.self),
                count: width, isOpaque: isOpaque)
            from.update(repeating: pixels[0], count: margin)
            (pixels + width).update(repeating: pixels[width - 1], count: margin)
            var inset = 0
            for _ in 0..<3 {
                inset += box.radius + 1
                Self.pass(from, to, inset..<length - inset, box)
                swap(&from, &to)
            }
            let values = UnsafeMutableRawPointer(from + margin).assumingMemoryBound(to: Float.self)
            let row = target + y * width * 4
            for at in 0..<width * 4 {
                let value = values[at] > 0 ? values[at] : 0
                row[at] = UInt16(truncatingIfNeeded: (value * Self.unit + 12_582_912).bitPattern)
            }
        }
    }

    /// Runs one pass along a row, for the pixels in `range`.
    private static func pass(
        _ from: UnsafePointer<SIMD4<Float>>, _ to: UnsafeMutablePointer<SIMD4<Float>>, _ range: Range<Int>,
        _ box: ExtendedBox
    ) {
        let (radius, inner, edge) = (box.radius, box.inner, box.edge)
        var sum = SIMD4<Float>.zero
        for at in range.lowerBound - radius..<range.lowerBound + radius { sum += from[at] }
        for at in range {
            sum += from[at &+ radius]
            to[at] = sum * inner + (from[at &- radius &- 1] + from[at &+ radius &+ 1]) * edge
            sum -= from[at &- radius]
        }
    }

    /// Runs all three passes over one strip of columns at a time, with margins above and below as for rows.
    private func blurColumns(
        _ source: UnsafePointer<UInt16>, _ target: UnsafeMutablePointer<UInt8>, _ box: ExtendedBox
    ) {
        let strip = 16
        let margin = (box.radius + 1) * 3
        let length = height + 2 * margin
        let scratch = UnsafeMutablePointer<Float>.allocate(capacity: (2 * length + 1) * strip * 4)
        defer { scratch.deallocate() }
        for left in stride(from: 0, to: width, by: strip) {
            let count = min(strip, width - left)
            let lanes = count * 4
            var (from, to) = (scratch, scratch + length * lanes)
            let sum = scratch + 2 * length * lanes
            for y in 0..<length {
                let row = source + (max(0, min(height - 1, y - margin)) * width + left) * 4
                let line = from + y * lanes
                for lane in 0..<lanes { line[lane] = Float(row[lane]) * (1 / Self.unit) }
            }
            var inset = 0
            for _ in 0..<3 {
                inset += box.radius + 1
                Self.passDown(from, to, sum, lanes, inset..<length - inset, box)
                swap(&from, &to)
            }
            for y in 0..<height {
                FloatRows.store(
                    from + (margin + y) * lanes, target + (y * width + left) * 4, count: count, isOpaque: isOpaque)
            }
        }
    }

    /// Runs one pass down all `lanes` columns of a strip at once, for the rows in `range`.
    private static func passDown(
        _ from: UnsafePointer<Float>, _ to: UnsafeMutablePointer<Float>, _ sum: UnsafeMutablePointer<Float>,
        _ lanes: Int, _ range: Range<Int>, _ box: ExtendedBox
    ) {
        let (radius, inner, edge) = (box.radius, box.inner, box.edge)
        for lane in 0..<lanes { sum[lane] = 0 }
        for y in range.lowerBound - radius..<range.lowerBound + radius {
            let entering = from + y * lanes
            for lane in 0..<lanes { sum[lane] += entering[lane] }
        }
        for y in range {
            let (entering, leaving) = (from + (y + radius) * lanes, from + (y - radius) * lanes)
            let (above, below) = (leaving - lanes, entering + lanes)
            let result = to + y * lanes
            for lane in 0..<lanes {
                let all = sum[lane] + entering[lane]
                result[lane] = all * inner + (above[lane] + below[lane]) * edge
                sum[lane] = all - leaving[lane]
            }
        }
    }
}
