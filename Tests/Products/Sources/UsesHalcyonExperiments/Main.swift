import HalcyonExperiments
import HalcyonTrace

@main
struct Main {
    static func main() async throws {
        let sweep = try Sweep(trace: try LoopModel().generate(seed: 1), policies: ["lru"], capacities: ["1"])
        let results = await sweep.run()
        precondition(results.count == 1)
    }
}
