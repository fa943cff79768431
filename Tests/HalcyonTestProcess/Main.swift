import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

/// A process for tests to be killed: it stores, reads, removes and cleans in a disk storage and ends itself, as a power
/// switch would, at a step on the disk.
///
/// Arguments: the directory, the seed, how many steps to live, and the steps that count (`any` or their names).
@main
enum Main {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count == 5, let seed = UInt64(arguments[2]), let life = Int(arguments[3]) else { exit(64) }
        let counts = arguments[4]
        let passed = Mutex(0)
        let disk = try DiskStorage<Data>(
            config: .init(name: "killed", directory: URL(fileURLWithPath: arguments[1]), sizeLimit: 400_000),
            flushDelay: 0.002,
            onStep: { step in
                guard counts == "any" || counts == step.rawValue else { return }
                let isLast = passed.withLock { passed in
                    passed += 1
                    return passed >= life
                }
                if isLast { kill(getpid(), SIGKILL) }
            })
        var random = SplitMix64(seed: seed)
        for version in 0..<100_000 {
            let key = "key-\(random.next(below: 60))"
            switch random.next(below: 12) {
            case 0...6:
                try disk.store(value: SelfDescribingValue.bytes(key: key, version: version), forKey: key)
            case 7: disk.remove(forKey: key)
            case 8 where random.next(below: 10) == 0: disk.trim(toSize: 200_000)
            default:
                if let data = try disk.value(forKey: key), SelfDescribingValue.version(of: data, key: key) == nil {
                    exit(1)
                }
            }
        }
        exit(2)
    }
}
