/// Why a model file could not be read or written: one sentence that says what was found and what is accepted.
public struct ModelFileError: Error, Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    public enum Reason: Sendable, Equatable {
        /// The file cannot be opened or read.
        case unreadable(String)
        /// The file cannot be written.
        case unwritable
        /// The bytes are not of the safetensors format.
        case malformed(String)
        /// The file ends before what it announces.
        case truncated(expected: Int, found: Int)
        /// A safetensors file, but not a model of Halcyon's.
        case foreign(String)
        /// Written by a later version.
        case newer(version: Int, known: Int)
        /// Written by an earlier version, whose models cannot be used any more.
        case older(version: Int, oldest: Int)
        /// A model whose parts do not fit together.
        case inconsistent(String)
        /// A weight that is not a finite number.
        case notFinite(tensor: String, index: Int)
    }

    /// The file as it was named by the caller; empty where bytes were given.
    public let file: String
    /// What is wrong.
    public let reason: Reason

    /// A fault in `file`.
    public init(file: String = "", reason: Reason) {
        self.file = file
        self.reason = reason
    }

    /// Whether a file could not be written, which says nothing of a model.
    public var isOfOutput: Bool { reason == .unwritable }

    /// The same fault, in `file`.
    package func named(_ file: String) -> ModelFileError { ModelFileError(file: file, reason: reason) }

    /// `file: sentence`.
    public var description: String { file.isEmpty ? sentence : "\(file): \(sentence)" }

    private var sentence: String {
        switch reason {
        case .unreadable(let why): why
        case .unwritable: "The file cannot be written."
        case .malformed(let what): "\(what): this is no safetensors file."
        case .truncated(let expected, let found):
            "The file is cut short: it announces \(expected) bytes and has \(found)."
        case .foreign(let what): "\(what): this is no model of 'replay train'."
        case .newer(let version, let known):
            "The model has format version \(version), and this release reads up to \(known): use a newer release."
        case .older(let version, let oldest):
            "The model has format version \(version), and this release reads \(oldest) and later: train it anew."
        case .inconsistent(let what): "\(what)."
        case .notFinite(let tensor, let index):
            "Weight \(index) of '\(tensor)' is not a finite number, so that the model can decide nothing."
        }
    }
}
