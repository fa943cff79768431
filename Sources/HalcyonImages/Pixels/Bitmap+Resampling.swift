extension Bitmap {
    /// The picture in another size.
    ///
    /// Separable: each row is made as wide as asked for, in floating point; each row of the result is a sum of those. Only as many as
    /// one sum needs are kept. Colours are weighed by alpha. O(width' * height * taps + width' * height' * taps).
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
        // One stored row, the sum, and a ring of rows of the new width.
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

    /// One row in its new width.
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
