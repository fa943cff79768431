import HalcyonSimulation
import HalcyonTrace
import Testing

@Suite("Capacities", .timeLimit(.minutes(20)))
struct CapacityRequestTests {
    @Test(
        "A share is rounded down, but to at least one object",
        arguments: [("1%", 51_455, 514), ("10%", 51_455, 5_145), ("0.001%", 100, 1), ("100%", 7, 7)])
    func shareIsRoundedDownToAtLeastOne(text: String, distinct: Int, expected: Int) throws {
        #expect(try CapacityRequest(parsing: text).resolved(unit: .objects, distinct: distinct) == expected)
    }

    @Test("Every whole and half percentage of a whole number is exact")
    func wholeAndHalfPercentagesAreExact() throws {
        for tenths in stride(from: 5, through: 1_000, by: 5) {
            let request = try CapacityRequest(parsing: "\(tenths / 10).\(tenths % 10)%")
            for distinct in [1, 7, 99, 100, 1_000, 25_535, 51_455, 123_456_789_012, 1 << 50] {
                let (quotient, remainder) = distinct.quotientAndRemainder(dividingBy: 1_000)
                let expected = max(1, quotient * tenths + remainder * tenths / 1_000)
                #expect(
                    try request.resolved(unit: .objects, distinct: distinct) == expected, "\(request) of \(distinct)")
            }
        }
    }

    @Test(
        "A range is a geometric series in three digits",
        arguments: [
            ("0.1%..20%:10", ["0.1%", "0.18%", "0.325%", "0.585%", "1.05%", "1.9%", "3.42%", "6.16%", "11.1%", "20%"]),
            ("1%..100%:3", ["1%", "10%", "100%"]), ("10..1000:3,5", ["10", "100", "1000", "5"]),
            ("1..4:9", ["1", "2", "3", "4"]), ("1KB..1MB:4", ["1KB", "10000B", "100000B", "1MB"]),
        ])
    func rangeIsAGeometricSeriesInThreeDigits(text: String, expected: [String]) throws {
        #expect(try CapacityRequest.list(parsing: text).map(\.description) == expected)
    }

    @Test(
        "A bare fraction is refused, and the sentence offers the percentage",
        arguments: [("0.1", "write 10% for"), ("0.005", "write 0.5% for"), ("1.0", "write 100% for"), ("1.5", "whole")])
    func bareFractionIsRefusedWithThePercentage(text: String, offer: String) throws {
        let error = #expect(throws: ReplayError.self) { try CapacityRequest(parsing: text) }
        #expect(error?.description.contains(offer) == true)
    }

    @Test("A size has a unit; a bare number is in the unit of the trace")
    func sizeHasAUnitAndABareNumberTheTracesUnit() throws {
        #expect(try CapacityRequest(parsing: "64MB").resolved(unit: .bytes, distinct: nil) == 64_000_000)
        #expect(try CapacityRequest(parsing: "1GiB").resolved(unit: .bytes, distinct: nil) == 1 << 30)
        #expect(try CapacityRequest(parsing: "1000").resolved(unit: .bytes, distinct: nil) == 1_000)
        #expect(try CapacityRequest(parsing: "1000").resolved(unit: .objects, distinct: nil) == 1_000)
        #expect(
            try CapacityRequest.list(parsing: "1%, 5%,64MB,1000").map(\.description) == ["1%", "5%", "64MB", "1000"])
    }

    @Test(
        "Any other text of a capacity is refused",
        arguments: [
            "", "%", "0%", "101%", "-1", "-1%", "x", "1X", "nan%", "inf%", "1%,", "0", "0.0", "-0.5", "0.4B", "0KB",
            "1%..2%", "1%..2%:1",
            "2%..1%:3", "1%..5:3", "..5:3", "1%..:3", "1%..2%:x", "1%:3..2%",
        ])
    func invalidCapacityIsRefused(text: String) {
        #expect(throws: ReplayError.self) { try CapacityRequest.list(parsing: text) }
    }

    @Test("Bytes of objects without sizes and shares of a stream are refused")
    func bytesOfObjectsAndSharesOfStreamsAreRefused() throws {
        let megabytes = try CapacityRequest(parsing: "1MB")
        #expect(throws: ReplayError.self) { try megabytes.resolved(unit: .objects, distinct: 5) }
        let share = try CapacityRequest(parsing: "1%")
        #expect(throws: ReplayError.self) { try share.resolved(unit: .bytes, distinct: nil) }
    }
}
