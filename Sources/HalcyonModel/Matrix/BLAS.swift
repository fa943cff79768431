#if canImport(Accelerate)
    import Accelerate
#else
    import COpenBLAS
#endif

/// The few products of single-precision row-major matrices that the learner needs.
///
/// They run on the calling thread alone: at these sizes (tens of rows and columns) handing work to other threads costs
/// more than it gives, and one thread makes every sum come out the same in every run.
enum BLAS {
    /// Told once, before the first product. Accelerate decides by size and keeps such small products on one thread.
    private static let isSingleThreaded: Bool = {
        #if !canImport(Accelerate)
            openblas_set_num_threads(1)
        #endif
        return true
    }()

    /// Readies the library; called by everything that is about to multiply.
    static func prepare() { precondition(isSingleThreaded, "the library takes one thread") }

    /// C := A · B, where A is `m` × `k`, B is `k` × `n`, C is `m` × `n`. O(m k n).
    static func multiply(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, into c: UnsafeMutablePointer<Float>,
        m: Int, n: Int, k: Int
    ) {
        cblas_sgemm(
            CblasRowMajor, CblasNoTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(k), b, size(n), 0, c,
            size(n))
    }

    /// C := Aᵀ · B, where A is `k` × `m`, B is `k` × `n`, C is `m` × `n`. O(m k n).
    static func multiplyTransposed(
        _ a: UnsafePointer<Float>, _ b: UnsafePointer<Float>, into c: UnsafeMutablePointer<Float>,
        m: Int, n: Int, k: Int
    ) {
        cblas_sgemm(
            CblasRowMajor, CblasTrans, CblasNoTrans, size(m), size(n), size(k), 1, a, size(m), b, size(n), 0, c,
            size(n))
    }

    /// y := A · x, where A is `m` × `n`. O(m n).
    static func multiply(
        _ a: UnsafePointer<Float>, vector x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, m: Int, n: Int
    ) {
        cblas_sgemv(CblasRowMajor, CblasNoTrans, size(m), size(n), 1, a, size(n), x, 1, 0, y, 1)
    }

    /// y := Aᵀ · x, where A is `m` × `n`. O(m n).
    static func multiplyTransposed(
        _ a: UnsafePointer<Float>, vector x: UnsafePointer<Float>, into y: UnsafeMutablePointer<Float>, m: Int, n: Int
    ) {
        cblas_sgemv(CblasRowMajor, CblasTrans, size(m), size(n), 1, a, size(n), x, 1, 0, y, 1)
    }

    #if canImport(Accelerate)
        private static func size(_ value: Int) -> __LAPACK_int { __LAPACK_int(value) }
    #else
        private static func size(_ value: Int) -> blasint { blasint(value) }
    #endif
}
