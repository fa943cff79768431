import CPortableBLAS
import Foundation
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonLearning

@Suite("Matrix routines beside their definitions", .timeLimit(.minutes(20)))
struct BLASTests {
    /// Rows of C or A, columns, inner size.
    static let shapes = [
        (1, 1, 1), (3, 5, 2), (64, 32, 38), (1, 32, 38), (256, 32, 38), (38, 32, 256), (12, 16, 40), (40, 16, 32),
        (7, 21, 13), (17, 48, 5), (5, 64, 3), (9, 47, 31), (2, 15, 70), (31, 33, 1), (6, 100, 4),
    ]

    /// The results of the routines.
    private struct Products: Equatable {
        var gemm: [UInt32]
        var gemmTransposed: [UInt32]
        var gemv: [UInt32]
        var gemvTransposed: [UInt32]
    }

    private struct Operands {
        var a: [Float]
        var b: [Float]
        var x: [Float]
        let (m, n, k): (Int, Int, Int)

        /// - Parameter seed: that of `digests.c` for the same shape.
        init(_ shape: (Int, Int, Int), seed: UInt64) {
            (m, n, k) = shape
            var generator = SplitMix64(seed: seed)
            func numbers(_ count: Int) -> [Float] {
                (0..<count).map { _ in
                    let bits = generator.next()
                    let value = Float(bits >> 40) * 0x1p-23 - 1
                    return bits & 7 == 7 ? value * 0x1p-75 : value
                }
            }
            a = numbers(m * k)
            b = numbers(k * n)
            // As `digests.c` draws the output, which is overwritten.
            _ = numbers(m * n)
            x = numbers(max(n, k))
        }

        func products(_ blas: BLAS) -> Products {
            var c = [Float](repeating: .nan, count: m * n)
            blas.multiply(a, b, into: &c, m: m, n: n, k: k)
            var d = [Float](repeating: .nan, count: m * n)
            blas.multiplyTransposed(a, b, into: &d, m: m, n: n, k: k)
            var y = [Float](repeating: .nan, count: k)
            blas.multiply(b, vector: x, into: &y, m: k, n: n)
            var z = [Float](repeating: .nan, count: n)
            blas.multiplyTransposed(b, vector: x, into: &z, m: k, n: n)
            return Products(
                gemm: c.map(\.bitPattern), gemmTransposed: d.map(\.bitPattern), gemv: y.map(\.bitPattern),
                gemvTransposed: z.map(\.bitPattern))
        }

        /// The order of operations that the header promises.
        var defined: Products {
            func ordered(_ count: Int, _ term: (Int) -> Float) -> UInt32 {
                var sum: Float = 0
                for index in 0..<count { sum += term(index) }
                return sum.bitPattern
            }
            func lanes(_ count: Int, _ term: (Int) -> Float) -> UInt32 {
                var sums = [Float](repeating: 0, count: 16)
                for index in 0..<count { sums[index % 16] += term(index) }
                for half in [8, 4, 2, 1] { for lane in 0..<half { sums[lane] += sums[lane + half] } }
                return sums[0].bitPattern
            }
            return Products(
                gemm: (0..<m * n).map { at in ordered(k) { a[at / n * k + $0] * b[$0 * n + at % n] } },
                gemmTransposed: (0..<m * n).map { at in ordered(k) { a[$0 * m + at / n] * b[$0 * n + at % n] } },
                gemv: (0..<k).map { row in lanes(n) { b[row * n + $0] * x[$0] } },
                gemvTransposed: (0..<n).map { column in ordered(k) { b[$0 * n + column] * x[$0] } })
        }
    }

    @Test("Every instruction set computes the sums in the promised order, to the bit")
    func everyInstructionSetSumsInThePromisedOrder() {
        #expect(!PortableKernels.availableLevels.isEmpty)
        for level in PortableKernels.availableLevels {
            let blas = BLAS(.portable, level: level)
            for (number, shape) in Self.shapes.enumerated() {
                let operands = Operands(shape, seed: UInt64(number))
                #expect(operands.products(blas) == operands.defined, "\(level), \(shape)")
            }
        }
    }

