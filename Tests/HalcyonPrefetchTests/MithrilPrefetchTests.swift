import HalcyonPrefetch
import Testing

/// Mithril against the definitions of its paper. Each `.` is a request for an object that is requested only once.
@Suite("Mithril by hand", .timeLimit(.minutes(20)))
struct MithrilPrefetchTests {
    private func requests(
        lookahead: Int, support: ClosedRange<Int> = 2...3, rows: Int, recording: Int = 64, length: Int = 2
    ) -> LetteredRequests {
        var parameters = MithrilParameters()
        parameters.lookahead = lookahead
        parameters.minSupport = support.lowerBound
        parameters.maxSupport = support.upperBound
        parameters.miningRows = rows
        parameters.recordingRows = recording
        parameters.listLength = length
        return LetteredRequests(MithrilPrefetch(PrefetchContext(), parameters: parameters))
    }

    /// Δ is 2. Records: a 1 8, b 2 9, c 4 11, d 5 12.
    ///
    ///     a b     1 apart: strong
    ///     b c     2 apart: weak, but no other block is sooner after b
    ///     c d     1 apart: strong
    ///     a c     3 apart: none
    @Test("Blocks that are always requested together are associated, the earlier with the later")
    func blocksRequestedTogetherAreAssociated() {
        var requests = requests(lookahead: 2, rows: 4)
        requests.ask("ab.cd..ab.c")
        #expect(requests.plan(after: "a") == "", "the table is not full yet")
        requests.ask("d")
        #expect(requests.plans(after: "abcd") == ["b", "c", "d", ""])
        #expect(requests.plan(after: "a", holding: "b") == "")
        #expect(requests.plan(after: "a", limit: 0) == "")
    }

    /// Δ is 3. Records: a 1 9, b 3 11, c 4 12: c is weakly associated with a, but b comes sooner.
    @Test("Of weak associations only the first counts, of strong ones all")
    func onlyTheFirstWeakAssociationCounts() {
        var requests = requests(lookahead: 3, rows: 3)
        requests.ask("a.bc....a.bc")
        #expect(requests.plans(after: "abc") == ["b", "c", ""])
    }

    /// Records: a 1 8, b 2 9, c 3 8 + 3 = 12: the second pair of b and c is 3 apart, that of a and c 4.
    @Test("One pair of records that is too far apart prevents an association")
    func recordsTooFarApartPreventAnAssociation() {
        var requests = requests(lookahead: 2, rows: 3)
        requests.ask("abc....ab..c")
        #expect(requests.plans(after: "abc") == ["b", "", ""])
    }

    /// b has three records, a two.
    @Test("Blocks with unequal numbers of records are not associated")
    func blocksWithUnequalRecordsAreNotAssociated() {
        var requests = requests(lookahead: 2, rows: 3)
        requests.ask("ab....ab..b.c.c")
        #expect(requests.plans(after: "abc") == ["", "", ""])
    }

    /// a and b get four records, one more than S, and start again without records; c d and e then fill the table.
    @Test("A block with more records than the support is dropped")
    func frequentBlockIsDropped() {
        var requests = requests(lookahead: 2, rows: 3)
        requests.ask("ab..ab..ab..ab..cd..cd..ee")
        #expect(requests.plans(after: "abcd") == ["", "", "d", ""])
    }

    @Test("Hits are not recorded, but advance the time")
    func hitsAdvanceTheTimeWithoutARecord() {
        var requests = requests(lookahead: 1, rows: 2)
        requests.ask("ab")
        requests.ask("ab", isHit: true)
        #expect(requests.plan(after: "a") == "")
        requests.ask("ab")
        #expect(requests.plan(after: "a") == "b")
        // Records of c and d: 7 and 9, 10 and 12.
        requests.ask("c")
        requests.ask("x", isHit: true)
        requests.ask("dc")
        requests.ask("x", isHit: true)
        requests.ask("d")
        #expect(requests.plan(after: "c") == "")
    }

    @Test("A block keeps its latest associations, the latest first")
    func blockKeepsItsLatestAssociations() {
        var requests = requests(lookahead: 1, rows: 2)
        requests.ask("ab..ab..ac..ac..")
        #expect(requests.plan(after: "a") == "cb")
        requests.ask("ad..ad")
        #expect(requests.plan(after: "a") == "dc")
        #expect(requests.plan(after: "a", limit: 1) == "d")
        #expect(requests.plan(after: "a", limit: 1, holding: "d") == "c")
    }

    /// There is room for two: a is removed before its second request.
    @Test("A full recording table replaces its oldest block")
    func fullRecordingTableReplacesItsOldestBlock() {
        var requests = requests(lookahead: 1, rows: 2, recording: 2)
        requests.ask("ab.ab")
        #expect(requests.plan(after: "a") == "")
        requests.ask("ab")
        #expect(requests.plan(after: "a") == "b")
    }
}
