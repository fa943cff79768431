import Halcyon
import HalcyonEviction
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline
@testable import HalcyonPrediction

@Suite("Catalogue of the objects that a predictive prefetcher knows", .timeLimit(.minutes(20)))
struct ObjectCatalogueTests {
    @Test("The catalogue takes in objects up to its bound and keeps those it has")
    func catalogueStopsAtItsBound() {
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

    @Test("An object of unknown size is assumed to have the mean size")
    func unknownCostIsTheMean() {
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
