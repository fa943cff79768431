import HalcyonSupport
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite("Lists that are joined, and openings alone", .timeLimit(.minutes(20)))
struct JoinedListsTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ rows: String) throws -> Trace {
        try Trace.load(
            folder.file("t.csv", "time,user,key,category,event\n" + rows), .with { $0.names = .all })
    }

    @Test("The lists of a user within a time of the first are one at its time; requests keep theirs")
    func listsAreJoined() throws {
        let trace = try load(
            """
            10,u,a,n,shown
            12,u,a,n,opened
            15,v,b,n,shown
            60,u,c,p,shown
            69,u,d,n,shown
            70,u,a,n,shown
            71,u,d,n,opened
            99,v,a,n,shown

            """)
        let joined = trace.joiningLists(within: TimeSpan(microseconds: 60_000_000))
        // From 10 to before 70, v's from 15 on within 60 s do not reach 99.
        #expect(
            ShownListsTests.text(joined) == [
                "0 10 u: a/1/n c/1/p d/1/n", "1 15 v: b/1/n", "1 70 u: a/1/n", "2 99 v: a/1/n",
            ])
        #expect(joined.entries == trace.entries && Array(joined.times) == Array(trace.times))
        #expect(trace.joiningLists(within: TimeSpan(microseconds: 0)).lists == trace.lists)
    }

    @Test("The first request for each item of the user's last list stays, and lists keep their places among these")
    func openingsStay() throws {
        let trace = try load(
            """
            1,u,z,n,opened
            10,u,a,n,shown
            10,u,b,n,shown
            11,v,a,n,opened
            12,u,b,n,opened
            13,u,b,n,opened
            14,u,c,n,opened
            15,u,a,n,opened
            20,u,b,n,shown
            21,u,a,n,opened
            22,u,b,n,opened

            """)
        let openings = trace.keepingOpenings()
        #expect((0..<openings.count).map { openings.times[$0] / 1_000_000 } == [12, 15, 22])
        #expect(ShownListsTests.text(openings) == ["0 10 u: a/1/n b/1/n", "2 20 u: b/1/n"])
        #expect(openings.userCount == 1 && openings.objectCount == 2)
    }
}
