import Foundation

@testable import HalcyonTrace

extension TraceLoadOptions {
    /// The defaults, changed.
    static func with(_ change: (inout TraceLoadOptions) -> Void) -> TraceLoadOptions {
        var options = TraceLoadOptions()
        change(&options)
        return options
    }
}

/// The error of loading, without the folder.
func fault(_ path: String, _ options: TraceLoadOptions = TraceLoadOptions()) -> String? {
    do throws(TraceError) {
        _ = try Trace.load(path, options)
        return nil
    } catch {
        return error.description.replacingOccurrences(of: (path as NSString).deletingLastPathComponent + "/", with: "")
    }
}
