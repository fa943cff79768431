import HalcyonTrace

/// Which object has the key that is the number after another's, where keys are numbers. O(1) a look; 4 bytes an object.
struct NextKeys: Sendable {
    private let next: [UInt32]

    /// Of a trace that was loaded with its keys; `nil` if no two keys are neighbours. O(objects).
    init?(_ trace: Trace) {
        guard trace.names.keys.count == trace.objectCount else { return nil }
        var objects: [UInt64: UInt32] = [:]
        var numbers = [UInt64?](repeating: nil, count: trace.objectCount)
        for object in numbers.indices {
            numbers[object] = UInt64(trace.names.keys[UInt32(object)])
            if let number = numbers[object] { objects[number] = UInt32(object) }
        }
        next = numbers.map { number in number.flatMap { $0 == .max ? nil : objects[$0 + 1] } ?? .max }
        if next.allSatisfy({ $0 == .max }) { return nil }
    }

    /// The object whose key follows that of another.
    func object(after object: UInt32) -> UInt32? {
        let following = next[Int(object)]
        return following == .max ? nil : following
    }
}
