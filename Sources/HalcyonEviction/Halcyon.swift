/// Facts about this build. Seen within the package only: beside the module `Halcyon` a public type of that name would hide it.
package enum Halcyon {
    /// The version, which every result and every file of a model carries.
    package static let version = "0.1.0"
    /// Raised by every change that moves a result of any policy; results of one version are the same on every machine.
    package static let resultVersion = 1
}
