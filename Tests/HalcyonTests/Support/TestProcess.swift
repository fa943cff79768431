import Foundation
import HalcyonTestSupport

/// The process that tests kill.
enum TestProcess {
    /// The executable, which the build puts beside the test bundle.
    static let executable: URL? = {
        var folder = Bundle(for: TemporaryFolder.self).bundleURL
        for start in [folder, URL(fileURLWithPath: CommandLine.arguments[0])] {
            folder = start
            while folder.path != "/" {
                let candidate = folder.appendingPathComponent("HalcyonTestProcess")
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder), !isFolder.boolValue {
                    return candidate
                }
                folder.deleteLastPathComponent()
            }
        }
        return nil
    }()
}
