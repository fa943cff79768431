import Foundation
import HalcyonNetworking

/// A downloader over a transport of the program's own.
@main
struct Main {
    static func main() {
        let headers = ["Cache-Control": "max-age=60"] as HeaderFields
        precondition(CacheControl(headers).maxAge == 60)
    }
}
