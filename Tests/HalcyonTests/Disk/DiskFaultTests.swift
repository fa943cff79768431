import Foundation
import Halcyon
import Synchronization
import Testing

@testable import HalcyonCache

@Suite("Disk storage: faults", .timeLimit(.minutes(20)))
struct DiskFaultTests {
    let fixture: DiskFixture

    init() throws { fixture = try DiskFixture() }

    @Test(
        "A failing step is an error or a miss, never wrong bytes, and later operations succeed",
        arguments: [DiskStep.opening, .writing, .renaming], [ENOSPC, EIO, EROFS])
    func failingStepIsErrorOrMiss(step: DiskStep, code: Int32) throws {
        let isFull = Mutex(false)
        let disk = try fixture.open(onStep: { passed in
            if passed == step && isFull.withLock({ $0 }) { throw SystemError(code: code) }
        })
        try disk.store(value: bytes(10), forKey: "a")
        isFull.withLock { $0 = true }
        let error = #expect(throws: CacheError.self) { try disk.store(value: bytes(20), forKey: "a") }
        #expect(error?.description.contains(SystemError(code: code).description) == true)
        #expect(throws: CacheError.self) { try disk.store(value: bytes(20), forKey: "b") }
        let found = try disk.value(forKey: "a")
        #expect(found == nil || found == bytes(10))
        #expect(try disk.value(forKey: "b") == nil)
        isFull.withLock { $0 = false }
        try disk.store(value: bytes(30), forKey: "a")
        #expect(try disk.value(forKey: "a") == bytes(30))
        try fixture.expectAgreement(disk)
    }

    @Test("An index that cannot be written loses no value")
    func unwritableIndexLosesNoValue() throws {
        var disk: DiskStorage? = try fixture.open(onStep: {
            if $0 == .indexing { throw SystemError(code: ENOSPC) }
        })
        try disk?.store(value: bytes(10), forKey: "a")
        disk?.flush()
        try fixture.close(&disk)
        disk = try fixture.open()
        #expect(try disk?.value(forKey: "a") == bytes(10))
        try fixture.expectAgreement(try #require(disk))
    }

    @Test("A directory in place of a file is an error for its key only")
    func directoryInPlaceOfFileAffectsOneKey() throws {
        let disk = try fixture.open()
        for key in ["a", "b"] { try disk.store(value: bytes(10), forKey: key) }
        let url = disk.cacheFileURL(forKey: "a")
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        #expect(throws: CacheError.self) { try disk.value(forKey: "a") }
        #expect(throws: CacheError.self) { try disk.store(value: bytes(20), forKey: "a") }
        #expect(try disk.value(forKey: "b") == bytes(10))
        try FileManager.default.removeItem(at: url)
        try disk.store(value: bytes(20), forKey: "a")
        #expect(try disk.value(forKey: "a") == bytes(20))
        try fixture.expectAgreement(disk)
    }

    @Test("A file that cannot be deleted does not stop the removal of others")
    func undeletableFileDoesNotStopCleaning() throws {
        let disk = try fixture.open { $0.expiration = .seconds(10) }
        for key in ["a", "b", "c"] { try disk.store(value: bytes(10), forKey: key) }
        let url = disk.cacheFileURL(forKey: "b")
        try FileManager.default.removeItem(at: url)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
        fixture.clock.advance(by: 10)
        #expect(disk.removeExpiredValues().count == 3)
        #expect(try fixture.files() == [:])
        #expect(disk.totalSize == 0)
    }

    @Test("A file at the path of the folder is refused with a sentence")
    func fileAtFolderPathIsRefused() throws {
        _ = try fixture.folder.file("halcyon.cache.test", "in the way")
        let error = #expect(throws: CacheError.self) { try fixture.open() }
        #expect(error?.description.contains("cannot be used as the directory of a cache") == true)
    }
}
