import Foundation
import Halcyon
import HalcyonSupport
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("The folder of a disk storage", .timeLimit(.minutes(20)))
struct DiskFolderTests {
    @Test("After its folder was deleted the size is 0, and the next store creates it again")
    func deletedFolderHasSizeZero() async throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        for key in ["a", "b"] {
            await cache.store(Blob(cost: 5), forKey: key, options: CacheOptions(categories: ["c"]))
        }
        #expect(await cache.diskStorageSize() == 8_192)
        try FileManager.default.removeItem(atPath: fixture.folder.path + "/halcyon.cache.test")
        #expect(await cache.diskStorageSize() == 0)
        #expect(await cache.use(category: "c").disk == CategoryUse())
        #expect(cache.diskStorage?.count == 0 && !cache.isCached(forKey: "z"))
        #expect(cache.statistics.disk.removals == [.lost: 2])
        try await cache.store(Blob(cost: 5), forKey: "c").diskCacheResult.get()
        #expect(await cache.diskStorageSize() == 4_096)
        #expect(try fixture.files().count == 1)
    }

    @Test("A foreign file is neither counted, expired nor deleted")
    func foreignFileIsLeftAlone() throws {
        let fixture = try DiskFixture()
        let folder = try DiskFixture.subfolder(of: fixture)
        let notes = folder.appendingPathComponent("notes.txt")
        try Data(count: 9_000).write(to: notes)
        // An old time, which a cache would read as expired.
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: notes.path)
        var disk: DiskStorage? = try fixture.open()
        try disk?.store(value: Data("a".utf8), forKey: "a")
        #expect(disk?.count == 1 && disk?.totalSize == 4_096)
        disk?.removeExpiredValues()
        disk?.removeAll()
        #expect(disk?.count == 0 && FileManager.default.fileExists(atPath: notes.path))
        try fixture.close(&disk)
        disk = try fixture.open()
        #expect(disk?.count == 0 && FileManager.default.fileExists(atPath: notes.path))
    }

    @Test("Without hashing, a file that no key can name is foreign, unless the index lists it")
    func foreignFileWithoutHashingIsLeftAlone() throws {
        let fixture = try DiskFixture()
        let folder = try DiskFixture.subfolder(of: fixture)
        let readme = folder.appendingPathComponent("README.txt")
        try Data(count: 9_000).write(to: readme)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: readme.path)
        var disk: DiskStorage? = try fixture.open { $0.usesHashedFileName = false }
        try disk?.store(value: Data("a".utf8), forKey: "a.txt")
        #expect(disk?.count == 1 && disk?.totalSize == 4_096)
        disk?.removeExpiredValues()
        disk?.removeAll()
        #expect(disk?.count == 0 && FileManager.default.fileExists(atPath: readme.path))
        try fixture.close(&disk)
        disk = try fixture.open { $0.usesHashedFileName = false }
        #expect(disk?.count == 0 && FileManager.default.fileExists(atPath: readme.path))
        let file = (name: "README.txt", status: try #require(CacheFolder(url: folder).status("README.txt")))
        #expect(try disk?.list().isEmpty == true)
        #expect(try disk?.list(known: [ByteName("README.txt")]).map(\.name) == [file.name])
    }

    @Test("Files stored without hashing are known after hashing is turned on")
    func unhashedFilesAreKnownAfterHashing() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open { $0.usesHashedFileName = false }
        try disk?.store(value: Data("a".utf8), forKey: "plain name")
        disk?.flush()
        try fixture.close(&disk)
        disk = try fixture.open()
        #expect(disk?.count == 1)
        disk?.removeAll()
        #expect(disk?.count == 0)
    }

    @Test("Links and pipes in place of files are misses")
    func linksAndPipesAreMisses() throws {
        let fixture = try DiskFixture()
        let disk = try fixture.open { $0.usesHashedFileName = false }
        disk.waitUntilListed()
        let folder = disk.directoryURL.path
        let secret = fixture.folder.path + "/secret"
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        for key in ["link", "pipe"] { try disk.store(value: Data("v".utf8), forKey: key) }
        #expect(unlink(folder + "/link") == 0 && symlink(secret, folder + "/link") == 0)
        #expect(unlink(folder + "/pipe") == 0 && mkfifo(folder + "/pipe", 0o600) == 0)
        #expect(try disk.value(forKey: "link") == nil)
        #expect(try disk.value(forKey: "pipe") == nil)
    }

    @Test(
        "An expiration survives a restart, also beyond 2038",
        arguments: [0x7fff_fffe, 0x7fff_ffff, 0x8000_0000, 4_000_000_000] as [Double])
    func expirationSurvivesRestartBeyond2038(seconds: Double) throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open()
        let date = StorageExpiration.date(Date(timeIntervalSince1970: seconds))
        try disk?.store(value: Data("a".utf8), forKey: "a", expiration: date)
        try disk?.store(value: Data("b".utf8), forKey: "b", expiration: .never)
        try fixture.close(&disk)
        fixture.clock.set(Int64(seconds * 1e6) - 2)
        disk = try fixture.open()
        #expect(disk?.isCached(forKey: "a") == true)
        fixture.clock.set(Int64(seconds * 1e6) + 1)
        #expect(disk?.isCached(forKey: "a") == false)
        #expect(disk?.isCached(forKey: "b") == true)
    }

    @Test("Expired values are removed at each interval of the injected clock")
    func sweepingFollowsInjectedClock() async throws {
        let fixture = try DiskFixture()
        let disk = try fixture.open { $0.cleanInterval = .seconds(60) }
        try disk.store(value: Data("a".utf8), forKey: "a", expiration: .seconds(30))
        try disk.store(value: Data("b".utf8), forKey: "b", expiration: .days(7))
        #expect(disk.count == 2)
        // The sweeper sleeps before it works, and may start to sleep after this point.
        while try fixture.files().count == 2 {
            fixture.clock.advance(by: 1)
            try await Task.sleep(for: .milliseconds(1))
        }
        // The file is deleted before its removal is reported.
        await waitUntil { !fixture.left.all.isEmpty }
        #expect(disk.count == 1 && fixture.left.all.map(\.reason) == [.expired])
    }

    @Test("Look-ups and measurements run while a cleaning deletes a file")
    func lookUpsRunDuringCleaning() throws {
        let fixture = try DiskFixture()
        let (deleting, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let disk = try fixture.open(onStep: { step in
            guard step == .removing else { return }
            deleting.signal()
            mayGoOn.wait()
        })
        try disk.store(value: bytes(10), forKey: "old", expiration: .seconds(1))
        try disk.store(value: bytes(20), forKey: "new", expiration: .never)
        fixture.clock.advance(by: 2)
        let cleaned = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            _ = disk.removeExpiredValues()
            cleaned.signal()
        }
        deleting.wait()
        #expect(disk.isCached(forKey: "new") && !disk.isCached(forKey: "old"))
        #expect(try disk.value(forKey: "new") == bytes(20) && disk.value(forKey: "old") == nil)
        #expect(disk.count == 1 && disk.totalSize == 4_096)
        mayGoOn.signal()
        cleaned.wait()
        #expect(try fixture.files().count == 1)
    }

    @Test("Look-ups, stores and removals run while file sizes are measured")
    func operationsRunDuringMeasuring() throws {
        let fixture = try DiskFixture()
        let (measuring, mayGoOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let disk = try fixture.open(onStep: { step in
            guard step == .measuring else { return }
            measuring.signal()
            mayGoOn.wait()
        })
        for key in ["a", "b", "c"] { try disk.store(value: bytes(10), forKey: key) }
        let measured = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            _ = disk.removeSizeExceededValues()
            measured.signal()
        }
        measuring.wait()
        #expect(disk.isCached(forKey: "a") && disk.count == 3)
        #expect(try disk.value(forKey: "b") == bytes(10))
        try disk.store(value: bytes(5_000), forKey: "a")
        disk.remove(forKey: "c")
        for _ in 0..<3 { mayGoOn.signal() }
        measured.wait()
        // Files that changed after their sizes were read are measured again.
        #expect(disk.count == 2 && disk.totalSize == 12_288)
        try fixture.expectAgreement(disk)
    }

    @Test("A failed rename loses neither the old value nor another one")
    func failedRenameKeepsValues() throws {
        let fixture = try DiskFixture()
        let isFailing = SharedFlag()
        let disk = try fixture.open({ $0.sizeLimit = 3 * 4_096 }) { step in
            if step == .renaming, isFailing.value { throw SystemError(code: ENOSPC) }
        }
        for key in ["a", "b", "c"] { try disk.store(value: Data(key.utf8), forKey: key) }
        isFailing.value = true
        #expect(throws: CacheError.self) { try disk.store(value: Data("new".utf8), forKey: "a") }
        #expect(throws: CacheError.self) { try disk.store(value: Data("d".utf8), forKey: "d") }
        for key in ["a", "b", "c"] { #expect(try disk.value(forKey: key) == Data(key.utf8)) }
        try fixture.expectAgreement(disk)
    }

    @Test("A flush before the listing does not prevent later ones")
    func flushBeforeListingAllowsLaterFlushes() async throws {
        let fixture = try DiskFixture()
        let gate = DispatchSemaphore(value: 0)
        let disk = try fixture.open(beforeListing: { gate.wait() })
        disk.state.withLock { $0.isFlushScheduled = true }
        disk.flush(least: true)
        #expect(!disk.state.withLock { $0.isFlushScheduled })
        gate.signal()
        disk.waitUntilListed()
    }

    @Test("An unhashed key keeps one file extension")
    func unhashedKeyKeepsOneExtension() {
        let naming = FileNaming(isHashed: false, pathExtension: nil, takesKeyExtension: true)
        #expect(naming.name(of: "test.gif") == "test.gif")
        #expect(naming.name(of: "test.gif@round") == "test.gif@round.gif")
        // A different key, so a different file.
        #expect(naming.name(of: "test.gif@round.gif") == "test.gif@round.gif.gif")
        #expect(naming.name(of: "Photo.jpg") == "^photo.jpg")
        #expect(naming.name(of: "photo.JPG") == "photo.^j^p^g")
        #expect(naming.name(of: ".hidden.jpg").hasSuffix(".jpg"))
        #expect(
            naming.name(of: EntryKey("test.gif", forcedExtension: "gif")) == "%" + FileNaming.sha256("test.gif")
                + ".gif")
        #expect(
            FileNaming(isHashed: false, pathExtension: "gif", takesKeyExtension: true).name(of: "test.gif")
                == "test.gif.gif")
    }

    @Test("In a directory others can write to, a link or another user's folder is refused")
    func folderOfAnotherUserIsRefused() throws {
        let fixture = try DiskFixture()
        let shared = fixture.folder.path + "/shared"
        try FileManager.default.createDirectory(atPath: shared, withIntermediateDirectories: false)
        let config = DiskStorageConfig(name: "x", directory: URL(fileURLWithPath: shared))
        let path = try config.folder().path
        func create() throws { try CacheFolder(url: URL(fileURLWithPath: path)).create() }
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: fixture.folder.path)
        // While only this user can write to the parent, the link is this user's and is accepted.
        try create()
        #expect(chmod(shared, 0o1777) == 0)
        do {
            try create()
            Issue.record("the link was accepted")
        } catch CacheError.directoryOfAnotherUser(let url) { #expect(url.path == path) }
        try FileManager.default.removeItem(atPath: path)
        try create()
        // Only root can change the owner of a folder.
        if geteuid() == 0 {
            #expect(chown(path, 12_345, gid_t.max) == 0)
            #expect(throws: CacheError.self) { try create() }
            #expect(chmod(shared, 0o755) == 0)
            try create()
        }
    }

    @Test("Each parent of a folder is checked: what any user can replace is refused, and what is protected is accepted")
    func everyParentIsChecked() throws {
        let fixture = try DiskFixture()
        let shared = fixture.folder.path + "/shared"
        let path = shared + "/own/inner/cache"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        func refused(_ path: String = path) -> String? {
            do {
                try CacheFolder(url: URL(fileURLWithPath: path)).create()
                return nil
            } catch CacheError.directoryOfAnotherUser(let url) { return url.path } catch { return "\(error)" }
        }
        #expect(refused() == nil)
        // As `/tmp` is: sticky, and the next directory is this user's.
        #expect(chmod(shared, 0o1777) == 0 && refused() == nil)
        #expect(chmod(shared, 0o777) == 0 && refused() == shared + "/own")
        // A link to the path is resolved.
        let link = fixture.folder.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        #expect(refused(link)?.hasSuffix("/shared/own") == true)
        #expect(chmod(shared, 0o755) == 0 && refused(link) == nil)
        // The parent in the middle, and a link in it.
        #expect(chmod(shared + "/own", 0o1777) == 0 && refused() == nil)
        try FileManager.default.moveItem(atPath: shared + "/own/inner", toPath: shared + "/moved")
        try FileManager.default.createSymbolicLink(
            atPath: shared + "/own/inner", withDestinationPath: shared + "/moved")
        #expect(refused() == shared + "/own/inner")
        // Only root can change the owner of a folder.
        guard geteuid() == 0 else { return }
        try FileManager.default.removeItem(atPath: shared + "/own/inner")
        try FileManager.default.moveItem(atPath: shared + "/moved", toPath: shared + "/own/inner")
        #expect(refused() == nil)
        #expect(chown(shared + "/own/inner", 12_345, gid_t.max) == 0)
        #expect(refused() == shared + "/own/inner")
    }

    @Test("A directory that cannot be locked itself, as on NFS, is locked by a file in it")
    func directoryThatCannotBeLockedIsLockedByFile() throws {
        let folder = try TemporaryFolder()
        let url = URL(fileURLWithPath: folder.path)
        // As NFS answers for a descriptor that is not open for writing.
        @Sendable func lock(_ descriptor: Int32) -> Int32 {
            if fcntl(descriptor, F_GETFL) & O_ACCMODE == O_RDONLY {
                errno = EBADF
                return -1
            }
            return flock(descriptor, LOCK_EX | LOCK_NB)
        }
        var first: DirectoryLock? = try DirectoryLock(url, patience: .zero, by: lock)
        #expect(first?.isMissing(from: url) == false)
        do {
            _ = try DirectoryLock(url, patience: .zero, by: lock)
            Issue.record("two storages have the directory")
        } catch CacheError.directoryInUse(let used) { #expect(used == url) }
        first = nil
        _ = try DirectoryLock(url, patience: .zero, by: lock)
        // Any other failure is one.
        do {
            _ = try DirectoryLock(url, patience: .zero) { _ in
                errno = ENOLCK
                return -1
            }
            Issue.record("a directory without a lock is used")
        } catch CacheError.cannotCreateDirectory(_, let error) {
            #expect(error as? SystemError == SystemError(code: ENOLCK))
        }
    }

    #if os(Linux)
        @Test("A value in a folder that cannot be searched is a miss, and is found once it can")
        func valueInUnsearchableFolderIsMiss() async throws {
            let fixture = try DiskFixture()
            let disk = try fixture.open()
            try disk.store(value: bytes(10), forKey: "a")
            #expect(chmod(disk.directoryURL.path, 0) == 0)
            // Root may search every folder. On Linux this changes the rights of one thread alone.
            typealias SetUser = @convention(c) (uid_t) -> CInt
            let symbol = try #require(dlsym(nil, "setfsuid"))
            let setUser = unsafeBitCast(symbol, to: SetUser.self)
            let found = await withCheckedContinuation {
                (continuation: CheckedContinuation<Result<Data?, any Error>, Never>) in
                Thread.detachNewThread {
                    _ = setUser(geteuid() == 0 ? 65_534 : geteuid())
                    continuation.resume(returning: Result { try disk.value(forKey: "a") })
                }
            }
            #expect(try found.get() == nil)
            #expect(chmod(disk.directoryURL.path, 0o700) == 0)
            #expect(try disk.value(forKey: "a") == bytes(10))
            #expect(fixture.left.all.isEmpty)
        }
    #endif

    @Test("A folder in use is refused, its descriptor closed once, and it is free afterwards")
    func folderInUseIsRefusedAndReleased() throws {
        let fixture = try DiskFixture()
        var disk: DiskStorage? = try fixture.open()
        let url = try #require(disk?.directoryURL)
        // A descriptor that is closed twice fails an assertion.
        for _ in 0..<50 { #expect(throws: CacheError.self) { _ = try DirectoryLock(url, patience: .zero) } }
        try fixture.close(&disk)
        // A process that another test starts has copies of all descriptors until it runs its program.
        _ = try DirectoryLock(url, patience: .seconds(60))
    }
}

/// A flag that a test sets while other threads read it.
final class SharedFlag: Sendable {
    private let state = Mutex(false)
    var value: Bool {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

extension DiskFixture {
    /// Creates the folder of the storage before the storage exists.
    static func subfolder(of fixture: DiskFixture) throws -> URL {
        let url = try fixture.config().folder()
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }
}
