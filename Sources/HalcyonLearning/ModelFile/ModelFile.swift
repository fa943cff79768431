import Foundation

/// The bytes of a model's file, whole or not at all.
package enum ModelFile {
    /// More than any model takes: files are read no further.
    static let longest = 16 << 20

    /// The bytes of a file. O(bytes), and no more than ``longest`` of them.
    package static func read(_ path: String) throws(ModelFileError) -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw ModelFileError(file: path, reason: .unreadable("There is no such file."))
        }
        if isDirectory.boolValue {
            throw ModelFileError(file: path, reason: .unreadable("This is a directory; a model file is needed."))
        }
        var data = Data()
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            // Pipes give what they have; one byte more than is accepted tells that there is more.
            while let part = try file.read(upToCount: longest + 1 - data.count), !part.isEmpty { data += part }
        } catch {
            throw ModelFileError(file: path, reason: .unreadable("The file cannot be read."))
        }
        guard data.count <= longest else {
            throw ModelFileError(file: path, reason: .foreign("The file has more than \(longest >> 20) MB"))
        }
        return data
    }

    /// Writes a file that appears under its name only when it is whole.
    package static func write(_ data: Data, to path: String) throws(ModelFileError) {
        do { try data.write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw ModelFileError(file: path, reason: .unwritable)
        }
    }
}
