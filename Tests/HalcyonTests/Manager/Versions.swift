import Foundation
import HalcyonTestSupport
import Synchronization

/// A server of one picture that has versions, each with its tag.
final class Versions: Sendable {
    struct Version { var tag: String, file: Data, control: String, fails = false }

    let version: Mutex<Version>
    /// A gate for which answers wait.
    let gate = Mutex<DispatchSemaphore?>(nil)
    private let answers = Mutex<[String]>([])

    init(_ tag: String, _ file: Data, _ control: String) {
        version = Mutex(Version(tag: tag, file: file, control: control))
    }

    /// The status of each answer, with the tag in the request.
    var log: [String] { answers.withLock { $0 } }

    func start() throws -> HostileServer {
        try HostileServer { [self] visit in
            gate.withLock { $0 }?.wait()
            let version = version.withLock { $0 }
            let asked = visit.headers["if-none-match"]
            let headers = ["ETag: \(version.tag)", "Cache-Control: \(version.control)"]
            let status = version.fails ? "500" : asked == version.tag ? "304" : "200"
            answers.withLock { $0.append("\(status) \(asked ?? "-")") }
            if status == "304" {
                visit.send((["HTTP/1.1 304 Not Modified"] + headers).joined(separator: "\r\n") + "\r\n\r\n")
            } else {
                visit.answer(status == "200" ? Array(version.file) : [], status: "\(status) X", headers: headers)
            }
        }
    }
}
