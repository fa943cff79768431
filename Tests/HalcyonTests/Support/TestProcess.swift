import Foundation
import HalcyonTestSupport

/// The process that tests kill.
enum TestProcess {
    /// The executable.
    static let executable: URL? = BuiltExecutable.url("HalcyonTestProcess")
}
