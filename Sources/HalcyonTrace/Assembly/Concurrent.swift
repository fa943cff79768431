import Dispatch
import Synchronization

/// An array made by several threads, each of which fills parts of its own.
///
/// The buffer's address crosses between threads as a number; it is only good while the array is being made.
struct ConcurrentColumn: Sendable {
    private let address: UInt

    /// An array of `count` numbers that `fill` makes piece by piece, several pieces at a time; piece `i` starts at
    /// `starts[i]` and must be filled up to the next.
    static func make(
        starts: [Int], count: Int, fill: @Sendable (_ piece: Int, _ target: UnsafeMutablePointer<UInt32>) -> Void
    ) -> [UInt32] {
        [UInt32](unsafeUninitializedCapacity: count) { numbers, initialized in
            guard count > 0, let base = numbers.baseAddress else { return }
            let column = ConcurrentColumn(address: UInt(bitPattern: base))
            DispatchQueue.concurrentPerform(iterations: starts.count) { piece in
                guard let base = UnsafeMutablePointer<UInt32>(bitPattern: column.address) else { return }
                fill(piece, base + starts[piece])
            }
            initialized = count
        }
    }
}

/// Runs two computations side by side and waits for both.
func concurrently<First: Sendable, Second: Sendable>(
    _ first: @Sendable () -> First, _ second: @Sendable () -> Second
) -> (First, Second) {
    let firstResult = Mutex<First?>(nil)
    let secondResult = Mutex<Second?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
            let result = first()
            firstResult.withLock { $0 = result }
        } else {
            let result = second()
            secondResult.withLock { $0 = result }
        }
    }
    guard let first = firstResult.withLock({ $0 }), let second = secondResult.withLock({ $0 }) else {
        preconditionFailure("both computations have run")
    }
    return (first, second)
}
