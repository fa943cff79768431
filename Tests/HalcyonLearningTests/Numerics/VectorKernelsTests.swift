import CPortableBLAS
import HalcyonEviction
import Testing

@testable import HalcyonLearning

/// The loops in C have the bits of the same formulas in Swift, at every instruction set of this processor and for counts with
/// and without a rest.
@Suite("Loops over vectors beside their formulas", .timeLimit(.minutes(20)))
struct VectorKernelsTests {
    static let levels = PortableKernels.availableLevels
    private static let counts = [1, 15, 16, 17, 38, 64, 100]

    /// Numbers of many sizes, among them 0, negative ones and bounds of the formulas.
    private func numbers(_ count: Int, seed: UInt64, isPositive: Bool = false) -> [Float] {
        var generator = SplitMix64(seed: seed)
        let special: [Float] = [0, 1, 254.5, 0.5, 0x1p-17, 100, 126]
        return (0..<count).map { index in
            let bits = generator.next()
            if bits & 7 == 0 { return special[index % special.count] }
            let value = Float(bits >> 40) * 0x1p-24 * FastMath.exp2(Float(bits >> 8 & 31) - 8)
            return isPositive || bits & 8 == 0 ? value : -value
        }
    }

    private func expectEqual(_ left: [Float], _ right: [Float], _ what: Comment) {
        #expect(left.map(\.bitPattern) == right.map(\.bitPattern), what)
    }

    private func input(_ number: Float, _ step: Float, _ slope: Float) -> Float {
        FastMath.nearestByte(FastMath.log2(number + 1) * step + number * slope) * 0.015_625 - 1
    }

    /// The square root of a number of at least 0, by two of Newton's steps.
    private func root(_ value: Float) -> Float {
        var inverse = Float(bitPattern: 0x5F37_59DF &- value.bitPattern >> 1)
        inverse *= 1.5 - 0.5 * value * inverse * inverse
        inverse *= 1.5 - 0.5 * value * inverse * inverse
        return value * inverse
    }

