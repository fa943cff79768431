import HalcyonSimulation

/// The named values of a YAML mapping.
struct YAMLFields {
    /// The names with where they stand, in the order of the file.
    private(set) var keys: [(name: String, key: YAMLValue)] = []
    private var values: [String: YAMLValue] = [:]
    private let owner: YAMLValue
    private let what: String

    /// No field yet of `owner`, which is `what`.
    init(owner: YAMLValue, what: String) {
        self.owner = owner
        self.what = what
    }

    /// Adds a field.
    mutating func add(_ name: String, key: YAMLValue, value: YAMLValue) {
        keys.append((name, key))
        values[name] = value
    }

    /// The value of a name, `nil` where it is not given.
    subscript(name: String) -> YAMLValue? { values[name] }

    /// The value of a name.
    ///
    /// - Throws: ``HalcyonSimulation/ReplayError`` if it is not given.
    func required(_ name: String) throws(ReplayError) -> YAMLValue {
        guard let value = values[name] else { throw owner.fault("\(what) needs '\(name)'.") }
        return value
    }
}
