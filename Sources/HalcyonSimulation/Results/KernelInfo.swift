import HalcyonEviction
import HalcyonLearning

/// The matrix routines that computed a result.
public struct KernelInfo: Sendable, Codable, Hashable {
    /// The parameter `kernels` of the policy.
    public var name: Kernels
    /// The routines used on this machine: an instruction set (`avx2`), or a library with its version and the
    /// processor that it chose its routines for (`OpenBLAS 0.3.21 Haswell`).
    public var implementation: String

    /// The routines of `kernels` on this machine.
    package init(_ kernels: Kernels) {
        name = kernels
        implementation = kernels.implementation
    }

    /// The routines that `policy` computes with. Nil for a policy without a parameter `kernels`.
    package init?(_ policy: ConfiguredPolicy) {
        guard let value = policy.parameters.first(where: { $0.name == "kernels" })?.value,
            let kernels = Kernels(rawValue: value)
        else { return nil }
        self.init(kernels)
    }

    /// The routines that a prefetch policy computes with. Nil for every prefetch policy except the planner.
    package init?(_ prefetch: PrefetchOptions) {
        guard prefetch.isPlanner else { return nil }
        self.init(prefetch.planner.kernels)
    }

    /// Whether the result is exact on this kind of processor only.
    package var dependsOnProcessor: Bool { name == .system }

    /// Returns a note for tables about routines whose results depend on the processor; `nil` if none was used.
    package static func note(_ used: [KernelInfo?]) -> String? {
        used.lazy.compactMap { $0 }.first(where: \.dependsOnProcessor).map {
            "kernels: \($0.implementation); results depend on the processor."
        }
    }
}

extension RunResult {
    /// The matrix routines that computed the run: those of the policy, then those of the prefetch policy.
    package var allKernels: [KernelInfo] { [kernels, prefetch?.kernels].compactMap { $0 } }

    /// A sentence that names the matrix routines. Nil if the run does not depend on the processor.
    package var kernelNote: String? { KernelInfo.note(allKernels) }
}
