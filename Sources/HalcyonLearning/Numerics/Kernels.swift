import CPortableBLAS
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The implementation of the networks' matrix routines.
///
/// Select it with the parameter `kernels` of `learned` and of the planner: `learned(kernels=system)`.
public enum Kernels: String, CaseIterable, Sendable, Codable {
    /// Halcyon's own routines, which give the same bits on every processor; see ``PortableKernels``. The default.
    case portable
    /// The BLAS of the system: OpenBLAS on Linux, Accelerate on Apple platforms (never compiled).
    ///
    /// OpenBLAS chooses its routines by the processor, so results depend on the machine. The first network that uses it calls
    /// `openblas_set_num_threads(1)`: this sets the number of threads for **every** use of OpenBLAS in the process, until
    /// the host application sets it again. With ``portable`` no function of OpenBLAS is called.
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

/// The instruction sets that the portable matrix routines were compiled for.
///
/// All of them give the same bits and differ in speed alone. The widest that the processor has is used, unless
/// ``select(level:)`` or the environment variable ``environmentVariable`` selects another one, for tests and measurements.
public enum PortableKernels {
    /// The environment variable that names the instruction set. It is read once. A name that this processor cannot use is
    /// ignored; see ``environmentFault``.
    public static let environmentVariable = "HALCYON_KERNELS"

    /// An instruction set that this processor cannot use, or that does not exist.
    public struct UnavailableLevel: Error, CustomStringConvertible, Sendable {
        /// The requested name.
        public let name: String

        /// One sentence with the names that are accepted.
        public var description: String {
            let known = PortableKernels.levels.contains(name)
            let reason =
                known
                ? "needs instructions that this processor lacks" : "is not an instruction set of the portable kernels"
            return "'\(name)' \(reason): give one of \(PortableKernels.availableLevels.joined(separator: ", "))."
        }
    }

    /// The names of all instruction sets, narrowest first, whether this processor has them or not.
    public static var levels: [String] {
        (0..<halcyon_blas_level_count()).map { String(cString: halcyon_blas_level_name($0)) }
    }

    /// The names of the instruction sets that this processor has, narrowest first.
    public static var availableLevels: [String] {
        (0..<halcyon_blas_level_count()).compactMap { halcyon_blas_level($0) }.map { String(cString: $0.pointee.name) }
    }

    /// The name of the instruction set in force.
    public static var level: String {
        String(cString: halcyon_blas_level_name(Int32(selection.load(ordering: .relaxed))))
    }

    /// The fault of the environment variable, in one sentence; `nil` if it is not set, or names an instruction set that this
    /// processor has.
    public static let environmentFault: String? = requested.flatMap {
        number(of: $0) == nil ? "\(environmentVariable): \(UnavailableLevel(name: $0))" : nil
    }

    /// Selects an instruction set for networks that are made after this call.
    ///
    /// - Throws: ``UnavailableLevel`` if this processor cannot use it.
    public static func select(level name: String) throws(UnavailableLevel) {
        guard let number = number(of: name) else { throw UnavailableLevel(name: name) }
        selection.store(Int(number), ordering: .relaxed)
    }

    /// Returns the routines for an instruction set, or for the one in force.
    static func routines(at name: String? = nil) -> UnsafePointer<halcyon_blas> {
        let number = name.flatMap(number(of:)) ?? Int32(selection.load(ordering: .relaxed))
        guard let routines = halcyon_blas_level(number) else { preconditionFailure("level 0 is always there") }
        return routines
    }

    /// Returns the loops over vectors for an instruction set, or for the one in force.
    static func vectors(at name: String? = nil) -> UnsafePointer<halcyon_vectors> {
        let number = name.flatMap(number(of:)) ?? Int32(selection.load(ordering: .relaxed))
        guard let vectors = halcyon_vectors_level(number) else { preconditionFailure("level 0 is always there") }
        return vectors
    }

    private static let requested: String? = getenv(environmentVariable).map { String(cString: $0) }.flatMap {
        $0.isEmpty ? nil : $0
    }

    private static let selection = Atomic(Int(requested.flatMap(number(of:)) ?? widest))

    private static var widest: Int32 {
        (0..<halcyon_blas_level_count()).last { halcyon_blas_level($0) != nil } ?? 0
    }

    private static func number(of name: String) -> Int32? {
        (0..<halcyon_blas_level_count()).first { level in
            halcyon_blas_level(level).map { String(cString: $0.pointee.name) == name } ?? false
        }
    }
}
