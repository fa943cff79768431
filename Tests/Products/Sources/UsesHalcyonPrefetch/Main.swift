import HalcyonEviction
import HalcyonPrefetch

@main
struct Main {
    static func main() throws {
        let budget = try PrefetchBudget(parsing: "2/request")
        precondition(budget.description == "2/request")
        PrefetchPlanner(context: PrefetchContext()).note(Access(entry: 7), isHit: false)
    }
}
