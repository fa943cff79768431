import HalcyonEviction
import HalcyonSimulation
import HalcyonTrace

@main
struct Main {
    static func main() throws {
        let trace = try LoopModel().generate(seed: 1)
        let job = ReplayJob(policy: ConfiguredPolicy(LRU.self), capacity: .number(1))
        let result = try job.run(over: ReplayInput(trace, for: [job]))
        precondition(result.requests == trace.count)
    }
}