    @Test("The square root has a relative error below 10⁻⁵") func squareRootIsWithinARelativeErrorOf1e5() {
        for step in -1_200...1_200 {
            let value = FastMath.exp2(Float(step) / 10)
            if value > 0 { #expect(abs(root(value) / value.squareRoot() - 1) < 1e-5) }
        }
        #expect(root(0) == 0)
        #expect(root(.leastNonzeroMagnitude) < 1e-20)
    }

    @Test("Features are encoded by their scales", arguments: levels)
    func featuresAreEncodedByTheirScales(level: String) {
        let kernels = VectorKernels(level: level).routines.pointee
        for count in Self.counts {
            let from = numbers(count, seed: 1, isPositive: true)
            for (step, slope): (Float, Float) in [(8, 0), (16, 0), (0, 1), (0, 255)] {
                let expected = from.map { input($0, step, slope) }
                var rows = from + from
                kernels.encode_rows(&rows, count, [step, step], [slope, slope], 2)
                expectEqual(rows, expected + expected, "rows of \(count) at \(level)")
                if count < 16 { continue }
                let (steps, slopes) = (Array(repeating: step, count: count), Array(repeating: slope, count: count))
                var inputs = [Float](repeating: .nan, count: count)
                kernels.encode(from, steps, slopes, &inputs, count)
                expectEqual(inputs, expected, "\(count) numbers at \(level)")
                var bytes = [UInt8](repeating: 255, count: count)
                kernels.pack(from, steps, slopes, &bytes, count)
                #expect(bytes == from.map { FastMath.byte(FastMath.log2($0 + 1) * step + $0 * slope) })
                kernels.decode(bytes, &inputs, count)
                expectEqual(inputs, expected, "\(count) bytes at \(level)")
            }
        }
    }

    @Test("Decayed counts and octaves of priorities equal their formulas", arguments: levels)
    func decayedCountsAndOctavesEqualTheirFormulas(level: String) {
        let kernels = VectorKernels(level: level).routines.pointee
        for count in Self.counts {
            let (from, times) = (numbers(count, seed: 2), numbers(count, seed: 3, isPositive: true).map { $0 * 100 })
            var decayed = from
            kernels.decay(&decayed, times, 0.01, count)
            expectEqual(decayed, zip(from, times).map { $0 * FastMath.exp2(-$1 * 0.01) }, "\(count) at \(level)")
            var octaves = from
            kernels.octaves(&octaves, count)
            expectEqual(octaves, from.map { GreedyDual.level($0) }, "\(count) priorities at \(level)")
        }
        // Four decayed counts in one vector, beyond both bounds of the exponent, too.
        for value: Float in [0, -0.01, -99.9, -100, -100.1, 99.9, 100, 1_000, .nan] {
            let vector = FastMath.exp2(SIMD4(value, 0, -value, 1))
            expectEqual(
                (0..<4).map { vector[$0] }, [value, 0, -value, 1].map { FastMath.exp2($0) },
                "2 to the power of \(value)")
        }
    }

    @Test("Errors, gradients and activations equal their formulas", arguments: levels)
    func errorsGradientsAndActivationsEqualTheirFormulas(level: String) {
        let kernels = VectorKernels(level: level).routines.pointee
        let (rows, width, leak): (Int, Int, Float) = (9, 21, 0.1)
        let activations = numbers(rows * width, seed: 4)
        var rectified = activations
        kernels.rectify(&rectified, rows * width, leak)
        expectEqual(rectified, activations.map { $0 > 0 ? $0 : leak * $0 }, "rectifier at \(level)")
        let (logits, labels) = (numbers(rows, seed: 5), (0..<rows).map { Float($0 % 2) })
        var errors = [Float](repeating: 0, count: rows)
        kernels.errors(logits, labels, 0.125, &errors, rows)
        let chances = logits.map { FastMath.sigmoid($0) }
        expectEqual(errors, zip(chances, labels).map { ($0 - $1) * 0.125 }, "errors at \(level)")
        let weights = numbers(width, seed: 6)
        var deltas = [Float](repeating: 0, count: rows * width)
        kernels.propagate(activations, errors, weights, leak, &deltas, rows, width)
        expectEqual(
            deltas,
            (0..<rows * width).map {
                errors[$0 / width] * weights[$0 % width] * (activations[$0] > 0 ? 1 : leak)
            }, "deltas at \(level)")
    }

    @Test("Moments, scaled weights and a step of Adam equal their formulas", arguments: levels)
    func momentsWeightsAndAdamEqualTheirFormulas(level: String) {
        let kernels = VectorKernels(level: level).routines.pointee
        for width in [5, 16, 38] {
            let (rows, means) = (12, numbers(width, seed: 7))
            let input = numbers(rows * width, seed: 8)
            var (sums, squares) = ([Float](repeating: 9, count: width), [Float](repeating: 9, count: width))
            kernels.moments(input, means, &sums, &squares, rows, width)
            for place in 0..<width {
                var (sum, square): (Float, Float) = (0, 0)
                for row in 0..<rows {
                    let offset = input[row * width + place] - means[place]
                    sum += offset
                    square += offset * offset
                }
                expectEqual([sums[place], squares[place]], [sum, square], "moments of \(width) at \(level)")
            }
        }
        for count in Self.counts {
            let (row, shift) = (numbers(count, seed: 9), numbers(count, seed: 10))
            var (scaled, moved) = (row, shift)
            kernels.scale_weights(&scaled, &moved, 0.3, 1.7, count)
            expectEqual(scaled, row.map { $0 * 1.7 }, "weights at \(level)")
            expectEqual(moved, zip(shift, row).map { $0 - 0.3 * ($1 * 1.7) }, "shift at \(level)")
            var gradients = row
            kernels.scale_gradients(&gradients, shift, 0.3, 1.7, count)
            expectEqual(gradients, zip(row, shift).map { ($0 - 0.3 * $1) * 1.7 }, "gradients at \(level)")
            var (parameters, mean, square) = (shift, row, row.map { $0 * $0 })
            kernels.adam(&parameters, gradients, &mean, &square, 0.9, 0.999, 0.01, 1.5, 1e-8, count)
            for index in 0..<count {
                let (gradient, first, second): (Float, Float, Float) = (gradients[index], 0.9, 0.999)
                let moved = first * row[index] + (1 - first) * gradient
                let spread = second * (row[index] * row[index]) + (1 - second) * gradient * gradient
                let expected = shift[index] - 0.01 * moved / (root(spread) * 1.5 + 1e-8)
                expectEqual(
                    [parameters[index], mean[index], square[index]], [expected, moved, spread], "Adam at \(level)")
            }
        }
    }

    @Test("A bisection ends at the bounds that counting gives", arguments: levels)
    func bisectionEqualsItsFormula(level: String) {
        let kernels = VectorKernels(level: level).routines.pointee
        for count in Self.counts {
            let scores = numbers(count, seed: UInt64(count))
            for most in [0, count / 2, count - 1] {
                var (low, high): (Float, Float) = (0, 0)
                kernels.bisect(scores, count, most, &low, &high)
                var (least, greatest) = (scores.min() ?? 0, scores.max() ?? 0)
                for _ in 0..<8 {
                    let middle = least + (greatest - least) / 2
                    if scores.count(where: { $0 < middle }) > most { greatest = middle } else { least = middle }
                }
                expectEqual([low, high], [least, greatest], "\(count) scores, \(most) below, at \(level)")
            }
        }
    }
}
