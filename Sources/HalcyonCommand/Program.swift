import HalcyonBoosting
import HalcyonEviction
import Synchronization

/// The running program: its name, and its policies beside those of the laboratory.
struct Program: Sendable {
    /// The name in messages and help.
    var name = "replay"
    /// The policies that ``LaboratoryCommand/main(name:adding:)`` was given.
    var policies: [PolicyEntry] = []

    private static let running = Mutex(Program())

    /// The program of this process, set once at its start. `replay` by default.
    static var current: Program {
        get { running.withLock { $0 } }
        set { running.withLock { $0 = newValue } }
    }

    /// The policies that can run; see `PolicyCatalogue.laboratory`.
    static var catalogue: PolicyCatalogue { current.extended(.laboratory) }

    /// The policies to name and describe; see `PolicyCatalogue.named`.
    static var namedPolicies: PolicyCatalogue { current.extended(.named) }

    private func extended(_ catalogue: PolicyCatalogue) -> PolicyCatalogue {
        policies.reduce(into: catalogue) { $0.add($1) }
    }
}
