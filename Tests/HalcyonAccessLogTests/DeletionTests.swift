import Foundation
import GRDB
import Testing

@testable import HalcyonAccessLog

@Suite("Deletion in the file and among waiting accesses", .timeLimit(.minutes(20)))
struct DeletionTests {
    let fixture: LogFixture

    init() throws { fixture = try LogFixture() }

    func fill(_ log: AccessLog, from start: Int) {
        for number in start..<start + 600 {
            let user = ["ada-lovelace", "grace-hopper", nil][number % 3]
            let category = ["quasar-photos", "cats"][number % 2]
            log.record(
                "\(user ?? "nobody")/\(category)/\(number)", cost: 1, categories: [category, "all"], outcome: .memory,
                user: user, at: Int64(number))
        }
    }

    @Test("Deletion by user removes written and waiting accesses and all names that only they used")
    func deletionByUserRemovesAccessesAndNames() async throws {
        let log = fixture.log()
        fill(log, from: 0)
        try await log.flush()
        fill(log, from: 600)
        #expect(try await log.deleteAccesses(ofUser: "ada-lovelace") == 400)
        #expect(log.statistics.deletedUnwritten == 200)
        let accesses = try fixture.accesses()
        let others = (0..<1_200).filter { $0 % 3 != 0 }.map { Int64($0) }
        #expect(!accesses.contains { $0.user == "ada-lovelace" })
        #expect(accesses.map(\.time) == others)
        #expect(try !fixture.contains("ada-lovelace"))
        #expect(try fixture.contains("grace-hopper"))
        #expect(try fixture.faults() == [])
        #expect(try await log.deleteAccesses(ofUser: "ada-lovelace") == 0)
        #expect(try await log.deleteAccesses(ofUser: "nobody at all") == 0)
    }

    @Test("Deletion by category removes every access in it, also with other categories")
    func deletionByCategoryRemovesAllItsAccesses() async throws {
        let log = fixture.log()
        fill(log, from: 0)
        try await log.flush()
        fill(log, from: 600)
        #expect(try await log.deleteAccesses(inCategory: "quasar-photos") == 600)
        let accesses = try fixture.accesses()
        let odd = (0..<1_200).filter { $0 % 2 == 1 }.map { Int64($0) }
        #expect(accesses.map(\.time) == odd)
        #expect(accesses.allSatisfy { $0.categories == ["cats", "all"] })
        #expect(try !fixture.contains("quasar-photos"))
        #expect(try fixture.faults() == [])
    }

    @Test("Deletion of everything includes a damaged file set aside; recording continues")
    func deletionOfEverythingIncludesTheDamagedFile() async throws {
        _ = try fixture.folder.file("access.sqlite", "damaged, of ada-lovelace\(String(repeating: ".", count: 99))")
        let log = fixture.log()
        fill(log, from: 0)
        try await log.flush()
        #expect(try fixture.contains("damaged, of ada-lovelace"))
        #expect(try await log.deleteAll() == 600)
        #expect(try fixture.accesses() == [])
        #expect(try !fixture.contains("ada-lovelace"))
        log.record(0..<3)
        try await log.flush()
        #expect(try fixture.accesses().map(\.key) == ["k0", "k1", "k2"])
        #expect(try fixture.faults() == [])
    }

    @Test(
        "While a reader has the log open, a deletion says that the names are still there; a later flush overwrites them"
    )
    func openReaderKeepsADeletionFromBeingReported() async throws {
        let log = fixture.log()
        fill(log, from: 0)
        try await log.flush()
        var reader: AccessLogReader? = try AccessLogReader(path: fixture.path)
        #expect(reader?.count == 600)
        #expect(
            await reason { () async throws(AccessLogError) in
                try await log.deleteAccesses(ofUser: "ada-lovelace")
            } == .notOverwritten)
        #expect(try fixture.accesses().map(\.time) == (0..<600).filter { $0 % 3 != 0 }.map { Int64($0) })
        #expect(try fixture.contains("ada-lovelace"))
        try await log.flush()
        #expect(try fixture.contains("ada-lovelace") && log.statistics.problem == nil)
        reader = nil
        try await log.flush()
        #expect(try !fixture.contains("ada-lovelace") && fixture.contains("grace-hopper"))
        #expect(try await log.deleteAccesses(ofUser: "grace-hopper") == 200)
        #expect(try !fixture.contains("grace-hopper"))
        #expect(try fixture.faults() == [])
    }

    @Test("A log that is closed while a reader is open says so, and the next one overwrites what was deleted")
    func nextLogOverwritesWhatAReaderKept() async throws {
        let log = fixture.log()
        fill(log, from: 0)
        try await log.flush()
        var reader: AccessLogReader? = try AccessLogReader(path: fixture.path)
        _ = try? await log.deleteAccesses(ofUser: "ada-lovelace")
        #expect(await reason { () async throws(AccessLogError) in try await log.close() } == .notOverwritten)
        #expect(try fixture.contains("ada-lovelace") && reader?.count == 600)
        reader = nil
        let next = fixture.log()
        try await next.flush()
        #expect(try !fixture.contains("ada-lovelace") && fixture.contains("grace-hopper"))
        try await next.close()
        #expect(try fixture.accesses().count == 400)
    }

    @Test("Names are compared by their bytes")
    func namesAreComparedByTheirBytes() async throws {
        let log = fixture.log()
        log.record("a", cost: 1, outcome: .memory, user: "caf\u{e9}")
        log.record("b", cost: 1, outcome: .memory, user: "cafe\u{301}")
        #expect(try await log.deleteAccesses(ofUser: "cafe\u{301}") == 1)
        #expect(try fixture.accesses().map(\.key) == ["a"])
    }

    @Test("After a deletion the log continues with its remaining names")
    func logContinuesWithItsNamesAfterADeletion() async throws {
        let log = fixture.log()
        fill(log, from: 0)
        try await log.deleteAccesses(ofUser: "ada-lovelace")
        fill(log, from: 600)
        try await log.close()
        #expect(try fixture.accesses().count == 400 + 600)
        #expect(try fixture.faults() == [])
    }
}
