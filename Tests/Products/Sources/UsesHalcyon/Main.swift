import Foundation
import Halcyon

@main
struct Main {
    static func main() throws {
        _ = MemoryStorage<Data>()
    }
}
