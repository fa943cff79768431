import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonSupport
import Synchronization

/// A version of a file: its size and the time of its last modification.
struct FileVersion: Sendable, Hashable {
    let size: Int64
    /// Nanoseconds since 1970.
    let modified: Int64

    /// The first byte of a note: the version of its form, which differs from that of a ``FreshnessRecord``.
    private static let form: UInt8 = 2

    init(size: Int64, modified: Int64) { (self.size, self.modified) = (size, modified) }

    /// Reads the version of a file; `nil` if there is none. It blocks for one call of the system.
    init?(of url: URL) {
        var status = stat()
        guard stat(url.path, &status) == 0 else { return nil }
        #if canImport(Darwin)
            let time = status.st_mtimespec
        #else
            let time = status.st_mtim
        #endif
        self.init(size: Int64(status.st_size), modified: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }

    /// Reads a version from a cache's note; `nil` if it has none.
    init?(note: Data?) {
        guard let note, note.count == 17, note.first == Self.form else { return nil }
        func number(_ bytes: Data) -> Int64 { bytes.reduce(0) { $0 << 8 | Int64($1) } }
        self.init(size: number(note.dropFirst().prefix(8)), modified: number(note.suffix(8)))
    }

    /// The version as a cache's note.
    var note: Data {
        func bytes(_ number: Int64) -> [UInt8] { (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) } }
        return Data([Self.form] + bytes(size) + bytes(modified))
    }

    /// What notes the version beside stored bytes.
    var noting: NoteMaker { { [note] _, _ in note } }
}

/// The versions of files of which the images in memory were made. Those of images on disk are in their notes.
final class FileVersions: Sendable {
    /// The number of entries above which all are forgotten. An image of which nothing is known is loaded again.
    private static let limit = 16_384

    private let known = Mutex<[CacheEntry: FileVersion]>([:])

    init() {}

    func note(_ version: FileVersion, of entry: CacheEntry) {
        known.withLock { known in
            if known.count >= Self.limit { known.removeAll() }
            known[entry] = version
        }
    }

    subscript(entry: CacheEntry) -> FileVersion? { known.withLock { $0[entry] } }
}

extension Resource {
    /// Whether an image in memory is of the file as it is now. Of no file, it always is.
    @inline(__always)
    func isUnchanged(in cache: ImageCache<Bitmap>, _ variant: String, by versions: FileVersions) -> Bool {
        isFile ? isUnchangedFile(in: cache, variant, by: versions) : true
    }

    @inline(never)
    private func isUnchangedFile(in cache: ImageCache<Bitmap>, _ variant: String, by versions: FileVersions) -> Bool {
        guard let file = source.fileURL, let now = FileVersion(of: file) else { return true }
        return versions[CacheEntry(cache, EntryKey(cacheKey, processorIdentifier: variant))] == now
    }
}

extension Source {
    /// The URL of a file of this machine.
    fileprivate var fileURL: URL? {
        if case .provider(let provider) = resolved { (provider as? LocalFileProvider)?.url } else { nil }
    }
}

/// Loads of files, whose changes are noticed.
extension ImageLoader {
    /// Returns the load with the version of its file, after it has removed what the cache has of other versions. A load of no file is
    /// returned as it is, and so is that of a file that is gone.
    ///
    /// - Throws: `CancellationError`.
    func withoutChangedFile(_ load: ImageLoad) async throws -> ImageLoad {
        guard load.source.isFile, let file = load.source.fileURL else { return load }
        let version = try await CallbackQueue.dispatch(.global(qos: .userInitiated)).result { FileVersion(of: file) }
        try Task.checkCancellation()
        guard let version else { return load }
        var load = load
        load.fileVersion = version
        try await removeOther(than: version, load.entryKey, load.options.cache)
        if load.isVariant { try await removeOther(than: version, load.originalKey, load.options.originalCache) }
        return load
    }

    private func removeOther(than version: FileVersion, _ key: EntryKey, _ cache: ImageCache<Bitmap>) async throws {
        let entry = CacheEntry(cache, key)
        if fileVersions[entry] == version { return }
        switch try await tier(of: key, in: cache) {
        case .none: return
        case .disk where FileVersion(note: await cache.notes.settled(of: key)) == version:
            // It is noted again when the image is promoted to memory.
            fileVersions.note(version, of: entry)
        case .disk, .memory: await cache.remove(forKey: key)
        }
    }
}
