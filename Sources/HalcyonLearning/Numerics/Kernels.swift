/// The implementation of the matrix routines that a network computes with.
///
/// Select it with the parameter `kernels` of `learned` and of the planner: `learned(kernels=system)`.
public enum Kernels: String, CaseIterable, Sendable, Codable {
    /// Halcyon's own routines, which give the same bits on every processor; see ``PortableKernels``. The default.
    case portable
    /// The BLAS of the system: OpenBLAS on Linux, Accelerate on Apple platforms.
    ///
    /// OpenBLAS chooses its routines by the processor, so results depend on the machine. The first network that uses it
    /// calls `openblas_set_num_threads(1)`: this sets the number of threads for **every** use of OpenBLAS in the process, until the
    /// host application sets it again. With ``portable`` no function of OpenBLAS is called.
    case system

    /// The routines in force on this machine: the instruction set (`avx2`), or the library's name, version and processor
    /// (`OpenBLAS 0.3.21 Haswell`).
    public var implementation: String {
        switch self {
        case .portable: PortableKernels.level
        case .system: BLAS.systemImplementation
        }
    }
}
