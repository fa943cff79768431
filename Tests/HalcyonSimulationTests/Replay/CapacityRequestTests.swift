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
        "A number has a power of 1000 or an exponent, and a size a unit of 1000 or of 1024",
        arguments: [
            ("1k", 1_000), ("1K", 1_000), ("1M", 1_000_000), ("1g", 1_000_000_000), ("2T", 2_000_000_000_000),
            ("1.5k", 1_500), ("0.25M", 250_000), ("1e3", 1_000), ("1E3", 1_000), ("1.5e6", 1_500_000), ("7e0", 7),
            ("1e+3", 1_000), ("1.50k", 1_500), ("1KB", 1_000), ("1kb", 1_000), ("1KiB", 1_024), ("1kib", 1_024),
            ("1MB", 1_000_000), ("1MiB", 1_048_576), ("1GiB", 1_073_741_824), ("9007199254740k", 9_007_199_254_740_000),
        ])
    func numbersHavePowersOf1000(text: String, expected: Int) throws {
        let request = try CapacityRequest(parsing: text)
        #expect(try request.resolved(unit: .bytes, distinct: nil) == expected)
        if text.lowercased().hasSuffix("b") {
            #expect(throws: ReplayError.self) { try request.resolved(unit: .objects, distinct: nil) }
        } else {
            // A number is the same request however it is written, so that stored cells have one identity.
            #expect(request == .number(expected) && request.description == "\(expected)")
            #expect(try request.resolved(unit: .objects, distinct: nil) == expected)
        }
    }

    @Test(
        "A capacity is shown with a unit that tells it from every other",
        arguments: [
            (1_000, "1.0 KB"), (1_024, "1.0 KiB"), (1_030, "1.0 KB (1,030 B)"), (1_500, "1.5 KB"), (1_536, "1.5 KiB"),
            (999, "999 B"), (1_000_000, "1.0 MB"), (1_048_576, "1.0 MiB"), (64 << 20, "64.0 MiB"), (1 << 40, "1.0 TiB"),
            (64_000_000, "64.0 MB"), (999_960, "1.0 MB (999,960 B)"), (1_024_000, "1000.0 KiB"), (0, "0 B"),
        ])
    func capacitiesAreShownApart(bytes: Int, expected: String) {
        #expect(bytes.exactBytesForPeople == expected)
    }

    @Test("Separators of thousands are refused by a sentence, and lists of capacities are not")
    func separatorsOfThousandsAreRefused() throws {
        for text in ["1,000", "10,000,000", "1_000", "1 000", "1'000", "1%,1,000"] {
            let error = #expect(throws: ReplayError.self) { try CapacityRequest.list(parsing: text) }
            #expect(error?.description.contains("without separators") == true, "\(text)")
        }
        #expect(try CapacityRequest.list(parsing: "10,100,1k").map(\.description) == ["10", "100", "1000"])
        #expect(
            try CapacityRequest.list(parsing: "1k..1M:4").map(\.description) == ["1000", "10000", "100000", "1000000"])
    }

    @Test(
        "Any other text of a capacity is refused",
        arguments: [
            "", "%", "0%", "101%", "-1", "-1%", "x", "1X", "nan%", "inf%", "1%,", "0", "0.0", "-0.5", "0.4B", "0KB",
            "1%..2%", "1%..2%:1",
            "2%..1%:3", "1%..5:3", "..5:3", "1%..:3", "1%..2%:x", "1%:3..2%", "k", ".k",
            "1.0005k", "1e-3", "1e", "e3", "0k", "0e5", "1e99", "1.2.3k", "1kk", "-1k", "1K%",
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
