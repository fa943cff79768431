import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// CSVs without a header, whose columns are numbered.
@Suite(.timeLimit(.minutes(20))) struct HeaderlessTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func options(
        _ columns: ColumnNames, header: HeaderRule = .no, delimiter: Character = ",", chunkBytes: Int = 1 << 20
    ) -> TraceLoadOptions {
        .with {
            $0.columns = columns
            $0.header = header
            $0.delimiter = delimiter.asciiValue
            $0.chunkBytes = chunkBytes
            $0.names = .all
        }
    }

    private static let numbers = ColumnNames(key: "2", time: "1", size: "3", user: "5")

    /// The first lines of webcachesim's test.tr, and the same text with other delimiters.
    @Test(arguments: [",", "\t", ";", "|", " "] as [Character], [1, 16, 1 << 20])
    func everyLineIsARequest(_ delimiter: Character, _ chunkBytes: Int) throws {
        let rows = [["109", "26", "1", "x", "u"], ["110", "27", "5", "y", "v"], ["110", "26", "1", "z", "u"]]
        let text = rows.map { $0.joined(separator: String(delimiter)) }.joined(separator: "\n")
        for text in [text, text + "\n", "\n\r\n" + text.replacing("\n", with: "\r\n") + "\r\n", "\u{feff}" + text] {
            let path = try folder.file("t.csv", text)
            let options = options(Self.numbers, delimiter: delimiter, chunkBytes: chunkBytes)
            let trace = try Trace.load(path, options)
            #expect(trace.entries == [0, 1, 0])
            #expect(Array(trace.times) == [109_000_000, 110_000_000, 110_000_000])
            #expect(trace.objectSizes == [1, 5])
            #expect(trace.users == [0, 1, 0])
            #expect((0..<2).map { trace.names.keys[$0] } == ["26", "27"])
            #expect(trace.report.columns.used.map(\.name) == ["1", "2", "3", "5"])
            #expect(trace.report.columns.unused == ["4"])
            var stream = try TraceStream(path, options)
            var batch = StreamBatch()
            var entries: [UInt32] = []
            while try stream.next(into: &batch) { entries += batch.entries }
            #expect(entries == [0, 1, 0])
            #expect(stream.report.columns == trace.report.columns)
        }
    }

    /// The fingerprint is that of the same rows under a header.
    @Test func aHeaderDoesNotChangeTheTrace() throws {
        let rows = (0..<500).map { "\($0 / 3),k\($0 * 7 % 31),\($0 * 7 % 31 + 1)\n" }.joined()
        let without = try Trace.load(
            folder.file("a.csv", rows), options(ColumnNames(key: "2", time: "1", size: "3")))
        let with = try Trace.load(folder.file("b.csv", "time,key,size\n" + rows))
        #expect(without.count == 500 && without.fingerprint == with.fingerprint)
    }

    @Test func oneColumnNeedsNoNumber() throws {
        let trace = try Trace.load(folder.file("t.txt", "7\n8\n7\n"), options(ColumnNames()))
        #expect(trace.entries == [0, 1, 0] && trace.report.noTimes && trace.report.noSizes)
    }

    /// Spaces align columns in many a text. Two of them are not an empty field, and none belongs to a key.
    @Test func aRunOfSpacesIsOneDelimiter() throws {
        let text = "  1   a 10\n2  bb  20  \r\n 10 a   10\n"
        let trace = try Trace.load(
            folder.file("t.txt", text), options(ColumnNames(key: "2", time: "1", size: "3"), delimiter: " "))
        #expect(trace.entries == [0, 1, 0] && trace.objectSizes == [10, 20])
        #expect(Array(trace.times) == [1_000_000, 2_000_000, 10_000_000])
        #expect(trace.names.keys[1] == "bb")
        let named = try Trace.load(
            folder.file("u.txt", " time  key \n1 \"a b\"\n"),
            .with {
                $0.delimiter = 32
                $0.names = .keys
            })
        #expect(named.names.keys[0] == "a b")
        for (line, found) in [("1 a ", "'1 a ' has 2 fields"), ("1 a 5 6", "'1 a 5 6' has more than the 3 fields")] {
            let path = try folder.file("v.txt", "1 a 5\n\(line)\n")
            let found =
                "v.txt:2: \(found) \(found.contains("more") ? "of the first line" : "where the first line has 3")"
            #expect(fault(path, options(ColumnNames(key: "2", time: "1"), delimiter: " ")) == found)
        }
    }

    /// A header that is data swallows the first request.
    @Test(arguments: [
        (ColumnNames(key: "26", time: "109", size: "1"), "109,26,1", "time=1,key=2,size=3"),
        (ColumnNames(key: "26"), "109,26,1", "key=2"), (ColumnNames(), "109,26,1", "time=1,key=2,size=3"),
        (ColumnNames(key: "1", time: "0.5"), "1,0.5", "time=2,key=1"), (ColumnNames(), "5,abc", "time=1,key=2"),
        (ColumnNames(key: "abcdef", time: "1"), "1,abcdef", "time=1,key=2"),
        (ColumnNames(key: "2", time: "1"), "109,26,1,0xf", "time=1,key=2"),
        (ColumnNames(key: "3", size: "2"), "109,26,1", "key=3,size=2"),
    ])
    func aHeaderThatIsDataIsRefused(_ columns: ColumnNames, _ line: String, _ advice: String) throws {
        let path = try folder.file("t.csv", "\(line)\n\(line)\n")
        if line != "5,abc" {
            #expect(
                fault(path, options(columns, header: .auto))
                    == "t.csv:1: the first line, '\(line)', looks like a request and not like a header: write --header no "
                    + "--columns \(advice) with the numbers of the columns, or --header yes if it is a header")
        } else {
            #expect(fault(path, options(columns, header: .auto))?.contains("no column is named 'key'") == true)
        }
        #expect(try Trace.load(path, options(ColumnNames(key: "2"), header: .no)).count == 2)
    }

    @Test func aHeaderOfNumbersIsReadWhereItIsSaidToBeOne() throws {
        let path = try folder.file("t.csv", "109,26,1\n5,a,7\n")
        let trace = try Trace.load(path, options(ColumnNames(key: "26", time: "109", size: "1"), header: .yes))
        #expect(trace.count == 1 && trace.names.keys[0] == "a" && trace.objectSizes == [7])
        // A usual name shows that the line is a header, however many digits stand beside it.
        let years = try folder.file("u.csv", "key,2019,2020,2021\na,1,2,3\n")
        #expect(try Trace.load(years, options(ColumnNames(size: "2020"), header: .auto)).objectSizes == [2])
    }

    @Test func unusableNumbersAreRefused() throws {
        func refusal(_ text: String, _ columns: ColumnNames, _ name: String = "t.csv") throws -> String? {
            fault(try folder.file(name, text), options(columns))
        }
        #expect(
            try refusal("1,a,5\n", ColumnNames(key: "4"))
                == "t.csv:1: '4' is not the number of a column for the key; without a header, the numbers from 1 to 3 are accepted, "
                + "the fields of the first line")
        #expect(
            try refusal("\n1 a 5\n", ColumnNames(key: "2"))
                == "t.csv:2: '2' is not the number of a column for the key; without a header, the numbers from 1 to 1 are accepted, "
                + "the fields of the first line (is the delimiter a space?)")
        #expect(try refusal("1,a\n", ColumnNames(key: "key"))?.hasPrefix("t.csv:1: 'key' is not the number") == true)
        #expect(try refusal("1,a\n", ColumnNames(key: "0"))?.hasPrefix("t.csv:1: '0' is not the number") == true)
        #expect(
            try refusal("1,a\n", ColumnNames(key: "1", time: "1"))
                == "t.csv:1: column '1' is used twice; each column may have one role")
        #expect(
            try refusal("1,a\n", ColumnNames(time: "1"))
                == "t.csv:1: without a header the columns are numbered from 1, and the number of the key's column is needed, as in "
                + "--columns time=1,key=2; the first line, '1,a', has 2 fields")
        #expect(try refusal("\n\n", ColumnNames(key: "1")) == "t.csv: holds no request")
        #expect(
            fault(try folder.file("t.csv", "time,key\n1,a\n"), .with { $0.columns.key = "2" })
                == "t.csv:1: there is no column '2' for the key; the columns are 'time', 'key', and numbers are for files without a "
                + "header (--header no)")
        #expect(
            fault(try folder.file("t.tr", "109 26 1\n"), .with { $0.format = .csv })
                == "t.tr:1: the first line, '109 26 1', looks like a request and not like a header: write --delimiter ' ' --header "
                + "no --columns time=1,key=2,size=3 with the numbers of the columns, or --header yes if it is a header")
        let record = [UInt8](repeating: 0, count: 24)
        #expect(
            fault(try folder.file("t.oracleGeneral", record), .with { $0.header = .no })
                == "t.oracleGeneral: this format decides whether there is a header: leave out --header, which is for CSV"
        )
    }
}