    @Test("The bits equal the table with which other processors are compared")
    func resultsMatchTheDigestTableOfOtherProcessors() throws {
        let table = try String(contentsOf: packageFolder.appending(path: "Tests/Kernels/digests.txt"), encoding: .utf8)
        var lines: [String] = []
        for (number, shape) in Self.shapes.enumerated() {
            let products = Operands(shape, seed: UInt64(number)).products(BLAS(.portable))
            var digest = BitDigest()
            for values in [products.gemm, products.gemmTransposed, products.gemv, products.gemvTransposed] {
                for bits in values { digest.add(bits) }
            }
            lines.append("\(shape.0) \(shape.1) \(shape.2) \(digest.text)\n")
        }
        #expect(lines.joined() == table)
    }

    @Test("The system's BLAS agrees within the error bound of a sum of so many products")
    func systemBLASAgreesWithinTheErrorBound() {
        for (number, shape) in Self.shapes.enumerated() {
            let operands = Operands(shape, seed: UInt64(number))
            let (system, portable) = (operands.products(BLAS(.system)), operands.products(BLAS(.portable)))
            // Higham: Accuracy and stability of numerical algorithms, 2002, section 3.1. A computed sum differs from the exact
            // one by at most (inner size + 1) · 2⁻²⁴ times the sum of the products' magnitudes. Each magnitude is at most 1.
            for (left, right, inner) in [
                (system.gemm, portable.gemm, operands.k), (system.gemmTransposed, portable.gemmTransposed, operands.k),
                (system.gemv, portable.gemv, operands.n), (system.gemvTransposed, portable.gemvTransposed, operands.k),
            ] {
                let bound = 2 * Float(inner + 1) * Float(inner) * 0x1p-24
                for (one, other) in zip(left, right) {
                    #expect(abs(Float(bitPattern: one) - Float(bitPattern: other)) <= bound, "\(shape)")
                }
            }
        }
        #expect(Kernels.system.implementation.hasPrefix("OpenBLAS 0.") || Kernels.system.implementation == "Accelerate")
    }

    @Test("Only the system kernels call the system's BLAS")
    func onlySystemKernelsCallTheSystemBLAS() throws {
        var callers: [String] = []
        for folder in [
            "HalcyonLearning", "HalcyonPrefetch", "HalcyonEviction", "HalcyonSimulation", "HalcyonExperiments",
            "Halcyon",
            "replay", "CPortableBLAS",
        ] {
            let root = packageFolder.appending(path: "Sources/\(folder)")
            let files = try #require(FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
            for case let file as URL in files where ["swift", "c", "h"].contains(file.pathExtension) {
                let text = try String(contentsOf: file, encoding: .utf8)
                if text.contains("cblas_") || text.contains("openblas_") { callers.append(file.lastPathComponent) }
            }
        }
        // One calls it, the other documents the effect on the host in a comment.
        #expect(callers.sorted() == ["BLAS.swift", "Kernels.swift"])
    }

    @Test("No routine reads beyond its operands or writes beyond its output", arguments: 1..<50)
    func routinesStayWithinTheirOperands(columns: Int) {
        // Each operand ends where a page begins that can be neither read nor written.
        let pages = (0..<3).map { _ in GuardedPages() }
        for level in PortableKernels.availableLevels {
            let blas = BLAS(.portable, level: level)
            for (m, k) in [(1, 1), (7, 3), (12, 40)] {
                let (a, b, c) = (pages[0].last(m * k), pages[1].last(k * columns), pages[2].last(m * columns))
                blas.multiply(a, b, into: c, m: m, n: columns, k: k)
                blas.multiplyTransposed(a, b, into: c, m: m, n: columns, k: k)
                blas.multiply(b, vector: pages[0].last(columns), into: pages[2].last(k), m: k, n: columns)
                blas.multiplyTransposed(b, vector: pages[0].last(k), into: pages[2].last(columns), m: k, n: columns)
                let areUntouched = pages.allSatisfy(\.isUntouchedBefore)
                #expect(areUntouched)
            }
        }
    }

