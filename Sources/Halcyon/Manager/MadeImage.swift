import Foundation
import Synchronization

/// Makes images of what was loaded.
struct ImageMaker: Sendable {
    let processor: any ImageProcessor
    let decoder: ImageDecoder

    /// What makes the same of the same has the same.
    var identifier: String { "\(processor.identifier)#\(decoder.identifier)" }

    func image(of data: Data) throws -> MadeImage { MadeImage(try processor.process(.data(data), decoder: decoder)) }
}

/// An image that was made of what was loaded, shared by all who waited for both. What has to be done for it once is claimed by
/// whoever comes first.
final class MadeImage: Sendable {
    /// Something that is kept of a load.
    struct Claim: Hashable {
        /// Where.
        enum Tier { case memory, disk, original }

        let cache: ObjectIdentifier
        let key: String
        let tier: Tier
    }

    let image: Bitmap
    private let claims = Mutex<Set<Claim>>([])

    init(_ image: Bitmap) { self.image = image }

    /// Whether this is the first to claim it.
    func claim(_ claim: Claim) -> Bool { claims.withLock { $0.insert(claim).inserted } }
}
