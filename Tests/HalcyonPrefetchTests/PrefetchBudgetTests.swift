import HalcyonPrefetch
import Testing

@Suite("Parsing of a prefetch budget", .timeLimit(.minutes(20)))
struct PrefetchBudgetTests {
    @Test func budgetIsParsedLimitByLimit() throws {
        #expect(
            try PrefetchBudget(parsing: "2/request,50MB/day,1000/total")
                == PrefetchBudget(
                    perRequest: .init(objects: 2), perDay: .init(bytes: 50_000_000), inTotal: .init(objects: 1_000)))
        #expect(
            try PrefetchBudget(parsing: " 7/minute , 1.5 KiB/minute")
                == PrefetchBudget(perMinute: .init(objects: 7, bytes: 1_536)))
        #expect(try PrefetchBudget(parsing: "unlimited") == .unlimited)
    }

    @Test(arguments: [
        ("0B", 0), ("1B", 1), ("1b", 1), ("3kB", 3_000), ("3KB", 3_000), ("3MB", 3_000_000), ("3GB", 3_000_000_000),
        ("3KiB", 3_072), ("3MiB", 3_145_728), ("3GiB", 3_221_225_472), ("0.5MB", 500_000),
    ])
    func everyUnitOfBytesIsParsed(text: String, bytes: Int) throws {
        #expect(try PrefetchBudget(parsing: "\(text)/total") == PrefetchBudget(inTotal: .init(bytes: bytes)))
    }

    @Test(arguments: [
        "unlimited", "0/total", "2/request", "0B/day", "2/request,50MB/day,1000/total", "1/request,1KiB/request",
        "3/minute,1001B/minute", "1GB/total", "1GiB/total", "1024000B/day", "9007199254740992/total",
    ])
    func descriptionOfABudgetParsesToTheSameBudget(text: String) throws {
        let budget = try PrefetchBudget(parsing: text)
        #expect(try PrefetchBudget(parsing: budget.description) == budget)
    }

    @Test func descriptionListsLimitsInTheOrderOfTheirPeriods() throws {
        #expect(
            try PrefetchBudget(parsing: "1024B/total,60000kB/day,5/minute,2/request").description
                == "2/request,5/minute,60MB/day,1KiB/total")
    }

    @Test(arguments: [
        ("", "'' is not a limit: write an amount and a period, as in 2/request or 50MB/day."),
        ("5", "'5' is not a limit: write an amount and a period, as in 2/request or 50MB/day."),
        ("5/day/day", "'5/day/day' is not a limit: write an amount and a period, as in 2/request or 50MB/day."),
        ("5/day,", "'' is not a limit: write an amount and a period, as in 2/request or 50MB/day."),
        ("/day", "'/day' is not a limit: write an amount and a period, as in 2/request or 50MB/day."),
        ("5/week", "'week' is not a period: write request, list, visit, minute, day or total."),
        (
            "2.5/day",
            "'2.5' is not a number of objects: write a whole number, or bytes with a unit (B, kB, MB, GB, KiB, MiB or GiB)."
        ),
        (
            "-1/day",
            "'-1' is not an amount: write a whole number of objects, or a number of bytes with a unit "
                + "(B, kB, MB, GB, KiB, MiB or GiB)."
        ),
        (
            "5TB/day",
            "'5TB' is not an amount: write a whole number of objects, or a number of bytes with a unit "
                + "(B, kB, MB, GB, KiB, MiB or GiB)."
        ),
        (
            "MB/day",
            "'MB' is not an amount: write a whole number of objects, or a number of bytes with a unit "
                + "(B, kB, MB, GB, KiB, MiB or GiB)."
        ),
        ("9007199254740994/day", "'9007199254740994' is too large: write at most 9007199254740992 (9 PB)."),
        ("10000000GB/day", "'10000000GB' is too large: write at most 9007199254740992 (9 PB)."),
        ("1/day,2/day", "'2/day' is a second limit of objects for 'day': write one."),
        ("1B/day,2kB/day", "'2kB/day' is a second limit of bytes for 'day': write one."),
    ])
    func invalidBudgetIsRefusedWithOneSentence(text: String, sentence: String) {
        let error = #expect(throws: PrefetchBudgetError.self) { try PrefetchBudget(parsing: text) }
        #expect(error?.description == "Prefetch budget: " + sentence)
    }
}
