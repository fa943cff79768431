import Foundation
import Halcyon
import Testing

@testable import HalcyonCache

@Suite("File names", .timeLimit(.minutes(20)))
struct FileNamingTests {
    let hashed = FileNaming(isHashed: true, pathExtension: nil, takesKeyExtension: false)
    let raw = FileNaming(isHashed: false, pathExtension: nil, takesKeyExtension: false)
    let withExtension = FileNaming(isHashed: true, pathExtension: nil, takesKeyExtension: true)
    /// The output of `printf abc | sha256sum`.
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test("A file name is the SHA-256 of the key, or the escaped key without hashing")
    func nameIsHashOrKey() {
        #expect(hashed.name(of: "abc") == abc)
        #expect(raw.name(of: "abc") == "abc")
        #expect(raw.name(of: "aBc^") == "a^bc^^")
    }

    @Test("A valid extension is appended on request")
    func validExtensionIsAppended() {
        func found(_ key: String) -> String? { FileNaming.fileExtension(of: key) }
        #expect(withExtension.name(of: "abc") == abc)
        #expect(withExtension.name(of: "a/b.jpg").hasSuffix(".jpg"))
        #expect(hashed.name(of: EntryKey("abc", forcedExtension: "png")) == abc + ".png")
        #expect(
            FileNaming(isHashed: true, pathExtension: "bin", takesKeyExtension: true).name(of: "abc") == abc + ".bin")
        #expect(found("a.jpg") == "jpg")
        #expect(found("a.jpg@round.png") == "jpg")
        #expect(found("a.jpg?x=b.gif") == "jpg")
        #expect(found("a?x=b.gif") == nil)
        #expect(found("a.12345678901234567890") == "12345678901234567890")
        #expect(found("a.123456789012345678901") == nil)
        #expect(found("a.") == nil)
        #expect(found("a.j/pg") == nil)
        #expect(found("a.jpé") == nil)
        #expect(hashed.name(of: EntryKey("abc", forcedExtension: "../x")) == abc)
    }

    @Test("Every key gets its own file name inside the folder", arguments: [true, false])
    func everyKeyGetsItsOwnName(isHashed: Bool) throws {
        let naming = isHashed ? hashed : raw
        let keys = [
            "", ".", "..", "/", "../../etc/passwd", "a/b", "a%2Fb", "a\0", "a\0b", "a", "A", "\u{e9}", "e\u{301}", "👩‍👩‍👧",
            "Abc", "aBc", "^abc", "^^abc", "Photo.JPG", "photo.jpg", "photo.JPG", String(repeating: "A", count: 101),
            ".halcyon", "%", "%" + FileNaming.sha256("a/b"), String(repeating: "x", count: 1 << 20),
            String(repeating: "é", count: 100), String(repeating: "é", count: 101),
        ]
        let names = keys.map { naming.name(of: $0) }
        #expect(Set(names.map { Array($0.utf8) }).count == keys.count)
        // Also on a file system that ignores case.
        #expect(Set(names.map { Array($0.lowercased().utf8) }).count == keys.count)
        #expect(names.allSatisfy { FileNaming.canName($0) && $0.utf8.count <= 255 })
        let fixture = try DiskFixture()
        let disk = try fixture.open { $0.usesHashedFileName = isHashed }
        for (number, key) in keys.enumerated() { try disk.store(value: Data("\(number)".utf8), forKey: key) }
        for (number, key) in keys.enumerated() { #expect(try disk.value(forKey: key) == Data("\(number)".utf8)) }
        #expect(try fixture.files().count == keys.count)
        #expect(try FileManager.default.contentsOfDirectory(atPath: fixture.folder.path).count == 1)
    }

    @Test("A forced extension never gives the file name of another key")
    func forcedExtensionNamesDoNotCollide() throws {
        let keys = [
            "photo", "photo.jpg", "photo.jpg.jpg", "Photo", "^photo", "%", "photo.jpg@round", "photo@round.jpg", "a/b",
            "photo.JPG", "photo.JPG@x", "photo.../x", ".photo",
        ]
        for naming in [
            raw, hashed, FileNaming(isHashed: false, pathExtension: nil, takesKeyExtension: true),
            FileNaming(isHashed: false, pathExtension: "jpg", takesKeyExtension: false),
            FileNaming(isHashed: false, pathExtension: "../x", takesKeyExtension: false),
        ] {
            var owners: [String: String] = [:]
            for key in keys {
                for forced in [nil, "jpg", "png", "../x"] {
                    let name = naming.name(of: EntryKey(key, forcedExtension: forced))
                    #expect(owners[name.lowercased(), default: key] == key, "\(name)")
                    owners[name.lowercased()] = key
                    #expect(naming.isOwn(name), "\(name)")
                }
            }
        }
        // Without a forced extension, and with one where all names have extensions, names are as before.
        #expect(raw.name(of: "photo.jpg") == "photo.jpg")
        #expect(raw.name(of: EntryKey("photo", forcedExtension: "jpg")) == "%" + FileNaming.sha256("photo") + ".jpg")
        #expect(
            FileNaming(isHashed: false, pathExtension: "bin", takesKeyExtension: false)
                .name(of: EntryKey("photo", forcedExtension: "jpg")) == "photo.jpg")
        let fixture = try DiskFixture()
        let disk = try fixture.open { $0.usesHashedFileName = false }
        try disk.store(value: Data("forced".utf8), forKey: EntryKey("photo", forcedExtension: "jpg"))
        try disk.store(value: Data("plain".utf8), forKey: "photo.jpg")
        #expect(try disk.value(forKey: EntryKey("photo", forcedExtension: "jpg")) == Data("forced".utf8))
        #expect(try disk.value(forKey: "photo.jpg") == Data("plain".utf8))
    }

    @Test("Names that no key can have are foreign")
    func impossibleNamesAreForeign() {
        for name in [
            "README.txt", "A", "a^", "a^1", "%", "%abc", "%" + abc + ".", "é", String(repeating: "a", count: 201),
        ] {
            #expect(!raw.isOwn(name), "\(name)")
        }
        for name in ["notes.txt", "a^b^^", "%" + abc, "%" + abc + ".JPG"] { #expect(raw.isOwn(name), "\(name)") }
        #expect(!FileNaming(isHashed: false, pathExtension: "bin", takesKeyExtension: false).isOwn("photo"))
    }

    @Test("A cache name that is no folder name is refused", arguments: ["", ".", "..", "a/b", "a\0"])
    func invalidCacheNameIsRefused(name: String) throws {
        let folder = try DiskFixture().folder
        #expect(throws: CacheError.self) {
            try DiskStorage(config: .init(name: name, directory: URL(fileURLWithPath: folder.path)))
        }
    }
}
