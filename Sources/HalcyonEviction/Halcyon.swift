/// Facts about this build. Seen within the package only: beside the module `Halcyon` a public type of that name would hide it.
package enum Halcyon {
    /// The version, which every result and every file of a model carries.
    package static let version = "0.1.0"

    /// The result version: a whole number that every report and every stored result carries.
    ///
    /// Raise it in every change that moves any result of any policy on any trace: two builds with the same result
    /// version give the same counts. CHANGELOG.md has an entry for each result version. `make accept` renews the stored results.
    package static let resultVersion = 11
}
