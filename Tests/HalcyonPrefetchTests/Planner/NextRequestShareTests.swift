import HalcyonEviction
import Testing

@testable import HalcyonPrefetch

@Suite("What comes next is fetched first")
struct NextRequestShareTests {
    @Test("The share that comes next is told apart by how often it came after the last object")
    func shares() {
        var nextRequestShare = NextRequestShare()
        #expect(abs(nextRequestShare.share(succession: 0.9) - 0.3) < 1e-6)
        // A thousand of each, which then weigh more than what is taken for known: 20, of which 6 come next.
        for index in 0..<1_000 {
            nextRequestShare.note(succession: 0.9, isNext: index % 10 != 0)
            nextRequestShare.note(succession: -0.9, isNext: index % 10 == 0)
        }
        #expect(abs(nextRequestShare.share(succession: 0.9) - 0.9) < 0.02)
        #expect(abs(nextRequestShare.share(succession: -0.9) - 0.1) < 0.02)
        #expect(abs(nextRequestShare.share(succession: 0) - 0.3) < 1e-6, "of others nothing is known")
        // What is out of range belongs to the first or the last kind.
        #expect(nextRequestShare.share(succession: -7) == nextRequestShare.share(succession: -1))
        #expect(nextRequestShare.share(succession: 7) == nextRequestShare.share(succession: 1))
    }

    @Test("Of the pictures of a page, all of which will be wanted, the one that comes next is fetched")
    func pages() throws {
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