    @Test("An empty sum is zero, and an empty product writes nothing")
    func emptySumIsZeroAndEmptyProductWritesNothing() {
        for level in PortableKernels.availableLevels {
            let blas = BLAS(.portable, level: level)
            var c: [Float] = [1, 2, 3, 4]
            blas.multiply([], [], into: &c, m: 2, n: 2, k: 0)
            #expect(c == [0, 0, 0, 0])
            c = [1, 2, 3, 4]
            blas.multiply([], [1, 2], into: &c, m: 0, n: 1, k: 2)
            blas.multiplyTransposed([1, 2], [], into: &c, m: 1, n: 0, k: 2)
            #expect(c == [1, 2, 3, 4])
            blas.multiply([], vector: [], into: &c, m: 2, n: 0)
            #expect(c == [0, 0, 3, 4])
        }
    }

    @Test("Infinities, signed zeros and subnormal numbers are those of IEEE 754")
    func specialNumbersFollowIEEE754() {
        let tiny = Float.leastNonzeroMagnitude
        for level in PortableKernels.availableLevels {
            let blas = BLAS(.portable, level: level)
            var c = [Float](repeating: 7, count: 4)
            blas.multiply([.infinity, 1, 0.5, -0.0], [1, tiny, tiny, 1], into: &c, m: 2, n: 2, k: 2)
            #expect(c[0] == .infinity && c[1] == .infinity)
            // One half of the least number is 0, ties to even; -0 · 1 is -0, and 0 + -0 is 0.
            #expect(c[2].bitPattern == Float(0.5).bitPattern && c[3].bitPattern == Float(0).bitPattern)
            blas.multiply([tiny, tiny, tiny], vector: [1, 1, 1], into: &c, m: 1, n: 3)
            #expect(c[0] == 3 * tiny)
        }
    }

    @Test("An instruction set that the processor lacks is refused with a sentence that names the others")
    func unavailableInstructionSetIsRefused() throws {
        let names = PortableKernels.availableLevels
        #expect(names.first == PortableKernels.levels.first, "every processor has the first")
        #expect(names.contains(PortableKernels.level))
        let error = #expect(throws: PortableKernels.UnavailableLevel.self) { try PortableKernels.select(level: "mmx") }
        #expect(
            error?.description
                == "'mmx' is not an instruction set of the portable kernels: give one of \(names.joined(separator: ", "))."
        )
        let before = PortableKernels.level
        for name in names {
            try PortableKernels.select(level: name)
            #expect(Kernels.portable.implementation == name)
        }
        try PortableKernels.select(level: before)
    }
}

/// Two pages of memory, of which the second can be neither read nor written.
private final class GuardedPages {
    private static let size = Int(getpagesize()) * 4
    private let base: UnsafeMutableRawPointer
    private var used = 0

    init() {
        base = mmap(nil, Self.size * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        precondition(base != MAP_FAILED && mprotect(base + Self.size, Self.size, PROT_NONE) == 0)
        base.assumingMemoryBound(to: Float.self).update(repeating: 0.25, count: Self.size / 4)
    }

    deinit { munmap(base, Self.size * 2) }

    /// The last `count` numbers before the second page.
    func last(_ count: Int) -> UnsafeMutablePointer<Float> {
        used = max(used, count)
        return (base + Self.size).assumingMemoryBound(to: Float.self) - count
    }

    /// Whether all numbers before the requested ones have their initial value.
    var isUntouchedBefore: Bool {
        let numbers = base.assumingMemoryBound(to: Float.self)
        return (0..<Self.size / 4 - used).allSatisfy { numbers[$0] == 0.25 }
    }
}
