import HalcyonSimulation
import HalcyonTrace
import Testing

@Suite("Capacities")
struct CapacityRequestTests {
    @Test(
        "a share is rounded down but never to nothing",
        arguments: [("1%", 51_455, 514), ("10%", 51_455, 5_145), ("0.001%", 100, 1), ("100%", 7, 7)])
    func shares(text: String, distinct: Int, expected: Int) throws {
        #expect(try CapacityRequest(parsing: text).resolved(unit: .objects, distinct: distinct) == expected)
    }

    @Test("a size has a unit, a bare number is in the unit of costs")
    func sizes() throws {
        #expect(try CapacityRequest(parsing: "64MB").resolved(unit: .bytes, distinct: nil) == 64_000_000)
        #expect(try CapacityRequest(parsing: "1GiB").resolved(unit: .bytes, distinct: nil) == 1 << 30)
        #expect(try CapacityRequest(parsing: "1000").resolved(unit: .bytes, distinct: nil) == 1_000)
        #expect(try CapacityRequest(parsing: "1000").resolved(unit: .objects, distinct: nil) == 1_000)
        #expect(
            try CapacityRequest.list(parsing: "1%, 5%,64MB,1000").map(\.description) == ["1%", "5%", "64MB", "1000"])
    }

    @Test(
        "anything else is refused", arguments: ["", "%", "0%", "101%", "-1", "-1%", "x", "1X", "nan%", "inf%", "1%,"])
    func refused(text: String) {
        #expect(throws: ReplayError.self) { try CapacityRequest.list(parsing: text) }
    }

    @Test("bytes of objects and shares of a stream are refused")
    func unresolvable() throws {
        let megabytes = try CapacityRequest(parsing: "1MB")
        #expect(throws: ReplayError.self) { try megabytes.resolved(unit: .objects, distinct: 5) }
        let share = try CapacityRequest(parsing: "1%")
        #expect(throws: ReplayError.self) { try share.resolved(unit: .bytes, distinct: nil) }
    }
}
