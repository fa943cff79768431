import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("What a predictive prefetcher knows to exist", .timeLimit(.minutes(20)))
struct ObjectCatalogueTests {
    @Test("So many objects are taken in and no more; those that are known stay known")
    func bound() {
        var catalogue = ObjectCatalogue(most: 3)
        var named: [String] = []
        func intern(_ key: String) -> UInt32? {
            catalogue.intern(key) { key in
                named.append(key)
                return "file of \(key)"
            }
        }
        #expect(["a", "b", "a", "c"].map(intern) == [0, 1, 0, 2])
        #expect(["d", "b", "e"].map(intern) == [nil, 1, nil])
        #expect(catalogue.internAccessed("d") { _ in nil } == nil && catalogue.internAccessed("c") { _ in nil } == 2)
        #expect(catalogue.count == 3 && catalogue.object(forKey: "d") == nil)
        #expect(named == ["a", "b", "c"] && catalogue.object(inFile: "file of b") == 1)
    }

    @Test("What nobody knows the cost of is taken to cost what the others do on average")
    func costs() {
        var catalogue = ObjectCatalogue()
        for key in ["a", "b", "c"] { _ = catalogue.intern(key) { _ in nil } }
        #expect(catalogue.expectedCost(of: 0) == 1, "nothing is known of any")
        catalogue.set(cost: 100, of: 0)
        catalogue.set(cost: 0, of: 1)
        catalogue.set(cost: -7, of: 1)
        #expect(catalogue.expectedCost(of: 0) == 100 && catalogue.expectedCost(of: 1) == 100)
        catalogue.set(cost: 300, of: 1)
        #expect(catalogue.expectedCost(of: 2) == 200 && catalogue[2].cost == 0)
        catalogue.set(cost: 500, of: 0)
        #expect(catalogue.expectedCost(of: 0) == 500 && catalogue.expectedCost(of: 2) == 400)
        for key in UInt32(0)..<2 { catalogue.set(cost: .max, of: key) }
        #expect(catalogue.expectedCost(of: 2) == 1 << 62)
    }
}
