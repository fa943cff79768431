import HalcyonTrace
import Testing

@Suite("String table", .timeLimit(.minutes(20)))
struct StringTableTests {
    @Test(
        "Bytes that are not UTF-8 are escaped in a name, all others are kept",
        arguments: [
            ([0x63, 0x61, 0x66, 0xE9], #"caf\xE9"#), ([0x63, 0x61, 0x66, 0xC3, 0xA9], "café"),
            ([0xFF, 0x78, 0xC3, 0xA9, 0xC3], #"\xFFxé\xC3"#), ([0xE2, 0x82], #"\xE2\x82"#),
            ([0xE2, 0x82, 0x41, 0x0A], "\\xE2\\x82A\n"), ([0xF0, 0x9F, 0x98, 0x80], "😀"), ([0x80, 0x09], "\\x80\t"),
            ([0xC0, 0x80, 0xED, 0xA0, 0x80], #"\xC0\x80\xED\xA0\x80"#), ([], ""),
        ] as [([UInt8], String)])
    func invalidUTF8IsEscapedInNames(bytes: [UInt8], name: String) {
        var table = StringTable(["before"])
        let number = table.append(utf8: bytes)
        #expect(table[number] == name)
        #expect(Array(table.utf8(number)) == bytes && table[0] == "before")
    }

    @Test("Different bytes have different names")
    func differentBytesHaveDifferentNames() {
        var table = StringTable()
        for first in UInt8.min...UInt8.max {
            for second in [0x41, 0x80, 0xBF, 0xC2, 0xFF] as [UInt8] { table.append(utf8: [first, second]) }
        }
        let names = Set((0..<UInt32(table.count)).map { Array(table[$0].utf8) })
        #expect(names.count == table.count)
    }
}
