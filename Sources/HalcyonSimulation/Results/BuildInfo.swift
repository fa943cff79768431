import Foundation
import HalcyonEviction

#if canImport(Darwin)
    import MachO
#endif

/// The build that made a result. Every report carries it.
///
/// ``identifier`` identifies the executable itself, so it is right for modified sources, too; a commit recorded by the
/// package manager can be older than the build. `replay --version` prints it.
package struct BuildInfo: Sendable, Codable, Equatable {
    /// The version of Halcyon.
    package var halcyonVersion = Halcyon.version
    /// The result version. Builds with the same number give the same counts for the same trace and parameters.
    package var resultVersion = Halcyon.resultVersion
    /// The identifier that the linker gave to the executable, in hexadecimal digits: the build ID on Linux, the UUID on
    /// Apple platforms. Builds of the same sources with the same toolchain and options have the same identifier. It is
    /// `unknown` if the executable has none.
    package var identifier = BuildInfo.identifierOfExecutable
    /// Whether the build was optimised.
    package var isOptimised = BuildInfo.isOptimisedBuild

    /// The build that is running.
    package static let current = BuildInfo()

    /// One line: version, result version and identifier.
    package var sentence: String {
        "\(halcyonVersion) (result version \(resultVersion), build \(identifier)\(isOptimised ? "" : ", debug"))"
    }

    enum CodingKeys: String, CodingKey {
        case halcyonVersion, resultVersion, isOptimised
        case identifier = "buildId"
    }

    private static let isOptimisedBuild: Bool = {
        #if DEBUG
            false
        #else
            true
        #endif
    }()

    private static let identifierOfExecutable: String = {
        #if canImport(Darwin)
            return machOIdentifier ?? "unknown"
        #else
            let file = FileHandle(forReadingAtPath: "/proc/self/exe")
            defer { try? file?.close() }
            // The note stands among the first sections of the file.
            guard let start = try? file?.read(upToCount: 1 << 20) else { return "unknown" }
            return ELFBuildID.find(in: Array(start)) ?? "unknown"
        #endif
    }()

    #if canImport(Darwin)
        private static var machOIdentifier: String? {
            guard let header = _dyld_get_image_header(0) else { return nil }
            var command = UnsafeRawPointer(header) + MemoryLayout<mach_header_64>.size
            for _ in 0..<header.pointee.ncmds {
                let load = command.load(as: load_command.self)
                if load.cmd == UInt32(LC_UUID) {
                    return withUnsafeBytes(of: command.load(as: uuid_command.self).uuid, ELFBuildID.hexadecimal)
                }
                command += Int(load.cmdsize)
            }
            return nil
        }
    #endif
}

/// Finds the build ID in an ELF executable: the note of type 3 and owner `GNU` in a segment of notes.
///
/// Source: the System V ABI, "Program Header" and "Note Section".
enum ELFBuildID {
    private static let noteSegment = 4
    private static let buildIDNote = 3

    /// Returns the build ID in hexadecimal digits; `nil` if the file is no 64-bit little-endian ELF file or has none.
    ///
    /// - Parameter file: the file from its first byte, at least through its notes.
    static func find(in file: [UInt8]) -> String? {
        guard file.count >= 64, file.prefix(6).elementsEqual([0x7f, 0x45, 0x4c, 0x46, 2, 1]) else { return nil }
        func number(_ offset: Int, _ bytes: Int) -> Int {
            guard offset >= 0, offset <= file.count - bytes else { return 0 }
            let value = (0..<bytes).reduce(UInt64(0)) { $0 | UInt64(file[offset + $1]) << UInt64(8 * $1) }
            return Int(truncatingIfNeeded: value)
        }
        let (table, length, count) = (number(32, 8), number(54, 2), number(56, 2))
        for index in 0..<count {
            let header = table &+ index * length
            guard number(header, 4) == noteSegment else { continue }
            var note = number(header &+ 8, 8)
            let end = note &+ number(header &+ 32, 8)
            while note >= 0, note &+ 12 <= min(end, file.count) {
                let (owner, size, type) = (number(note, 4), number(note + 4, 4), number(note + 8, 4))
                let content = note + 12 + (owner + 3) / 4 * 4
                guard content + size <= file.count else { break }
                if type == buildIDNote, owner == 4, file[note + 12..<note + 16].elementsEqual(Array("GNU\0".utf8)) {
                    return file[content..<content + size].withUnsafeBytes(hexadecimal)
                }
                note = content + (size + 3) / 4 * 4
            }
        }
        return nil
    }

    static func hexadecimal(_ bytes: UnsafeRawBufferPointer) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
