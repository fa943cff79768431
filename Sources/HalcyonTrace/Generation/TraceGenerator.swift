/// A model from which synthetic traces are drawn.
///
/// The same model and seed give the same trace, bit for bit, on every platform: random numbers come from
/// ``SeededGenerator``, and no function is used whose result may differ between C libraries.
public protocol TraceGenerator: Sendable {
    /// Draws a trace.
    ///
    /// - Parameters:
    ///   - seed: Chooses the draw.
    ///   - names: Whether keys, categories and users get names. Without, the trace is lean and made faster.
    /// - Throws: ``GenerationError`` if a knob of the model has a value that makes no sense.
    func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace
}

extension TraceGenerator {
    /// Draws a trace with names.
    public func generate(seed: UInt64) throws(GenerationError) -> Trace {
        try generate(seed: seed, names: true)
    }
}

/// Why a model cannot be drawn from.
public struct GenerationError: Error, Equatable, CustomStringConvertible {
    /// The knob, by its name in the model.
    public let knob: String
    /// The value it has.
    public let value: String
    /// What it may be; the knobs that there are, where this is none.
    public let accepted: String
    /// Whether the model has no such knob.
    public let isUnknown: Bool

    /// A knob with a value that it cannot have, or one that does not exist.
    public init(knob: String, value: String, accepted: String, isUnknown: Bool = false) {
        self.knob = knob
        self.value = value
        self.accepted = accepted
        self.isUnknown = isUnknown
    }

    /// One sentence for the person who set the knob.
    public var description: String {
        isUnknown
            ? "There is no knob '\(knob)': this model has \(accepted)."
            : "\(knob) is \(value); it must be \(accepted)."
    }
}

/// Checks of a model's knobs.
enum Knob {
    static func count(_ value: Int, _ name: String, atLeast low: Int = 1) throws(GenerationError) {
        if value < low || value >= Int(UInt32.max) {
            throw GenerationError(
                knob: name, value: "\(value)", accepted: "a whole number from \(low) to \(UInt32.max - 1)")
        }
    }

    static func share(_ value: Double, _ name: String) throws(GenerationError) {
        try range(value, name, 0...1)
    }

    static func range(_ value: Double, _ name: String, _ range: ClosedRange<Double>) throws(GenerationError) {
        if !range.contains(value) {
            throw GenerationError(
                knob: name, value: "\(value)", accepted: "from \(range.lowerBound) to \(range.upperBound)")
        }
    }
}
