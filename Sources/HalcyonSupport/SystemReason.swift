import Foundation

/// The reasons of failed calls of the system, in words for people: `No space left on device`.
///
/// Descriptions of Foundation's errors are for programmers (`Error Domain=NSCocoaErrorDomain Code=513 …`), so no
/// message shows one. See `SystemErrorTests`.
package enum SystemReason {
    /// The reason of the call of the C library that failed last.
    package static var ofLastCall: String { text(ofCode: errno) }

    /// Returns the reason with this number of `errno`.
    package static func text(ofCode code: Int32) -> String { String(cString: strerror(code)) }

    /// Returns the reason of an error of the system or of Foundation, and the description of any other error.
    package static func text(of error: any Error) -> String {
        if let code = code(of: error) { return text(ofCode: code) }
        guard let error = error as? CocoaError else { return "\(error)" }
        return error.localizedDescription.trimmingCharacters(in: CharacterSet(charactersIn: ". "))
    }

    /// Returns the number of `errno` that an error stands for; `nil` if it stands for none.
    private static func code(of error: any Error) -> Int32? {
        if let error = error as? POSIXError { return error.code.rawValue }
        guard let error = error as? CocoaError else { return nil }
        if let inner = error.underlying, let code = code(of: inner) { return code }
        return switch error.code {
        case .fileNoSuchFile, .fileReadNoSuchFile: ENOENT
        case .fileReadNoPermission, .fileWriteNoPermission: EACCES
        case .fileWriteOutOfSpace: ENOSPC
        case .fileWriteVolumeReadOnly: EROFS
        case .fileWriteFileExists: EEXIST
        case .fileReadTooLarge: EFBIG
        default: nil
        }
    }
}
