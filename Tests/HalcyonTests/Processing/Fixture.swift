import Foundation
import Halcyon
import Testing

@testable import HalcyonImages
@testable import HalcyonPipeline

/// The files of `Fixtures/`, which `make.py` beside them made with Pillow.
enum Fixture {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Fixtures")

    /// The bytes of a file.
    static func data(_ name: String) throws -> Data {
        try Data(contentsOf: folder.appendingPathComponent(name))
    }

    /// All files that are encoded pictures, by name.
    static func encoded() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path)
            .filter { ["jpg", "png", "webp", "gif"].contains(($0 as NSString).pathExtension) }.sorted()
    }

    /// The animations that `make_animations.py` made, with the plays and, for each frame, the milliseconds and the
    /// digest of its pixels
    /// that Pillow or the format's definition gives.
    static func animations() throws -> [String: (plays: Int?, frames: [(milliseconds: Double, digest: String)])] {
        var all: [String: (plays: Int?, frames: [(milliseconds: Double, digest: String)])] = [:]
        for line in String(decoding: try data("animations/frames.txt"), as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words[1] == "plays" {
                all[words[0]] = (Int(words[2]), [])
            } else {
                all[words[0]]?.frames.append((try #require(Double(words[2])), words[3]))
            }
        }
        return all
    }

    /// The names of the files that fuzzing found: an earlier version decoded them to neither a picture nor an error.
    static func failures() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("failures").path).sorted()
    }

    /// The pixels of `name.pam`: Netpbm's RGB_ALPHA.
    static func expected(_ name: String) throws -> Bitmap {
        let data = try data("\((name as NSString).deletingPathExtension).pam")
        let end = try #require(data.range(of: Data("ENDHDR\n".utf8)))
        var fields: [Substring: Int] = [:]
        for line in String(decoding: data[..<end.lowerBound], as: UTF8.self).split(separator: "\n") {
            let parts = line.split(separator: " ")
            if parts.count == 2 { fields[parts[0]] = Int(parts[1]) }
        }
        let (width, height) = (try #require(fields["WIDTH"]), try #require(fields["HEIGHT"]))
        return try #require(Bitmap(width: width, height: height, pixels: [UInt8](data[end.upperBound...])))
    }
}

extension Bitmap {
    /// The largest difference of a channel to another picture; `nil` if the sizes differ. Colours where both are
    /// fully transparent
    /// do not count when `visibly`.
    func difference(to other: Bitmap, visibly: Bool = false) -> Int? {
        guard size == other.size else { return nil }
        var largest = 0
        for at in pixels.indices {
            let alpha = at | 3
            if visibly, pixels[alpha] == 0, other.pixels[alpha] == 0 { continue }
            largest = max(largest, abs(Int(pixels[at]) - Int(other.pixels[at])))
        }
        return largest
    }
}
