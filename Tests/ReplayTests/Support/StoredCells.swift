import Foundation
import HalcyonTrace

/// The cells that commands stored.
enum StoredCells {
    /// Returns the cells of a folder of results, packed or not, each as its line; none if there is no folder.
    static func lines(in folder: String) throws -> Set<[UInt8]> {
        var lines: Set<[UInt8]> = []
        for name in files(in: folder) where name.hasSuffix(".json") {
            // A cell that is packed meanwhile is found in the pack.
            if let data = FileManager.default.contents(atPath: "\(folder)/cells/\(name)") { lines.insert(Array(data)) }
        }
        let pack = "\(folder)/cells.jsonl.zst"
        if FileManager.default.fileExists(atPath: pack) {
            for line in try ZstdFile.read(pack).split(separator: UInt8(ascii: "\n")) {
                lines.insert(line + [UInt8(ascii: "\n")])
            }
        }
        return lines
    }

    /// Returns the names of the files in the folder for cells that are not packed.
    static func files(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/cells")) ?? []
    }
}
