import GRDB
import HalcyonAccessLogReading

extension AccessLogError {
    /// What an error thrown while the file at `path` was used means.
    init(_ path: String, _ error: any Error) {
        if let known = error as? AccessLogError {
            self = known
        } else if let error = error as? DatabaseError {
            self.init(path, code: error.extendedResultCode.rawValue, message: error.message)
        } else {
            self.init(path, .failed, "cannot be used: \(error)")
        }
    }
}
