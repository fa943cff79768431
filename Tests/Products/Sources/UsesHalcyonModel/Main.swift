// The name before HalcyonLearning and HalcyonPrefetch, which it exports for one version.
import HalcyonEviction
import HalcyonModel

@main
struct Main {
    static func main() throws {
        _ = try PolicyCatalogue.standard.policy("learned")
        _ = try PrefetchBudget(parsing: "2/request")
    }
}
