extension Bitmap {
    /// The picture blurred by a Gaussian of the standard deviation `sigma`, approximated by three passes of an extended box along
    /// each axis: O((width + 6 sigma) * (height + 6 sigma)). Beyond the edges the outermost pixels go on.
    ///
    /// Sums run in floating point and are rounded to 1/128 between the axes. Beside Pillow's boxes the tests allow 1 of 255, beside the
    /// exact Gaussian 2.
    func blurred(sigma: Double) -> Bitmap {
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

    /// The fixed point of what stands between the axes.
    private static var unit: Float { 128 }

    /// All three passes over a row while it is near.
    private func blurRows(_ source: UnsafePointer<UInt8>, _ target: UnsafeMutablePointer<UInt16>, _ box: ExtendedBox) {
        // Room on either side for all passes, so that no pixel of a row needs a question.
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

    /// One pass along a row, for the places that `range` names.
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

    /// All three passes over strips of columns that stay near, with room above and below as beside a row.
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

    /// One pass down all `lanes` columns of a strip at once, for the rows that `range` names.
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
