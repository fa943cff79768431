/// The settable values of a policy: a struct with defaults, and a table that gives each a name.
///
/// ```swift
/// struct Parameters: PolicyParameters {
///     var small = 0.1
///     static let table = [Parameter<Self>.real("small", \.small, in: 0...1, "share of the capacity for new entries")]
/// }
/// ```
public protocol PolicyParameters: Sendable {
    /// The defaults.
    init()
    /// The name, range and meaning of each value.
    static var table: [Parameter<Self>] { get }
    /// One sentence that says why a policy cannot run with these values; `nil`, the default, if it can.
    ///
    /// Some values exclude each other, and some policies need a library that this machine lacks.
    var conflict: String? { get }
    /// Resets values that were not set by hand and conflict with values that were.
    ///
    /// - Parameter given: the names of the parameters that were set by hand.
    mutating func giveWay(to given: Set<String>)
}

extension PolicyParameters {
    /// None.
    public var conflict: String? { nil }

    /// Resets nothing.
    public mutating func giveWay(to given: Set<String>) {}

    /// These values with some set by hand.
    ///
    /// - Parameter policy: the policy's name, for messages.
    /// - Throws: ``PolicyError`` if a parameter does not exist or is set twice, if its value is not accepted, or if there
    ///   is a ``conflict``.
    public func applying(_ settings: [PolicySpec.Setting], policy: String) throws(PolicyError) -> Self {
        var values = self
        var given: Set<String> = []
        for setting in settings {
            guard let parameter = Self.table.first(where: { $0.name == setting.name }) else {
                throw .unknownParameter(setting.name, policy: policy, accepted: Self.table.map(\.name))
            }
            guard given.insert(parameter.name).inserted else {
                throw .conflict("\(policy) is given '\(setting.name)' twice: give it once.")
            }
            guard parameter.write(&values, setting.value) else {
                throw .badValue(setting.value, parameter: setting.name, policy: policy, accepts: parameter.accepts)
            }
        }
        values.giveWay(to: given)
        if let conflict = values.conflict { throw .conflict(conflict) }
        return values
    }
}

/// The parameters of a policy that has none.
public struct NoParameters: PolicyParameters {
    /// Nothing to set.
    public static let table: [Parameter<NoParameters>] = []

    /// Nothing to set.
    public init() {}
}

/// The values that a parameter accepts.
public enum ParameterRange: Sendable, Equatable {
    /// The real numbers of a range.
    case real(ClosedRange<Double>)
    /// The whole numbers of a range.
    case integer(ClosedRange<Int>)
    /// These words.
    case words([String])

    /// The values in words: `a number from 0.0 to 1.0`.
    var description: String {
        switch self {
        case .real(let range): "a number from \(range.lowerBound) to \(range.upperBound)"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .words(let words): "one of " + words.joined(separator: ", ")
        }
    }
}

/// One settable value: its name, what it means, what is accepted, how to read and write it.
public struct Parameter<Owner>: Sendable {
    /// The name, in kebab case.
    public let name: String
    /// What it does, in a few words.
    public let help: String
    /// What is accepted.
    public let range: ParameterRange
    /// What is accepted, in words: `a number from 0.0 to 1.0`.
    public var accepts: String { range.description }
    /// Whether results name the parameter only where it differs from its default.
    private(set) var isRecordedIfSet = false
    package let read: @Sendable (Owner) -> String
    let write: @Sendable (inout Owner, String) -> Bool

    /// The same parameter, added to a policy whose results are stored already. Results name it only where it differs from
    /// its default, so that stored results keep their names.
    public func addedLater() -> Parameter {
        var parameter = self
        parameter.isRecordedIfSet = true
        return parameter
    }

    /// A real number in a range.
    public static func real(
        _ name: String, _ path: WritableKeyPath<Owner, Double> & Sendable, in range: ClosedRange<Double>, _ help: String
    ) -> Parameter {
        Parameter(
            name: name, help: help, range: .real(range),
            read: { "\($0[keyPath: path])" },
            write: { owner, text in
                guard let value = Double(text), range.contains(value) else { return false }
                owner[keyPath: path] = value
                return true
            })
    }

    /// A whole number in a range.
    public static func integer(
        _ name: String, _ path: WritableKeyPath<Owner, Int> & Sendable, in range: ClosedRange<Int>, _ help: String
    ) -> Parameter {
        Parameter(
            name: name, help: help, range: .integer(range),
            read: { "\($0[keyPath: path])" },
            write: { owner, text in
                guard let value = Int(text), range.contains(value) else { return false }
                owner[keyPath: path] = value
                return true
            })
    }

    /// One of several words.
    public static func choice<Value: CaseIterable & RawRepresentable & Sendable>(
        _ name: String, _ path: WritableKeyPath<Owner, Value> & Sendable, _ help: String
    ) -> Parameter where Value.RawValue == String {
        Parameter(
            name: name, help: help, range: .words(Value.allCases.map(\.rawValue)),
            read: { $0[keyPath: path].rawValue },
            write: { owner, text in
                guard let value = Value(rawValue: text) else { return false }
                owner[keyPath: path] = value
                return true
            })
    }
}
