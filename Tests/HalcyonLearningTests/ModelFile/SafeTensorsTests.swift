import Foundation
import Testing

@testable import HalcyonLearning

@Suite("The safetensors format", .timeLimit(.minutes(20)))
struct SafeTensorsTests {
    /// A file in the format's layout, byte by byte: a header with a length, then 1.0, -2.5.
    private let header = #"{"__metadata__":{"kind":"test"},"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}}"#
    private let values: [UInt8] = [0x00, 0x00, 0x80, 0x3F, 0x00, 0x00, 0x20, 0xC0]
    private let content = SafeTensors(
        tensors: ["a": SafeTensors.Tensor(shape: [2], values: [1, -2.5])], metadata: ["kind": "test"])

    private func file(_ header: String, _ values: [UInt8]) -> Data {
        let length = UInt64(header.utf8.count)
        return Data((0..<8).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + Array(header.utf8) + values)
    }

    private func fault(_ data: Data) -> ModelFileError? {
        do {
            _ = try SafeTensors(parsing: data)
            return nil
        } catch { return error }
    }

    @Test("Writing gives the length, the header padded to eight bytes, and little-endian numbers")
    func writingPadsTheHeaderAndUsesLittleEndian() throws {
        let padded = header + String(repeating: " ", count: (8 - header.utf8.count % 8) % 8)
        #expect(try content.data() == file(padded, values))
    }

    @Test("Reading accepts its own output and a header without padding or in another order")
    func readingAcceptsAnyHeaderOrderAndPadding() throws {
        #expect(try SafeTensors(parsing: content.data()) == content)
        #expect(try SafeTensors(parsing: file(header, values)) == content)
        let other = #"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"kind":"test"}}"#
        #expect(try SafeTensors(parsing: file(other, values)) == content)
    }

    @Test("Every truncated file is an error, and no flipped bit of the header traps")
    func everyTruncatedFileIsAnErrorAndFlippedBytesDoNotTrap() throws {
        let whole = try content.data()
        for length in 0..<whole.count { #expect(fault(whole.prefix(length)) != nil, "cut to \(length) bytes") }
        for place in 0..<(8 + header.utf8.count) {
            for flip in [UInt8(1), 0x80] {
                var bytes = [UInt8](whole)
                bytes[place] ^= flip
                // A changed name is another name, so that the result is not compared.
                _ = fault(Data(bytes))
            }
        }
    }

    @Test("A data offset whose sum with the header's length overflows is an error")
    func overflowingDataOffsetIsAnError() {
        let far =
            #"{"__metadata__":{},"a":{"dtype":"F32","shape":[2305843009213693951],"data_offsets":[0,9223372036854775804]}}"#
        #expect(fault(file(far, []))?.description.contains("data_offsets [0, 9223372036854775804]") == true)
    }

    @Test("A duplicate name is an error; colons within texts are not")
    func duplicateNameIsAnErrorAndColonsInTextsAreNot() throws {
        let array = #""a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}"#
        for header in [
            "{\(array),\(array)}", #"{"__metadata__":{"kind":"test","kind":"test"},\#(array)}"#,
            #"{"__metadata__":{},"__metadata__":{},\#(array)}"#,
            #"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"shape":[2]}}"#,
        ] {
            #expect(fault(file(header, values))?.description.contains("a name twice") == true, "\(header)")
        }
        let texts = SafeTensors(tensors: content.tensors, metadata: ["a:b": #"c":"\:"#])
        #expect(try SafeTensors(parsing: texts.data()) == texts)
    }

    @Test("Wrong header lengths, trailing bytes, gaps, overlaps, other types and shapes are errors")
    func malformedHeadersAndOffsetsAreErrors() throws {
        #expect(fault(Data([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0x7B])) != nil)
        #expect(fault(Data(repeating: 0xFF, count: 64)) != nil)
        #expect(fault(Data([0, 0, 0, 0, 0, 0, 0, 0])) != nil)
        #expect(fault(file(header, values + [0])) != nil)
        for (from, to) in [
            ("[0,8]", "[4,12]"), ("[0,8]", "[8,0]"), ("[0,8]", "[-8,0]"), ("[0,8]", "[0]"), ("[2]", "[3]"),
            ("[2]", "[-2]"), ("[2]", "[4611686018427387904,4611686018427387904]"), ("F32", "F64"),
            ("{\"__", "[\"__"),
            ("[0,8]", "[0,9223372036854775807]"), (#""shape":[2]"#, #""shape":2"#),
        ] {
            #expect(fault(file(header.replacingOccurrences(of: from, with: to), values + values)) != nil, "\(to)")
        }
        let twice =
            #"{"a":{"data_offsets":[0,8],"dtype":"F32","shape":[2]},"b":{"data_offsets":[0,8],"dtype":"F32","shape":[2]}}"#
        #expect(fault(file(twice, values)) != nil)
        #expect(fault(file(String(repeating: "[", count: 100_000), [])) != nil)
        let nested = "{\"a\":" + String(repeating: "{\"a\":", count: 5_000)
        #expect(fault(file(nested, [])) != nil)
    }
}
