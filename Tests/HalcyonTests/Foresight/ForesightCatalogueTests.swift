import HalcyonEviction
import Testing

@testable import Halcyon

@Suite("What a predictive prefetcher knows to exist")
struct ForesightCatalogueTests {
    @Test("So many objects are taken in and no more; those that are known stay known")
    func bound() {
        var catalogue = ForesightCatalogue(most: 3)
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
}
