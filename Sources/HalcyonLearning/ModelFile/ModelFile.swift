import Foundation

/// Reads and writes the bytes of a model's file, completely or not at all.
package enum ModelFile {
    /// The largest file that is read; no model is as large.
    static let longest = 16 << 20

    /// Reads a file of at most ``longest`` bytes. O(bytes).
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
            // A pipe returns the bytes that it has. One byte more than the limit shows that the file is too large.
            while let part = try file.read(upToCount: longest + 1 - data.count), !part.isEmpty { data += part }
        } catch {
            throw ModelFileError(file: path, reason: .unreadable("The file cannot be read."))
        }
        guard data.count <= longest else {
            throw ModelFileError(file: path, reason: .foreign("The file has more than \(longest >> 20) MB"))
        }
        return data
    }

    /// Writes a file that appears under its name only when it is complete.
    package static func write(_ data: Data, to path: String) throws(ModelFileError) {
        do { try data.write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
            throw ModelFileError(file: path, reason: .unwritable)
        }
    }
}

/// The reason why a model file could not be read or written, in one sentence with what was found and what is accepted.
public struct ModelFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of fault.
    public enum Reason: Sendable, Equatable {
        /// The file cannot be opened or read.
        case unreadable(String)
        /// The file cannot be written.
        case unwritable
        /// The bytes are not in the safetensors format.
        case malformed(String)
        /// The file is shorter than its header says.
        case truncated(expected: Int, found: Int)
        /// The file is a safetensors file, but not a model of Halcyon.
        case foreign(String)
        /// The file is a model of Halcyon of another kind: its content, and the option of `replay` that takes it.
        case misplaced(String, option: String)
        /// The file was written by a later version.
        case newer(version: Int, known: Int)
        /// The file was written by an earlier version, whose models are no longer supported.
        case older(version: Int, oldest: Int)
        /// The model was trained under another result version, or in a release before models named it (`nil`).
        case otherResults(version: Int?, known: Int)
        /// The parts of the model do not fit together.
        case inconsistent(String)
        /// A weight is not a finite number.
        case notFinite(tensor: String, index: Int)
    }

    /// The path as given by the caller; empty if bytes were given.
    public let file: String
    /// The kind of fault.
    public let reason: Reason

    /// Creates an error about `file`.
    public init(file: String = "", reason: Reason) {
        self.file = file
        self.reason = reason
    }

    /// Whether a file could not be written. The model itself is then valid.
    public var isOfOutput: Bool { reason == .unwritable }

    /// Returns the same error about `file`.
    package func named(_ file: String) -> ModelFileError { ModelFileError(file: file, reason: reason) }

    /// `file: sentence`.
    public var description: String { file.isEmpty ? sentence : "\(file): \(sentence)" }

    private var sentence: String {
        switch reason {
        case .unreadable(let why): why
        case .unwritable: "The file cannot be written."
        case .malformed(let what): "\(what): this is not a safetensors file."
        case .truncated(let expected, let found):
            "The file is truncated: it has \(found) bytes, and its header needs \(expected)."
        case .foreign(let what): "\(what): this is not a model of 'replay train'."
        case .misplaced(let content, let option): "The file holds \(content): give it to \(option)."
        case .newer(let version, let known):
            "The model has format version \(version), and this release reads up to \(known): use a newer release."
        case .older(let version, let oldest):
            "The model has format version \(version), and this release reads \(oldest) and later: train it again."
        case .otherResults(let version, let known):
            "The model \(version.map { "has result version \($0)" } ?? "names no result version"), and this release has "
                + "\(known): train it again."
        case .inconsistent(let what): "\(what)."
        case .notFinite(let tensor, let index):
            "Weight \(index) of '\(tensor)' is not a finite number: the model is unusable."
        }
    }
}
