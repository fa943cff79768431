import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Formats of lines with fixed fields: worked examples, a naive reader, and faults.
@Suite(.timeLimit(.minutes(20))) struct LineFormatTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func load(
        _ format: TraceFormat?, _ text: String, name: String = "t",
        _ change: (inout TraceLoadOptions) -> Void = { _ in }
    ) throws -> Trace {
        try Trace.load(
            folder.file(name, text),
            .with {
                $0.format = format
                $0.names = .keys
                change(&$0)
            })
    }

    func keys(_ trace: Trace) -> [String] { trace.entries.map { trace.names.keys[$0] } }

    @Test func lrbLinesHaveTimeKeySizeAndFeatures() throws {
        let text = "0 a7 10\n1.5\t8  20 5 9.25 -1\r\n\n  2 a7 11 \n"
        for name in ["t.tr", "t.LRB", "nameless"] {
            let trace = try load(name == "nameless" ? .lrb : nil, text, name: name)
            #expect(keys(trace) == ["a7", "8", "a7"])
            #expect(Array(trace.times) == [0, 1_500_000, 2_000_000])
            #expect(trace.objectSizes == [10, 20])
            #expect(trace.report.sizeDisagreements == 1)
        }
        let milliseconds = try load(.lrb, text) { $0.timeUnit = .milliseconds }
        #expect(Array(milliseconds.times) == [0, 1_500, 2_000])
    }

    @Test func arcLinesAreRangesOfBlocks() throws {
        let text = "110765 3 0 0\n7 1 0 1\n110766 2 0 2\n"
        for name in ["P6.lis", "t.arc"] {
            let trace = try load(nil, text, name: name)
            #expect(keys(trace) == ["110765", "110766", "110767", "7", "110766", "110767"])
            #expect(trace.report.noTimes && trace.report.noSizes && trace.sizeUnit == .objects)
        }
        // Blocks of 4 KiB: sectors 110765…110767 are in block 13845 and 13845, sector 7 in block 0.
        let large = try load(.arc, text) { $0.blocks = .split(bytes: 4_096) }
        #expect(keys(large) == ["13845", "0", "13845"])
        let across = try load(.arc, "7 10 0 0\n") { $0.blocks = .split(bytes: 4_096) }
        #expect(keys(across) == ["0", "1", "2"])
        let whole = try load(.arc, text) { $0.blocks = .whole }
        #expect(keys(whole) == ["110765", "7", "110766"])
        #expect(whole.objectSizes == [1_536, 512, 1_024] && whole.sizeUnit == .bytes)
    }

    @Test func lirsLinesAreBlocksAndStars() throws {
        let trace = try load(.lirs, "5\n*\n3\n\n5\r\n *\n18446744073709551615\n")
        #expect(keys(trace) == ["5", "3", "5", "18446744073709551615"])
        #expect(trace.report.noTimes && trace.report.noSizes)
    }

    @Test func spcReadsAreRequestsForBlocks() throws {
        // ASU 1 and 2 have separate blocks; 1025 bytes from sector 10 on are three sectors.
        let text = "1,10,1025,R,0.5\n2,10,512,r,0.5,1,x\n1,11,512,W,0.75\n1,11,0,R,0.8\n1, 12, 512, r, 1.25\n"
        let one = UInt64(1) << 40
        for name in ["Financial1.spc", "t.SPC"] {
            let trace = try load(nil, text, name: name)
            #expect(keys(trace) == [one + 10, one + 11, one + 12, 2 * one + 10, one + 12].map { "\($0)" })
            #expect(Array(trace.times) == [500_000, 500_000, 500_000, 500_000, 1_250_000])
            #expect(
                trace.report.operations == [
                    OperationCount(name: "read", rows: 4, leftOut: 1, requests: 5),
                    OperationCount(name: "write", rows: 1, leftOut: 1, requests: 0),
                ])
        }
        let writes = try load(.spc, text) { $0.countsWrites = true }
        #expect(writes.count == 6 && writes.objectCount == 4)
        let whole = try load(.spc, text) {
            $0.blocks = .whole
            $0.countsWrites = true
        }
        #expect(whole.objectSizes == [1_025, 512, 512, 512])
    }

    @Test("The example of SPC's specification, whose two reads have eight blocks each")
    func exampleOfTheSpecificationIsRead() throws {
        let text = """
            0,20941264,8192,W,0.551706,Alpha/NT
            0,20939840,8192,W,0.554041
            0,20939808,8192,W,0.556202
            1,3436288,15872,W,1.250720,0x123,5.99,test
            1,3435888,512,W,1.609859
            1,3435889,512,W,1.634761
            0,7695360,4096,R,2.346628
            1,10274472,4096,R,2.436645
            2,30862016,4096,W,2.448003
            2,30845544,4096,W,2.449733
            1,10356592,4096,W,2.449733

            """
        let trace = try load(nil, text, name: "example.spc")
        let second = (UInt64(1) << 40) + 10_274_472
        let first = (0..<UInt64(8)).map { "\(7_695_360 + $0)" }
        #expect(keys(trace) == first + (0..<UInt64(8)).map { "\(second + $0)" })
        #expect(trace.times.first == 2_346_628 && trace.times.last == 2_436_645)
        // The writes have 3 · 16 + 31 + 1 + 1 + 3 · 8 blocks.
        #expect(try load(.spc, text) { $0.countsWrites = true }.count == 16 + 105)
    }

    @Test func msrReadsAreRequestsForBlocksOfADisk() throws {
        // 128166372003061629 is 2007-02-22 17:00:00.3061629; 4608 bytes from 1211904 on are sectors 2367…2375.
        let text = """
            128166372003061629,hm,1,Read,1211904,4608,1331
            128166372003061639,hm,1,Write,0,512,10
            128166372003061639,hm,0,Read,1211904,512,10
            128166372003061640,usr,1,Read,1211904,512,10
            128166372013061640,hm,1,read,1212416,512,10

            """
        let trace = try load(nil, text, name: "hm_1.msr")
        #expect(trace.entries == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1])
        #expect(trace.times.first == 1_172_163_600_306_162 && trace.times.last == 1_172_163_601_306_164)
        #expect(trace.report.operations.map(\.rows) == [4, 1] && trace.report.operations.map(\.requests) == [12, 0])
        let large = try load(.msr, text) {
            $0.blocks = .split(bytes: 4_096)
            $0.countsWrites = true
        }
        // Bytes 1211904…1216511 touch the blocks 295, 296 of 4096 bytes (1208320…1216511 hold both).
        #expect(large.entries == [0, 1, 2, 3, 4, 1])
        let header = try load(.msr, "Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime\n" + text)
        #expect(header.fingerprint == trace.fingerprint && header.report.repeatedHeaders == 1)
    }

    @Test func objectStoreReadsAreRequests() throws {
        let text = """
            1219008 REST.PUT.OBJECT 8d4fcda3d675bac9 1056
            1221974 REST.HEAD.OBJECT 39d177fb735ac5df 528
            1232437 REST.HEAD.OBJECT 3b8255e0609a700d
            1232488 REST.GET.OBJECT 95d363d3fbdc0b03 1168 0 1167
            1234545 REST.GET.OBJECT bfc07f9981aa6a5a 528
            1256364 REST.HEAD.OBJECT c27efddbeef2b638 12752
            1256491 REST.HEAD.OBJECT 13943e909692962f 12752
            1256556 REST.GET.OBJECT 884ba9b0c6d1fe97 23872 0
            1256584 REST.DELETE.OBJECT 884ba9b0c6d1fe97
            1256600 REST.LIST.BUCKET 884ba9b0c6d1fe97
            1256611 REST.GET.OBJECT 95d363d3fbdc0b03

            """
        for format in [nil, TraceFormat.objectStore] {
            let trace = try load(format, text, name: format == nil ? "IBMObjectStoreTrace000Part0" : "t")
            #expect(keys(trace) == ["95d363d3fbdc0b03", "bfc07f9981aa6a5a", "884ba9b0c6d1fe97", "95d363d3fbdc0b03"])
            #expect(trace.objectSizes == [1_168, 528, 23_872])
            #expect(Array(trace.times) == [1_232_488_000, 1_234_545_000, 1_256_556_000, 1_256_611_000])
            #expect(trace.report.operations.map(\.rows) == [4, 1, 4, 1, 1])
            #expect(trace.report.operations.map(\.leftOut) == [0, 1, 4, 1, 1])
        }
        #expect(try load(.objectStore, text) { $0.countsWrites = true }.count == 5)
    }

    @Test func addressesAreHexadecimal() throws {
        let text = "s 0x1fffff50 1\nl 0x1FFFFF58 6 1 10\nl 1fffff50 3\n"
        #expect(keys(try load(.address, text)) == ["536870736", "536870744", "536870736"])
        let alone = try load(.address, "0xFFFFFFFFFFFFFFFF\nff\n0Xff\n")
        #expect(keys(alone) == ["18446744073709551615", "255", "255"])
    }

    static let lines: [(TraceFormat, String)] = [
        (.arc, "12 3 0 0\n"), (.lirs, "12\n*\n"), (.lrb, "1 2 3\n"), (.spc, "0,1,2048,r,1\n0,5,512,W,1\n"),
        (.msr, "128166372003061629,hm,1,Read,383496192,32768,1331\n"),
        (.objectStore, "5 REST.GET.OBJECT 8d4fcda3d675bac9 1056\n"), (.address, "l 0x12 1\n"),
    ]

    @Test("Streams, limits, skips, threads and chunks of any size give the same requests", arguments: lines)
    func streamsAndPartsAreEqual(_ format: TraceFormat, _ line: String) throws {
        let path = try folder.file("t", String(repeating: line, count: 50))
        let whole = try Trace.load(path, .with { $0.format = format })
        for (chunk, threads, skip, limit) in [(1, 3, 0, 1_000), (64, 1, 0, 7), (100, 2, 11, 5), (1 << 20, 2, 49, 1)] {
            let options = TraceLoadOptions.with {
                $0.format = format
                ($0.chunkBytes, $0.threads, $0.skip, $0.limit) = (chunk, threads, skip, limit)
            }
            let part = whole.selection(skip: skip, limit: limit).trace
            let loaded = try Trace.load(path, options)
            #expect(loaded.entries == part.entries)
            #expect(loaded.report.noTimes || loaded.fingerprint == part.fingerprint)
            var stream = try TraceStream(path, options)
            var (batch, entries, times) = (StreamBatch(), [UInt32](), [Int64]())
            while try stream.next(into: &batch) {
                entries += batch.entries
                times += batch.times
            }
            #expect(entries == part.entries)
            #expect(stream.report.noTimes || times == Array(part.times))
        }
    }

    @Test("Ranges of random lines are those that a naive reader finds", arguments: [512, 1_024, 4_096, 1_536])
    func rangesAreThoseOfANaiveReader(_ block: Int) throws {
        var random = SeededGenerator(seed: UInt64(block))
        var (spc, msr, arc) = ("", "", "")
        var (spcKeys, msrKeys, arcKeys) = ([[Int]](), [[String]](), [Int]())
        for line in 0..<400 {
            let (unit, sector, sectors) = (
                Int(random.next() % 3), Int(random.next() % 500), Int(random.next() % 40) + 1
            )
            let bytes = sectors * 512 - Int(random.next() % 2) * 7
            let isRead = random.next() % 4 > 0
            spc += "\(unit),\(sector),\(bytes),\(isRead ? "R" : "w"),\(line / 3).5\n"
            msr +=
                "\(128_166_372_003_061_629 + line),h\(unit),\(unit / 2),\(isRead ? "Read" : "Write"),\(sector * 512 + 3),\(bytes),9\n"
            arc += "\(sector) \(sectors) 0 \(line)\n"
            // Byte by byte, as slow as it is plain.
            func touched(_ first: Int, _ count: Int) -> [Int] {
                Set((first..<(first + count)).map { $0 / block }).sorted()
            }
            arcKeys += touched(sector * 512, sectors * 512)
            guard isRead else { continue }
            spcKeys += touched(sector * 512, bytes).map { [unit, $0] }
            msrKeys += touched(sector * 512 + 3, bytes).map { ["h\(unit),\(unit / 2)", "\($0)"] }
        }
        func numbers<Key: Hashable>(_ keys: [Key]) -> [UInt32] {
            var known: [Key: UInt32] = [:]
            return keys.map { key in
                let number = known[key] ?? UInt32(known.count)
                known[key] = number
                return number
            }
        }
        for (format, text, expected) in [
            (TraceFormat.spc, spc, numbers(spcKeys)), (.msr, msr, numbers(msrKeys)), (.arc, arc, numbers(arcKeys)),
        ] {
            let trace = try load(format, text) {
                $0.blocks = .split(bytes: block)
                $0.chunkBytes = 1_000
            }
            #expect(trace.entries == expected, "\(format)")
        }
    }

    static let faults: [(TraceFormat, String, String)] = [
        (.lrb, "1 2\n", ":1: '1 2' has 2 fields where a line of lrb has at least 3: time, key, size"),
        (.lrb, "1 2 x\n", ":1:5: size 'x' is not a whole number from 0 to 281474976710655"),
        (.lrb, "1 2 3\nx 2 3\n", ":2:1: time 'x' is not a number; seconds such as 12 or 12.5 are accepted"),
        (
            .lrb, "2 2 3\n1 2 3\n",
            ":2:1: time 1 s is before 2 s, the time of the request above it; times must not decrease unless sorting is "
                + "enabled (--sort)"
        ),
        (
            .arc, "1 2 0\n",
            ":1: '1 2 0' has 3 fields where a line of arc has 4: first block, number of blocks, ignored, number of the request"
        ),
        (.arc, "1 0 0 0\n", ":1:3: number of blocks '0' is not a whole number from 1 to 65536"),
        (.arc, "1 65537 0 0\n", ":1:3: number of blocks '65537' is not a whole number from 0 to 65536"),
        (.lirs, "1\n-2\n", ":2:1: block '-2' is not a whole number from 0 to 18446744073709551615"),
        (.lirs, "1 2\n", ":1: '1 2' has 2 fields where a line of lirs has 1: a block number, or *"),
        (
            .spc, "0,1,2,r\n",
            ":1: '0,1,2,r' has 4 fields where a line of spc has at least 5: ASU, LBA, size, opcode, time"
        ),
        (.spc, "0,1,2,x,1\n", ":1:7: opcode 'x' is unknown; R and W are accepted, in any case"),
        (.spc, "16777216,1,2,r,1\n", ":1:1: ASU '16777216' is not a whole number from 0 to 16777215"),
        (
            .spc, "0,1,99999999,r,1\n",
            ":1:3: the line requests 195313 blocks of 512 bytes; 1 to 65536 are accepted"
        ),
        (
            .spc, "0,1099511627775,1024,r,1\n",
            ":1:3: the range from byte 562949953420800 on ends above the limit of 2^40 blocks"
        ),
        (
            .msr, "1,a,0,Read,0,512\n",
            ":1: '1,a,0,Read,0,512' has 6 fields where a line of msr has 7: Timestamp, Hostname, DiskNumber, Type, Offset, "
                + "Size, ResponseTime"
        ),
        (.msr, "1,a,0,Trim,0,512,1\n", ":1:7: Type 'Trim' is unknown; Read and Write are accepted, in any case"),
        (
            .objectStore, "1 REST.GET.OBJECT\n",
            ":1: '1 REST.GET.OBJECT' has 2 fields where a line of objectStore has 3 to 6: time, operation, key, and perhaps "
                + "size, first and last byte"
        ),
        (
            .objectStore, "1 GET a\n",
            ":1:3: operation 'GET' is unknown; REST.GET.OBJECT and other names after REST. are accepted"
        ),
        (.objectStore, "1 REST.GET.OBJECT a -1\n", ":1:21: size '-1' is not a whole number from 0 to 281474976710655"),
        (.address, "l 0x1g\n", ":1:3: address '0x1g' is not a hexadecimal number of 1 to 16 digits, such as 0x1fff58"),
        (
            .address, "load 0x1\n",
            ":1:1: operation 'load' is unknown; l, s, i, r, w, 0, 1 and 2 are accepted before an address"
        ),
        (.lirs, "1\n2\u{0}\n", ":2:2: the control byte 0x00 is not text, which is expected here"),
        (.lirs, "*\n", ": holds no request"), (.lirs, "", ": is empty; a trace has at least one request"),
    ]

    @Test("A bad line is refused with its place, and skipped where that is asked for", arguments: faults)
    func badLinesAreRefused(_ format: TraceFormat, _ text: String, _ sentence: String) throws {
        let path = try folder.file("t", text)
        #expect(fault(path, .with { $0.format = format }) == "t\(sentence)")
        let lenient = try folder.file("u", (Self.lines.first { $0.0 == format }?.1 ?? "") + text)
        if !sentence.contains("is before"), !sentence.hasPrefix(": ") {
            let trace = try Trace.load(
                lenient,
                .with {
                    $0.format = format
                    $0.skipBadLines = true
                    $0.sort = true
                })
            #expect(trace.report.badLines == 1)
        }
    }

    @Test func disksWithOneHashAreRefused() {
        let tags = VolumeTags(bits: 2)
        let results = (0..<5).map { tags.tag(of: Array("h,\($0)".utf8)) }
        // Five names have at most four tags of two bits.
        #expect(results.contains { if case .failure = $0 { true } else { false } })
        #expect(throws: Never.self) { try tags.tag(of: Array("h,0".utf8)).get() }
    }

    @Test("Plain whole numbers of 4 and 8 bytes are read in both orders")
    func plainNumbersAreRead() throws {
        let data: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 1]
        for (format, expected) in [
            (TraceFormat.int32, ["16777216", "0", "255", "16777216"]), (.int32be, ["1", "0", "4278190080", "1"]),
            (.int64, ["16777216", "72057594037928191"]), (.int64be, ["4294967296", "18374686479671623681"]),
        ] {
            for chunk in [1, 8, 1 << 20] {
                let options = TraceLoadOptions.with {
                    ($0.format, $0.names, $0.chunkBytes) = (format, .keys, chunk)
                }
                #expect(keys(try Trace.load(folder.file("t", data), options)) == expected)
            }
        }
    }

    static let shown: [(String, String, TraceFormat)] = [
        ("sprite.trace", "0\n1\n*\n2\n", .lirs), ("cloudPhysicsIO.txt", "42932745\n42932746\n", .lirs),
        ("OLTP", "1 1 0 0\n2 1 0 0\n3 1 0 0\n9 4 0 0\n", .arc),
        ("P6.trace", "110765 64 0 0\n110888 1 0 1\n7 2 0 2\n8 1 0 3\n", .arc),
        ("web_0.csv", "128166372003061629,web,0,Read,383496192,32768,1331\n", .msr),
        ("Financial1.trace", "0,20941264,8192,W,0.551706\n0,20939840,8192,r,0.554041\n", .spc),
        ("gcc.trace", "s 0x1fffff50 1\nl 0x1fffff58 1\n", .address), ("a.out", "0x12\n0x13\n", .address),
        ("IBMObjectStoreTrace", "1219008 REST.GET.OBJECT 8d4fcda3d675bac9 1056\n", .objectStore),
    ]

    @Test("A format that the first lines show beyond doubt needs no option, and the notes name it", arguments: shown)
    func formatsAreRecognized(_ name: String, _ text: String, _ format: TraceFormat) throws {
        let trace = try load(nil, text, name: name)
        #expect(trace.report.format == format && trace.report.isFormatRecognized)
        #expect(trace.fingerprint == (try load(format, text).fingerprint))
        #expect(!(try load(format, text).report.isFormatRecognized))
    }

    @Test("What could be several formats is not guessed")
    func ambiguousLinesAreNotGuessed() throws {
        for text in ["1 2 3\n2 3 4\n", "5 6\n", "0 1 2 3\n", "a b\n", "1 2 0 0\n5 3 0 7\n", "\u{0}\u{1}\n", "7"] {
            let message = fault(try folder.file("name.trace", text)) ?? ""
            #expect(message.hasPrefix("name.trace: neither the name nor the first lines show the format; "), "\(text)")
        }
        #expect(
            fault(try folder.file("t.tr", "1 2 3\n"), .with { $0.columns.category = "4" })
                == "t.tr: the fields of lrb are fixed; leave out --columns and --delimiter, or read it as csv")
        #expect(
            fault(try folder.file("u.tr", "1 2 3\n"), .with { $0.blocks = .whole })
                == "u.tr: the format is lrb, but blocks can be chosen for arc, spc, msr; leave out --block-size")
        #expect(
            fault(try folder.file("u.lis", "1 2 0 0\n"), .with { $0.countsWrites = true })
                == "u.lis: the format is arc, but writes are left out of spc, msr, objectStore only; leave out --count-writes"
        )
        // The user's own columns decide.
        let columns = TraceLoadOptions.with { ($0.columns.key, $0.header) = ("1", .no) }
        for name in ["t.csv", "t.trace"] { #expect(try Trace.load(folder.file(name, "7\n8\n8\n"), columns).count == 3) }
    }
}
