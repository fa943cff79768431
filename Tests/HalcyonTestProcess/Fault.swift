import Foundation
import Synchronization

/// What a sanitizer must report, lest its silence about everything else mean nothing.
enum Fault: String {
    /// Two threads that count in the same place without a lock.
    case race
    /// A byte behind the end of what was allocated.
    case overrun

    func commit() {
        switch self {
        case .race: Self.race()
        case .overrun: Self.overrun()
        }
    }

    private static func overrun() {
        let place = UnsafeMutablePointer<UInt8>.allocate(capacity: 16)
        defer { place.deallocate() }
        place.initialize(repeating: 0, count: 16)
        write(1, to: place + 16)
        Main.say("\(place[0]) written")
    }

    /// Not by a loop of the standard library's, which no sanitizer looks into, and in a call that the optimizer cannot see through.
    @inline(never)
    private static func write(_ byte: UInt8, to place: UnsafeMutablePointer<UInt8>) { place.pointee = byte }

    private static func race() {
        let place = UnsafeMutablePointer<Int>.allocate(capacity: 1)
        place.initialize(to: 0)
        defer { place.deallocate() }
        let address = UInt(bitPattern: place)
        let (running, arrived) = (DispatchGroup(), Arrivals())
        for _ in 0..<2 {
            running.enter()
            Thread.detachNewThread {
                let place = UnsafeMutablePointer<Int>(bitPattern: address)
                arrived.wait(for: 2)
                for _ in 0..<2_000 {
                    place?.pointee += 1
                    sched_yield()
                }
                running.leave()
            }
        }
        running.wait()
        Main.say("\(place.pointee) counted")
    }
}

/// Where threads wait for each other.
private final class Arrivals: Sendable {
    private let count = Atomic<Int>(0)

    func wait(for number: Int) {
        count.add(1, ordering: .relaxed)
        while count.load(ordering: .relaxed) < number {}
    }
}
