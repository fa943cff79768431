import HalcyonEviction
import Testing

@testable import HalcyonModel

@Suite("Matrix products beside naive loops")
struct BLASTests {
    private func random(_ count: Int, _ generator: inout SplitMix64) -> [Float] {
        (0..<count).map { _ in Float(generator.nextUnit() * 2 - 1) }
    }

    @Test("A·B, Aᵀ·B, A·x and Aᵀ·x", arguments: [(1, 1, 1), (3, 5, 2), (64, 32, 32), (1, 32, 7), (257, 3, 17)])
    func products(m: Int, n: Int, k: Int) {
        BLAS.prepare()
        var generator = SplitMix64(seed: UInt64(m * 1_000 + n))
        let (a, b, x) = (random(m * k, &generator), random(k * n, &generator), random(max(m, k), &generator))
        var product = [Float](repeating: .nan, count: m * n)
        BLAS.multiply(a, b, into: &product, m: m, n: n, k: k)
        // The same memory read as k × m, so that its transpose is m × k.
        var transposed = [Float](repeating: .nan, count: m * n)
        BLAS.multiplyTransposed(a, b, into: &transposed, m: m, n: n, k: k)
        for row in 0..<m {
            for column in 0..<n {
                let straight = (0..<k).reduce(Float(0)) { $0 + a[row * k + $1] * b[$1 * n + column] }
                let turned = (0..<k).reduce(Float(0)) { $0 + a[$1 * m + row] * b[$1 * n + column] }
                #expect(abs(product[row * n + column] - straight) < 1e-4)
                #expect(abs(transposed[row * n + column] - turned) < 1e-4)
            }
        }
        var right = [Float](repeating: .nan, count: m)
        BLAS.multiply(a, vector: x, into: &right, m: m, n: k)
        var left = [Float](repeating: .nan, count: k)
        BLAS.multiplyTransposed(a, vector: x, into: &left, m: m, n: k)
        for row in 0..<m {
            #expect(abs(right[row] - (0..<k).reduce(Float(0)) { $0 + a[row * k + $1] * x[$1] }) < 1e-4)
        }
        for column in 0..<k {
            #expect(abs(left[column] - (0..<m).reduce(Float(0)) { $0 + a[$1 * k + column] * x[$1] }) < 1e-4)
        }
    }
}
