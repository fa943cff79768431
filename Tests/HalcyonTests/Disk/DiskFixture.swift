import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

/// A step of an operation on the disk.
enum DiskStep: String, CaseIterable, Sendable {
    case opening, writing, renaming, renamed, removing, removed, indexing, indexed, measuring, reading, touching
}

/// Calls a closure at each step of a storage on its disk, and another before the first listing of its folder. A closure
/// may wait, or throw so that the step fails.
final class SteppedCalls: DiskCalls {
    private let onStep: @Sendable (DiskStep) throws -> Void
    private let beforeListing: Mutex<(@Sendable () throws -> Void)?>

    init(
        onStep: @escaping @Sendable (DiskStep) throws -> Void = { _ in },
        beforeListing: @escaping @Sendable () throws -> Void = {}
    ) {
        self.onStep = onStep
        self.beforeListing = Mutex(beforeListing)
    }

    func perform<Result>(_ call: DiskCall, _ body: () throws -> Result) throws -> Result {
        let (before, after): (DiskStep?, DiskStep?) =
            switch call {
            case .listing: (nil, nil)
            case .opening: (.opening, nil)
            case .writing: (.writing, nil)
            case .renaming: (.renaming, .renamed)
            case .removing: (.removing, .removed)
            case .indexing: (.indexing, .indexed)
            case .measuring: (.measuring, nil)
            case .reading: (.reading, nil)
            case .touching: (.touching, nil)
            }
        if call == .listing { try beforeListing.withLock({ $0.take() })?() }
        if let before { try onStep(before) }
        let result = try body()
        if let after { try onStep(after) }
        return result
    }
}

/// A temporary folder with a disk storage, which can be closed and opened again.
final class DiskFixture {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let left = Removals()

    init(on disk: SmallDisk? = nil) throws { folder = try TemporaryFolder(in: disk?.path) }

    func config(_ change: (inout DiskStorageConfig) -> Void = { _ in }) -> DiskStorageConfig {
        var config = DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path))
        config.cleanInterval = .zero
        change(&config)
        return config
    }

    func open(
        policy: String = "lru", flushDelay: Duration = .milliseconds(10),
        _ change: (inout DiskStorageConfig) -> Void = { _ in },
        onStep: @escaping @Sendable (DiskStep) throws -> Void = { _ in },
        beforeListing: @escaping @Sendable () throws -> Void = {}
    ) throws -> DiskStorage {
        try DiskStorage(
            config: config(change), configured: PolicyCatalogue.standard.livePolicy(policy), seed: 1, clock: clock,
            patience: .seconds(1), flushDelay: flushDelay,
            calls: SteppedCalls(onStep: onStep, beforeListing: beforeListing), onRemoval: left.note)
    }

    /// Closes a storage and waits until its background work has ended.
    func close(_ disk: inout DiskStorage?) throws {
        let url = disk?.directoryURL
        disk = nil
        if let url { _ = try DirectoryLock(url, patience: .seconds(60)) }
    }

    /// Returns the names of the files and their sizes on disk by `stat`.
    func files() throws -> [String: Int] {
        let path = folder.path + "/halcyon.cache.test"
        var found: [String: Int] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: path) where !name.hasPrefix(".") {
            var status = stat()
            if stat("\(path)/\(name)", &status) != 0 {
                // The file may be removed after the listing.
                try #require(errno == ENOENT)
                continue
            }
            if status.st_mode & S_IFMT == S_IFREG { found[name] = Int(status.st_blocks) * 512 }
        }
        return found
    }

    /// Checks that the entries and the files agree to the byte.
    func expectAgreement(_ disk: DiskStorage, sourceLocation: SourceLocation = #_sourceLocation) throws {
        let found = try files()
        disk.waitUntilListed()
        let entries = disk.state.withLock { state in
            Dictionary(
                uniqueKeysWithValues: state.entries.residents { _, _ in true }.map {
                    (state.entries.key(of: $0), state.entries.cost(of: $0))
                })
        }
        #expect(entries == found, sourceLocation: sourceLocation)
        #expect(disk.totalSize == found.values.reduce(0, +), sourceLocation: sourceLocation)
        #expect(disk.count == found.count, sourceLocation: sourceLocation)
    }
}

/// Checks that files and entries agree in number and size, no partial file is left, and the values of `key-0` and
/// up are whole.
///
/// - Returns: The number of values.
func expectWholeValues(
    in disk: DiskStorage, keys: Int, words: UInt64 = 2_500, sourceLocation: SourceLocation = #_sourceLocation
) throws -> Int {
    let folder = disk.directoryURL.path
    disk.waitUntilListed()
    let names = try FileManager.default.contentsOfDirectory(atPath: folder).filter { !$0.hasPrefix(".") }
    let sizes = try names.map { name -> Int in
        var status = stat()
        try #require(stat("\(folder)/\(name)", &status) == 0)
        return Int(status.st_blocks) * 512
    }
    #expect(disk.count == names.count, sourceLocation: sourceLocation)
    #expect(disk.totalSize == sizes.reduce(0, +), sourceLocation: sourceLocation)
    let hidden = try FileManager.default.contentsOfDirectory(atPath: folder + "/.halcyon")
    #expect(!hidden.contains { $0.hasSuffix(".part") }, sourceLocation: sourceLocation)
    var found = 0
    for number in 0..<keys {
        guard let data = try disk.value(forKey: "key-\(number)") else { continue }
        found += 1
        let version = SelfDescribingValue.version(of: data, key: "key-\(number)", words: words)
        #expect(version != nil, sourceLocation: sourceLocation)
    }
    return found
}

func bytes(_ count: Int, _ byte: UInt8 = 7) -> Data { Data(repeating: byte, count: count) }
