import Foundation
import HalcyonAccessLog

@main
struct Main {
    static func main() {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("products-\(UUID().uuidString).sqlite")
        defer { try? FileManager.default.removeItem(at: file) }
        _ = AccessLog(path: file.path)
    }
}
