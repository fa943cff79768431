import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

/// Stores, reads, removes and cleans in a disk storage until a step on the disk at which the process ends itself.
struct KilledStorage {
    let directory: URL
    let seed: UInt64
    /// The steps to live through.
    let life: Int
    /// The steps that count: `any`, or the name of one.
    let steps: String

    func run() throws {
        let passed = Mutex(0)
        let (life, steps) = (life, steps)
        let disk = try DiskStorage(
            config: .init(name: "killed", directory: directory, sizeLimit: 400_000), seed: 1, patience: .seconds(1),
            flushDelay: .seconds(0.002),
            calls: KillingCalls { step in
                guard steps == "any" || steps == step else { return }
                let isLast = passed.withLock { passed in
                    passed += 1
                    return passed >= life
                }
                if isLast { kill(getpid(), SIGKILL) }
            })
        var random = SplitMix64(seed: seed)
        for version in 0..<100_000 {
            let key = "key-\(random.next(below: 60))"
            switch random.next(below: 14) {
            case 0...6:
                try disk.store(
                    value: SelfDescribingValue.bytes(key: key, version: version), forKey: key,
                    expiration: random.next(below: 8) == 0 ? .seconds(0.005) : nil)
            case 7: disk.remove(forKey: key)
            case 8 where random.next(below: 10) == 0: disk.trim(toSize: 200_000)
            case 9: disk.removeExpiredValues()
            case 10 where random.next(below: 10) == 0: disk.removeSizeExceededValues()
            default:
                if let data = try disk.value(forKey: key), SelfDescribingValue.version(of: data, key: key) == nil {
                    Main.fail("\(key) reads as \(data.count) bytes that nobody stored")
                }
            }
        }
        exit(2)
    }
}

/// Calls a closure with the name of each step of a storage on its disk.
private struct KillingCalls: DiskCalls {
    let onStep: @Sendable (String) -> Void

    func perform<Result>(_ call: DiskCall, _ body: () throws -> Result) throws -> Result {
        if call != .listing { onStep("\(call)") }
        let result = try body()
        switch call {
        case .renaming: onStep("renamed")
        case .removing: onStep("removed")
        case .indexing: onStep("indexed")
        default: break
        }
        return result
    }
}
