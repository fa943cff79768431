import Foundation
import Halcyon
import Testing

@testable import HalcyonCache

@Suite("Disk storage: files damaged by other processes while it runs", .timeLimit(.minutes(20)))
struct DamageTests {
    let fixture: DiskFixture

    init() throws { fixture = try DiskFixture() }

    enum Damage: String, CaseIterable, Sendable {
        case garbage, removed, directory

        func inflict(on folder: String) throws {
            for name in ["index.sqlite", "index.sqlite-wal"] {
                let path = "\(folder)/\(name)"
                switch self {
                case .garbage:
                    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
                    try handle.write(contentsOf: Data(repeating: 0x5a, count: 40_000))
                    try handle.close()
                case .removed: try FileManager.default.removeItem(atPath: path)
                case .directory:
                    try FileManager.default.removeItem(atPath: path)
                    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
                }
            }
        }
    }

    @Test("An index that is damaged while it is open loses no value and is rebuilt", arguments: Damage.allCases)
    func damagedIndexLosesNoValue(damage: Damage) throws {
        var disk: DiskStorage? = try fixture.open()
        let folder = try #require(disk?.directoryURL.path) + "/.halcyon"
        let context = AccessContext(categories: ["k"])
        for number in 0..<40 { try disk?.store(value: bytes(number), forKey: "k\(number)", context: context) }
        disk?.flush()
        try damage.inflict(on: folder)
        for number in 40..<80 {
            try disk?.store(value: bytes(number), forKey: "k\(number)", context: context)
            if number % 10 == 9 { disk?.flush() }
        }
        if damage == .directory {
            for name in ["index.sqlite", "index.sqlite-wal"] {
                try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
            }
        }
        for number in 0..<80 { #expect(try disk?.value(forKey: "k\(number)") == bytes(number)) }
        try fixture.close(&disk)
        disk = try fixture.open()
        #expect(disk?.use(category: "k").count == 80)
        for number in 0..<80 { #expect(try disk?.value(forKey: "k\(number)") == bytes(number)) }
        try fixture.expectAgreement(try #require(disk))
    }

    @Test("A file in place of the folder or its hidden folder is an error until it is removed")
    func fileInPlaceOfFolderIsAnError() throws {
        let disk = try fixture.open()
        let folder = disk.directoryURL.path
        for path in [folder, folder + "/.halcyon"] {
            try disk.store(value: bytes(10), forKey: "a")
            try FileManager.default.removeItem(atPath: path)
            try Data("in the way".utf8).write(to: URL(fileURLWithPath: path))
            #expect(throws: CacheError.self) { try disk.store(value: bytes(20), forKey: "b") }
            let found = try? disk.value(forKey: "a")
            #expect(found == nil || (path != folder && found == bytes(10)))
            disk.flush()
            try FileManager.default.removeItem(atPath: path)
            try disk.store(value: bytes(30), forKey: "b", context: AccessContext(categories: ["k"]))
            #expect(try disk.value(forKey: "b") == bytes(30))
            disk.flush()
            try fixture.expectAgreement(disk)
        }
    }

    @Test("A folder whose first listing failed is listed by the next cleaning")
    func nextCleaningListsUnlistedFolder() throws {
        var disk: DiskStorage? = try fixture.open()
        for key in ["a", "b", "c"] {
            try disk?.store(value: bytes(4_096), forKey: key)
            fixture.clock.advance(by: 1)
        }
        try fixture.close(&disk)
        let unlisted = try fixture.open({ $0.sizeLimit = 8_192 }, beforeListing: { throw SystemError(code: EIO) })
        #expect(unlisted.count == 0)
        #expect(try unlisted.value(forKey: "b") == bytes(4_096))
        unlisted.removeSizeExceededValues()
        unlisted.flush()
        #expect(unlisted.count == 2 && unlisted.totalSize == 8_192)
        try fixture.expectAgreement(unlisted)
    }
}
