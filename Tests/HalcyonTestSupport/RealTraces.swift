import Foundation

/// The folder of real traces that `HALCYON_TRACES` names, or `nil`, said aloud.
///
/// Real traces are not part of the repository; a test that needs them passes without them, but never silently.
public func realTraces(for test: String) -> URL? {
    guard let folder = ProcessInfo.processInfo.environment["HALCYON_TRACES"] else {
        print("skipped: HALCYON_TRACES is not set, so that \(test) has nothing to test on")
        return nil
    }
    return URL(fileURLWithPath: folder, isDirectory: true)
}
