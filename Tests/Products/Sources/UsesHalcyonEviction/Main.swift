import HalcyonEviction

@main
struct Main {
    static func main() throws {
        let cache = try PolicyCatalogue.classical.policy("lru").makeCache(PolicyContext(capacity: 1))
        precondition(cache.access(Access(entry: 7)) == .miss && cache.access(Access(entry: 7)) == .hit)
    }
}
