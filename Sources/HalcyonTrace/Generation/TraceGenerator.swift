/// A model that generates synthetic traces.
///
/// The same model and seed give the same trace, bit for bit, on every platform. Random numbers come from
/// `SeededGenerator`, and generators call no function whose result differs between C libraries.
public protocol TraceGenerator: Sendable {
    /// Generates a trace.
    ///
    /// - Parameters:
    ///   - seed: The seed of all random numbers.
    ///   - names: Whether keys, categories and users get names. A trace without names needs less memory and time.
    /// - Throws: ``GenerationError`` if a parameter of the model has an invalid value.
    func generate(seed: UInt64, names: Bool) throws(GenerationError) -> Trace
}

extension TraceGenerator {
    /// Generates a trace with names.
    public func generate(seed: UInt64) throws(GenerationError) -> Trace {
        try generate(seed: seed, names: true)
    }
}

/// The numbers that a trace gives to a model's objects or users: in order of first request.
struct FirstRequestOrder {
    private var numbers: [UInt32]
    /// The model's number, by the trace's number.
    private(set) var originals: [UInt32] = []

    private static let unseen = UInt32.max

    /// Creates a table for model numbers up to `capacity`; larger numbers make it grow.
    init(capacity: Int) {
        numbers = Array(repeating: FirstRequestOrder.unseen, count: capacity)
    }

    /// Returns the trace's number of the model's `original`. O(1), amortised.
    mutating func number(of original: Int) -> UInt32 {
        if original >= numbers.count {
            let missing = max(original + 1, numbers.count * 2) - numbers.count
            numbers.append(contentsOf: repeatElement(FirstRequestOrder.unseen, count: missing))
        }
        let known = numbers[original]
        if known != FirstRequestOrder.unseen { return known }
        let number = UInt32(originals.count)
        numbers[original] = number
        originals.append(UInt32(original))
        return number
    }
}
