import CPortableBLAS

#if canImport(Accelerate)
    import Accelerate
#else
    import COpenBLAS
#endif

/// The level-2 and level-3 BLAS routines in single precision that the networks need, of one implementation.
///
/// Matrices are dense and row-major. All routines run on the calling thread: with tens of rows and columns, more threads
/// cost more than they gain.
package struct BLAS {
    typealias MatrixProduct =
        @convention(c) (
            UnsafePointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int, Int, Int
        ) -> Void
    typealias VectorProduct =
        @convention(c) (
            UnsafePointer<Float>, UnsafePointer<Float>, UnsafeMutablePointer<Float>, Int, Int
        ) -> Void

    private let gemm: MatrixProduct
    private let gemmTransposed: MatrixProduct
    private let gemv: VectorProduct
    private let gemvTransposed: VectorProduct
    /// The loops over vectors, which are portable with either implementation.
    package let vectors: VectorKernels

    /// Selects the routines of `kernels`.
    ///
    /// - Parameter level: the instruction set of the portable kernels; `nil` for the one in force.
    package init(_ kernels: Kernels, level: String? = nil) {
        vectors = VectorKernels(level: level)
        switch kernels {
        case .portable:
            let routines = PortableKernels.routines(at: level).pointee
            (gemm, gemmTransposed) = (routines.gemm, routines.gemm_transposed)
            (gemv, gemvTransposed) = (routines.gemv, routines.gemv_transposed)
        case .system:
            precondition(Self.isSingleThreaded)
            (gemm, gemmTransposed) = (systemProduct, systemProductTransposed)
            (gemv, gemvTransposed) = (systemVectorProduct, systemVectorProductTransposed)
        }
    }

    /// Computes C := A · B, where A is `m` × `k`, B is `k` × `n`, C is `m` × `n`. O(m k n).
    func multiply(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, into c: UnsafeMutablePointer<Float>,
        m: Int, n: Int, k: Int
    ) { gemm(a, b, c, m, n, k) }

    /// Computes C := Aᵀ · B, where A is `k` × `m`, B is `k` × `n`, C is `m` × `n`. O(m k n).
    package func multiplyTransposed(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, into c: UnsafeMutablePointer<Float>,
        m: Int, n: Int, k: Int
    ) { gemmTransposed(a, b, c, m, n, k) }

    /// Computes y := A · x, where A is `m` × `n`. O(m n).
    func multiply(
        _ a: UnsafePointer<Float>, vector x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, m: Int, n: Int
    ) { gemv(a, x, y, m, n) }

    /// Computes y := Aᵀ · x, where A is `m` × `n`. O(m n).
    func multiplyTransposed(
        _ a: UnsafePointer<Float>, vector x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, m: Int, n: Int
    ) { gemvTransposed(a, x, y, m, n) }

    /// Computed before the system's first product. Accelerate keeps such small products on one thread by itself.
    private static let isSingleThreaded: Bool = {
        #if !canImport(Accelerate)
            openblas_set_num_threads(1)
        #endif
        return true
    }()

    /// The name, version and processor of the system's library.
    static var systemImplementation: String {
        #if canImport(Accelerate)
            "Accelerate"
        #else
            // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH Haswell MAX_THREADS=64": the name and the version come first.
            [openblas_get_config(), openblas_get_corename()].compactMap { $0 }.map { String(cString: $0) }
                .enumerated().flatMap {
                    $0.offset == 0 ? $0.element.split(separator: " ").prefix(2) : [$0.element[...]]
                }
                .joined(separator: " ")
        #endif
    }
}

/// Loops over vectors for the widest registers of the processor; see ``PortableKernels``.
///
/// They have the bits of the same loops in Swift, which is compiled for every processor of an architecture and has registers
/// of four numbers on x86-64.
package struct VectorKernels: BitwiseCopyable {
    /// The routines of one instruction set, which are constants of the program.
    let routines: UnsafePointer<halcyon_vectors>

    /// Selects an instruction set; `nil` for the one in force.
    package init(level: String? = nil) { routines = PortableKernels.vectors(at: level) }

    /// Converts a row of bytes to inputs around 0, (byte − 64) / 64; the constant becomes 1.
    @inline(__always)
    func decode(_ bytes: UnsafePointer<UInt8>, into row: UnsafeMutablePointer<Float>) {
        halcyon_decode(routines, bytes, row, Feature.width)
        row[Feature.one] = 1
    }

    /// Multiplies each number by 2 to the power of minus its time times `rate`.
    @inline(__always)
    func decay(_ numbers: UnsafeMutablePointer<Float>, by times: UnsafePointer<Float>, rate: Float, count: Int) {
        halcyon_decay(routines, numbers, times, rate, count)
    }

    /// Replaces priorities above the clock by ``GreedyDual/level(_:)``.
    @inline(__always)
    func octaves(_ excesses: UnsafeMutablePointer<Float>, count: Int) { halcyon_octaves(routines, excesses, count) }
}

private let systemProduct: BLAS.MatrixProduct = { a, b, c, m, n, k in
    cblas_sgemm(
        CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(k), b, size(n), 0, c, size(n))
}

private let systemProductTransposed: BLAS.MatrixProduct = { a, b, c, m, n, k in
    cblas_sgemm(
        CblasRowMajor, CblasTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(m), b, size(n), 0, c, size(n))
}

private let systemVectorProduct: BLAS.VectorProduct = { a, x, y, m, n in
    cblas_sgemv(CblasRowMajor, CblasNoTrans, size(m), size(n), 1, a, size(n), x, 1, 0, y, 1)
}

private let systemVectorProductTransposed: BLAS.VectorProduct = { a, x, y, m, n in
    cblas_sgemv(CblasRowMajor, CblasTrans, size(m), size(n), 1, a, size(n), x, 1, 0, y, 1)
}

#if canImport(Accelerate)
    private func size(_ value: Int) -> __LAPACK_int { __LAPACK_int(value) }
#else
    private func size(_ value: Int) -> blasint { blasint(value) }
#endif
