import Foundation

/// The executables of this package, which the build puts beside the test bundle.
public enum BuiltExecutable {
    /// The executable of this name; ends the tests if it has not been built.
    public static func url(_ name: String) -> URL {
        let bundles = [Bundle(for: TemporaryFolder.self).bundleURL, URL(fileURLWithPath: CommandLine.arguments[0])]
        for start in bundles {
            var folder = start
            while folder.path != "/" {
                let candidate = folder.appendingPathComponent(name)
                var isFolder: ObjCBool = false
                if FileManager.default.fileExists(atPath: candidate.path, isDirectory: &isFolder), !isFolder.boolValue {
                    return candidate
                }
                folder.deleteLastPathComponent()
            }
        }
        fatalError("the executable \(name) is not beside the tests: run swift build")
    }
}
