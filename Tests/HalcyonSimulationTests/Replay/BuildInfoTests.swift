import Foundation
import Testing

@testable import HalcyonSimulation

@Suite("Build of a result", .timeLimit(.minutes(20)))
struct BuildInfoTests {
    /// An ELF file with one segment of notes: one of another owner, one of another type, then the build ID.
    private func executable(id: [UInt8]) -> [UInt8] {
        func bytes(_ value: Int, _ count: Int) -> [UInt8] { (0..<count).map { UInt8(value >> (8 * $0) & 255) } }
        func note(_ owner: String, _ type: Int, _ content: [UInt8]) -> [UInt8] {
            let name = Array(owner.utf8) + [0]
            func padded(_ part: [UInt8]) -> [UInt8] { part + Array(repeating: 0, count: (4 - part.count % 4) % 4) }
            return bytes(name.count, 4) + bytes(content.count, 4) + bytes(type, 4) + padded(name) + padded(content)
        }
        let notes = note("stapsdt", 3, [1, 2, 3]) + note("GNU", 1, [9, 9, 9, 9]) + note("GNU", 3, id)
        let header: [UInt8] =
            [0x7f, 0x45, 0x4c, 0x46, 2, 1] + Array(repeating: 0, count: 26) + bytes(64, 8) + bytes(0, 14) + bytes(56, 2)
            + bytes(1, 2) + bytes(0, 6)
        let segment =
            bytes(4, 4) + bytes(0, 4) + bytes(120, 8) + bytes(0, 16) + bytes(notes.count, 8) + bytes(0, 16)
        return header + segment + notes
    }

    @Test("The build ID of an ELF file is found among other notes, and nothing in truncated files")
    func buildIDIsFoundAmongOtherNotes() {
        let id = Array(UInt8(0xf0)...0xff) + [1, 2, 3, 4]
        let file = executable(id: id)
        #expect(ELFBuildID.find(in: file) == "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff01020304")
        for length in 0..<file.count { #expect(ELFBuildID.find(in: Array(file.prefix(length))) == nil) }
        var huge = file
        for place in 72..<80 { huge[place] = 0xff }
        #expect(ELFBuildID.find(in: huge) == nil)
        #expect(ELFBuildID.find(in: Array("#!/bin/sh\n".utf8) + Array(repeating: 0, count: 200)) == nil)
    }

    @Test("The running executable has an identifier, the same each time")
    func runningExecutableHasAStableIdentifier() throws {
        let identifier = BuildInfo.current.identifier
        #expect(identifier.count >= 32 && identifier.allSatisfy(\.isHexDigit))
        #expect(BuildInfo().identifier == identifier)
        let encoded = String(decoding: try JSONReport.data(BuildInfo.current), as: UTF8.self)
        for key in ["halcyon_version", "result_version", "build_id", "is_optimised"] {
            #expect(encoded.contains("\"\(key)\""))
        }
    }
}
