import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite("Names of keys, users and categories", .timeLimit(.minutes(20)))
struct NameTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    /// Keys that are easily confused with each other or with a path.
    static let oddKeys = [
        "", "a", "A", "/", "..", "../a", "a\u{0}", "a\u{0}b", "a\nb", "a,b", "\"a\"", "a|b", "caf\u{e9}", "cafe\u{301}",
        "👩‍👩‍👧",
        "%41", " ", " a", "a ", "1", "01", String(repeating: "k", count: 1_000_000),
        String(repeating: "k", count: 1_000_001), String(repeating: "l", count: 4_096),
    ]

    @Test("A hashed key is the first 128 bits of its SHA-256, and its text is not in the files")
    func hashedKeyIsAPrefixOfItsSHA256() async throws {
        let log = fixture.log { $0.keys = .hashed }
        log.record("abc", cost: 1, outcome: .memory)
        log.record("https://secret.example/cat.jpg", cost: 1, outcome: .memory)
        log.record("abc", cost: 1, outcome: .memory)
        try await log.flush()
        // FIPS 180-4, appendix B.1: the digest of "abc".
        let abc = "ba7816bf8f01cfea414140de5dae2223"
        let keys = try fixture.accesses().map(\.key)
        #expect(keys[0] == abc && keys[2] == abc && keys[1].utf8.count == 32 && keys[1] != abc)
        #expect(try !fixture.contains("secret"))
        try await log.close()
        #expect(try !fixture.contains("secret"))
    }

    @Test("Raw keys are kept; a key that was hashed before gets its text at its next access")
    func rawKeysAreKeptAndReplaceHashedOnes() async throws {
        let hashed = fixture.log { $0.keys = .hashed }
        hashed.record("a", cost: 1, outcome: .memory)
        hashed.record("b", cost: 1, outcome: .memory)
        try await hashed.close()
        let raw = fixture.log()
        raw.record("a", cost: 1, outcome: .memory)
        try await raw.close()
        let keys = try fixture.accesses().map(\.key)
        #expect(keys[0] == "a" && keys[2] == "a" && keys[1].utf8.count == 32)
    }

    @Test("Odd keys stay distinct, raw or hashed", arguments: [true, false])
    func oddKeysStayDistinct(raw: Bool) async throws {
        let log = fixture.log { $0.keys = raw ? .raw : .hashed }
        for _ in 0..<2 {
            for key in NameTests.oddKeys { log.record(key, cost: 1, outcome: .miss) }
        }
        try await log.close()
        let keys = try fixture.accesses().map(\.key)
        let distinct = NameTests.oddKeys.count
        #expect(Set(keys.map { Array($0.utf8) }).count == distinct)
        #expect(keys[..<distinct] == keys[distinct...])
        let plain = ["a", "A", "/", "..", "../a", "a,b", "\"a\"", "a|b", "👩‍👩‍👧", "%41", " ", " a", "a ", "1", "01"]
        for (key, kept) in zip(NameTests.oddKeys, keys) where plain.contains(key) { #expect((kept == key) == raw) }
        #expect(try fixture.faults() == [])
    }

    @Test("Odd users and categories are read as recorded")
    func oddUsersAndCategoriesAreReadAsRecorded() async throws {
        let names = NameTests.oddKeys.filter { !$0.isEmpty && $0.utf8.count <= 1_024 }
        let log = fixture.log()
        for name in names { log.record("k", cost: 1, categories: [name, "", "x", name], outcome: .memory, user: name) }
        log.record("k", cost: 1, categories: [""], outcome: .memory, user: "")
        log.record("k", cost: 1, categories: names, outcome: .memory)
        try await log.flush()
        let accesses = try fixture.accesses()
        for (name, access) in zip(names, accesses) {
            #expect(Array(access.user?.utf8 ?? "".utf8) == Array(name.utf8))
            #expect(access.categories.map { Array($0.utf8) } == [name, "x"].map { Array($0.utf8) })
        }
        #expect(accesses[names.count].user == nil && accesses[names.count].categories == [])
        #expect(accesses[names.count + 1].categories.map { Array($0.utf8) } == names.map { Array($0.utf8) })
        #expect(try fixture.sql { try Int.fetchOne($0, sql: "SELECT count(*) FROM user") } == names.count)
        #expect(try fixture.faults() == [])
    }

    @Test("A user or category longer than 1,024 bytes is kept by its hash and found by its name")
    func longUserOrCategoryIsKeptByItsHash() async throws {
        let long = String(repeating: "u", count: 1_025)
        let log = fixture.log()
        log.record("a", cost: 1, categories: [long], outcome: .memory, user: long)
        log.record("b", cost: 1, outcome: .memory, user: String(long.dropLast()))
        try await log.flush()
        let accesses = try fixture.accesses()
        #expect(accesses[0].user == "sha256:\(KeyDigest(long).hexadecimal)")
        #expect(accesses[0].categories == ["sha256:\(KeyDigest(long).hexadecimal)"])
        #expect(accesses[1].user == String(long.dropLast()))
        #expect(try await log.deleteAccesses(ofUser: long) == 1)
        #expect(try fixture.accesses().map(\.key) == ["b"])
    }

    @Test("Names are stored once, however many accesses refer to them")
    func namesAreStoredOnce() async throws {
        let log = fixture.log { $0.batch = 16 }
        for number in 0..<300 {
            log.record(
                "k\(number % 10)", cost: 1, categories: ["c\(number % 3)", "all"], outcome: .memory,
                user: "u\(number % 4)")
        }
        try await log.close()
        let counts = try fixture.sql { db in
            try ["key", "category", "category_set", "category_set_member", "user", "session", "access"].map {
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)")
            }
        }
        #expect(counts == [10, 4, 3, 6, 4, 1, 300])
    }
}
