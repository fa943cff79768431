import HalcyonTrace

@main
struct Main {
    static func main() throws {
        let trace = try ZipfModel().generate(seed: 1)
        precondition(trace.count > 0)
    }
}
