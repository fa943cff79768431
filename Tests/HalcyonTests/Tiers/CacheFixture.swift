import Foundation
import Halcyon
import HalcyonAccessLog
import HalcyonEviction
import HalcyonTestSupport
import Synchronization

@testable import HalcyonCache

/// An image cache in a temporary folder with a manual clock.
struct CacheFixture {
    let folder: TemporaryFolder
    let clock = ManualClock()
    let recorder: Recorder
    let cache: ImageCache<Blob>
    let serializer: BlobSerializer

    init(
        memory: MemoryStorage<Blob>.Config = .lasting(cost: 100), triggers: [any CacheTrigger] = [],
        policy: String = "lru", diskPolicy: String? = nil, log: AccessLog? = nil,
        on smallDisk: SmallDisk? = nil, disk change: (inout DiskStorageConfig) -> Void = { _ in }
    ) throws {
        folder = try TemporaryFolder(in: smallDisk?.path)
        recorder = Recorder(into: log)
        var disk = DiskStorageConfig(name: "test", directory: URL(fileURLWithPath: folder.path))
        disk.cleanInterval = .zero
        change(&disk)
        serializer = BlobSerializer()
        cache = ImageCache(
            memory: memory, disk: disk, memoryPolicy: try PolicyCatalogue.standard.livePolicy(policy),
            diskPolicy: try PolicyCatalogue.standard.livePolicy(diskPolicy ?? policy), serializer: serializer,
            clock: clock,
            recorder: recorder, triggers: triggers)
    }

    /// The files of the cache.
    func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path + "/halcyon.cache.test")
            .filter { !$0.hasPrefix(".") }
    }
}

extension EntryNotes {
    /// Returns the note of an entry as it is now, without waiting. It returns `nil` if there is none, and while a store
    /// is pending or the folder is being listed.
    func note(of key: some EntryNaming) -> Data? { disk.openStorage?.note(of: key.entryKey) }
}

/// Records accesses for the test, and in a log if there is one.
final class Recorder: AccessRecorder {
    private let list = Mutex<[RecordedAccess]>([])
    private let shown = Mutex<[RecordedList]>([])
    private let log: AccessLog?

    init(into log: AccessLog? = nil) { self.log = log }

    var all: [RecordedAccess] { list.withLock { $0 } }

    func record(_ access: RecordedAccess) {
        list.withLock { $0.append(access) }
        log?.record(access)
    }

    var lists: [RecordedList] { shown.withLock { $0 } }

    func record(_ list: RecordedList) {
        shown.withLock { $0.append(list) }
        log?.record(list)
    }
}

/// Serializes blobs as `cost name`, padded to `cost` bytes; a blob named `unserializable` fails.
final class BlobSerializer: CacheSerializer {
    private let gate = Mutex<DispatchSemaphore?>(nil)
    private let decoding = Mutex<CallbackQueue?>(nil)
    private let reading = Atomic<Int>(0)
    private let reads = Atomic<Int>(0)

    /// The number of times that bytes were read.
    var readCount: Int { reads.load(ordering: .relaxed) }
    /// The number of threads that read bytes now.
    var readers: Int { reading.load(ordering: .relaxed) }

    /// Makes each later read wait for a semaphore.
    func wait(for semaphore: DispatchSemaphore?) { gate.withLock { $0 = semaphore } }

    /// Makes look-ups read bytes on a queue; `nil` for the thread that has read the file.
    func decode(on queue: CallbackQueue?) { decoding.withLock { $0 = queue } }

    var decodingQueue: CallbackQueue? { decoding.withLock { $0 } }

    func data(with value: Blob, original: Data?) -> Data? {
        if value.name == "unserializable" { return nil }
        if let original { return original }
        var data = Data("\(value.cacheCost) \(value.name)\n".utf8)
        if data.count < value.cacheCost { data.append(Data(count: value.cacheCost - data.count)) }
        return data
    }

    func value(with data: Data) -> Blob? {
        reading.add(1, ordering: .relaxed)
        reads.add(1, ordering: .relaxed)
        defer { reading.subtract(1, ordering: .relaxed) }
        gate.withLock { $0 }?.wait()
        guard let line = data.split(separator: 10, maxSplits: 1).first else { return nil }
        let parts = String(decoding: line, as: UTF8.self).split(
            separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let cost = Int(parts[0]) else { return nil }
        return Blob(String(parts[1]), cost: cost)
    }
}
