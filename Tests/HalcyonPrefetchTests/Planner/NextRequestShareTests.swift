import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("Likely next requests are fetched first", .timeLimit(.minutes(20)))
struct NextRequestShareTests {
    @Test("The share depends on how often the object succeeded the last one")
    func shareDependsOnPastSuccession() {
        var nextRequestShare = NextRequestShare()
        #expect(abs(nextRequestShare.share(succession: 0.9) - 0.3) < 1e-6)
        // A thousand of each outweigh the prior of 20, of which 6 are next.
        for index in 0..<1_000 {
            nextRequestShare.note(succession: 0.9, isNext: index % 10 != 0)
            nextRequestShare.note(succession: -0.9, isNext: index % 10 == 0)
        }
        #expect(abs(nextRequestShare.share(succession: 0.9) - 0.9) < 0.02)
        #expect(abs(nextRequestShare.share(succession: -0.9) - 0.1) < 0.02)
        #expect(abs(nextRequestShare.share(succession: 0) - 0.3) < 1e-6, "other classes keep the prior")
        // Inputs out of range belong to the first or the last class.
        #expect(nextRequestShare.share(succession: -7) == nextRequestShare.share(succession: -1))
        #expect(nextRequestShare.share(succession: 7) == nextRequestShare.share(succession: 1))
    }

    @Test("Of the pictures of a page, all of which will be requested, the next one is fetched")
    func nextPictureOfAPageIsFetchedFirst() throws {
        let planner = PrefetchPlanner()
        var generator = SplitMix64(seed: 6)
        var (index, next, all) = (0, 0, 0)
        for visit in 0..<4_000 {
            let page = UInt32(generator.next(below: 40)) * 10
            for object in page...page + 8 {
                let access = Access(
                    entry: object, requestNumber: index, time: Int64(index) * 1_000_000, user: UInt32(visit % 7))
                index += 1
                planner.note(access, isHit: false)
                var plan = PrefetchPlan()
                planner.plan(
                    after: access, outlook: PrefetchOutlook(limit: 1, room: .max) { $0 == object }, into: &plan)
                guard visit >= 3_000 && object < page + 8 else { continue }
                all += 1
                if plan.proposals.map(\.object) == [object + 1] { next += 1 }
            }
        }
        #expect(next * 100 > all * 97, "\(next) of \(all)")
    }
}
