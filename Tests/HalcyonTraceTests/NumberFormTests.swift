import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Numbers as other programs write them.
@Suite(.timeLimit(.minutes(20))) struct NumberFormTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func load(_ text: String, _ options: TraceLoadOptions = .with { $0.names = .all }) throws -> Trace {
        try Trace.load(folder.file("t.csv", text), options)
    }

    /// What pandas writes for a column of whole numbers with a gap is read as before the gap was there.
    @Test func floatsOfPandasAreWholeNumbers() throws {
        let floats = try load(
            "time,key,size\n1.0,a,10.0\n1.5e0,b,\n2E0,a,10.0\n1.5e+9,c,1e3\n1600000000.25,c,1.0e+03\n")
        let plain = try load("time,key,size\n1,a,10\n1.5,b,\n2,a,10\n1500000000,c,1000\n1600000000.25,c,1000\n")
        #expect(floats.objectSizes == [10, 1, 1_000])
        #expect(floats.report.sizeDisagreements == 0)
        #expect(Array(floats.times)[3] == 1_500_000_000_000_000)
        #expect(floats.fingerprint == plain.fingerprint)
    }

    @Test(
        arguments: [
            ("0", 0), ("0.0", 0), ("000", 0), ("10.", 10), ("10.000", 10), ("1e0", 1), ("1E3", 1_000),
            ("1.5e9", 1_500_000_000),
            ("1.5e+01", 15), ("0.5e1", 5), ("1200e-2", 12), ("2.81474976710655e14", 281_474_976_710_655), ("0e99", 0),
        ] as [(String, UInt64)])
    func wholeSizesAreRead(_ text: String, _ size: UInt64) throws {
        let trace = try load("key,size\na,\(text)\nb,7\n")
        #expect(trace.objectSizes == [max(size, 1), 7])
    }

    @Test(arguments: ["10.5", "0.1", "1e-1", "1.25e1", "281474976710655.5"])
    func fractionsOfAByteAreRefused(_ text: String) throws {
        let path = try folder.file("t.csv", "key,size\na,7\nbcd, \(text)\n")
        #expect(
            fault(path)
                == "t.csv:3:5: size ' \(text)' has a fraction of a byte; whole numbers from 0 (unknown) to 281474976710655 are "
                + "accepted, also as 10.0 or 1e3")
    }

    @Test(arguments: ["1e", "e3", "1e3.0", "1.2.3", ".", "-1.0", "1e15", "1e400", "1_0", "nan", "inf", "0x10", "1 0"])
    func otherTextIsNoSize(_ text: String) throws {
        let path = try folder.file("t.csv", "key,size\na,\(text)\n")
        #expect(
            fault(path)
                == "t.csv:2:3: size '\(text)' is not a number of bytes; whole numbers from 0 (unknown) to 281474976710655 are accepted"
        )
    }

    @Test func timesMayHaveExponentsInEveryUnit() throws {
        for (unit, expected) in [
            (TimeUnit.seconds, [1_500_000, 12_000_000_000]), (.milliseconds, [1_500, 12_000_000]),
            (.microseconds, [1, 12_000]), (.nanoseconds, [0, 12]),
        ] {
            let trace = try load("time,key\n15e-1,a\n1.2e4,b\n", .with { $0.timeUnit = unit })
            #expect(Array(trace.times) == expected.map { Int64($0) })
        }
    }

    /// A blank after the comma belongs to no field; one in quotes does, also after it was written.
    @Test func blanksAroundFieldsAreDropped() throws {
        let spaced = try load(
            "time, key, size , user\n1, a, 10, u\n2 ,b ,\t20,\" u\"\n3, 7, 30 ,\n4,7 ,30, \"u\" \n5, \"a\",10,u\n")
        #expect(spaced.entries == [0, 1, 2, 2, 0])
        #expect(spaced.objectSizes == [10, 20, 30])
        #expect(spaced.users == [0, 1, Trace.noUser, 0, 0])
        #expect((0..<3).map { spaced.names.keys[$0] } == ["a", "b", "7"])
        #expect(spaced.names.users[1] == " u")
        let copy = "\(folder.path)/copy.csv"
        try TraceWriter.write(spaced, to: copy, format: .csv)
        #expect(try Trace.load(copy).fingerprint == spaced.fingerprint)
        #expect(
            fault(try folder.file("t.csv", "time,key\n1,  \n")) == "t.csv:2:3: the key is empty; each request needs one"
        )
    }

    /// Thousands of rows that end with a delimiter are one empty field longer than their header.
    @Test(arguments: [1, 64, 1 << 20])
    func aDelimiterMayFollowTheLastField(_ chunkBytes: Int) throws {
        let rows = (0..<3_000).map { "\($0),k\($0 % 17),\($0 % 17 + 1)" }
        for end in ["\n", "\r\n"] {
            let options = TraceLoadOptions.with { $0.chunkBytes = chunkBytes }
            let trailing = try load("time,key,size\n" + rows.map { $0 + "," + end }.joined(), options)
            let plain = try load("time,key,size\n" + rows.map { $0 + end }.joined())
            #expect(trailing.count == 3_000 && trailing.fingerprint == plain.fingerprint)
        }
        #expect(
            fault(try folder.file("t.csv", "time,key\n1,a,,\n"), .with { $0.chunkBytes = chunkBytes })
                == "t.csv:2: '1,a,,' has more than the 2 fields of the header")
    }
}
