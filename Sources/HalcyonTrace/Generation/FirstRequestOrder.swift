/// Turns a model's own numbers into those of a trace, which counts in order of first request.
struct FirstRequestOrder {
    private var numbers: [UInt32]
    /// The model's number of each of the trace's numbers.
    private(set) var originals: [UInt32] = []

    private static let unseen = UInt32.max

    /// Expects model numbers up to `capacity`; larger ones make the table grow.
    init(capacity: Int) {
        numbers = Array(repeating: FirstRequestOrder.unseen, count: capacity)
    }

    /// The trace's number of the model's `original`. O(1), amortised.
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

extension Trace {
    /// A trace of requests a second apart, without users, categories and sizes.
    static func plain(requests: Int, names: Bool, objects: Int, next: (Int) -> Int) -> Trace {
        var order = FirstRequestOrder(capacity: objects)
        let entries = [UInt32](unsafeUninitializedCapacity: requests) { buffer, count in
            for index in 0..<requests { buffer.initializeElement(at: index, to: order.number(of: next(index))) }
            count = requests
        }
        var tables = TraceNames()
        if names {
            for original in order.originals { tables.keys.append("\(original)") }
        }
        var report = LoadReport()
        report.noSizes = true
        return Trace(
            entries: entries, times: TimeColumn(count: requests),
            objectSizes: Array(repeating: 1, count: order.originals.count), names: tables, report: report)
    }
}
