import Foundation

/// The bytes of a model's file, whole or not at all.
enum ModelFile {
    /// The bytes of a file. O(bytes).
    static func read(_ path: String) throws(ModelFileError) -> Data {
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
            throw ModelFileError(file: path, reason: .unreadable("There is no such file."))
        }
        if isDirectory.boolValue {
            throw ModelFileError(file: path, reason: .unreadable("This is a directory; a model file is needed."))
        }
        do { return try Data(contentsOf: URL(fileURLWithPath: path)) } catch {
            throw ModelFileError(file: path, reason: .unreadable("The file cannot be read."))
        }
    }

    /// Writes a file that appears under its name only when it is whole.
    static func write(_ data: Data, to path: String) throws(ModelFileError) {
        do { try data.write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw ModelFileError(file: path, reason: .unwritable)
        }
    }
}
