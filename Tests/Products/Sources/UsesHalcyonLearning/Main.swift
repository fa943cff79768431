import HalcyonEviction
import HalcyonLearning

@main
struct Main {
    static func main() throws {
        let learned = try PolicyCatalogue.standard.policy("learned(hidden=4)")
        precondition(learned.makeCache(PolicyContext(capacity: 1)).access(Access(entry: 7)) == .miss)
    }
}
