import CPortableBLAS
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The instruction sets that the portable matrix routines were compiled for.
///
/// All of them give the same bits; they differ in speed alone. The widest that the processor has is used, unless
/// ``select(level:)`` or the environment variable ``environmentVariable`` name another: for tests, and for measuring.
public enum PortableKernels {
    /// The environment variable that names the instruction set, read once. A name that this processor cannot use is ignored; see
    /// ``environmentFault``.
    public static let environmentVariable = "HALCYON_KERNELS"

    /// An instruction set that this processor cannot use, or that does not exist.
    public struct UnavailableLevel: Error, CustomStringConvertible, Sendable {
        /// The name asked for.
        public let name: String

        /// One sentence with the names that are accepted.
        public var description: String {
            let known = PortableKernels.levels.contains(name)
            let reason =
                known ? "needs instructions that this processor lacks" : "is no instruction set of the portable kernels"
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

    /// What is wrong with the environment variable, in one sentence; `nil` where it is not set, or names an instruction set that
    /// this processor has.
    public static let environmentFault: String? = requested.flatMap {
        number(of: $0) == nil ? "\(environmentVariable): \(UnavailableLevel(name: $0))" : nil
    }

    /// Selects an instruction set for networks made from now on.
    ///
    /// - Throws: ``UnavailableLevel`` if this processor cannot use it.
    public static func select(level name: String) throws(UnavailableLevel) {
        guard let number = number(of: name) else { throw UnavailableLevel(name: name) }
        selection.store(Int(number), ordering: .relaxed)
    }

    /// The routines for an instruction set, or for the one in force.
    static func routines(at name: String? = nil) -> UnsafePointer<halcyon_blas> {
        let number = name.flatMap(number(of:)) ?? Int32(selection.load(ordering: .relaxed))
        guard let routines = halcyon_blas_level(number) else { preconditionFailure("level 0 is always there") }
        return routines
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
