import Foundation
import HalcyonImages
import Synchronization

/// Makes images of what was loaded.
package struct ImageMaker: Sendable {
    package let processor: any ImageProcessor
    package let decoder: ImageDecoder

    /// What makes the same of the same has the same.
    package var identifier: String { "\(processor.identifier)#\(decoder.identifier)" }

    package func image(of data: Data) throws -> MadeImage {
        MadeImage(try processor.process(.data(data), decoder: decoder))
    }
}

/// An image that was made from loaded bytes. It is shared by all loads that waited for both. The first load claims work that must
/// be done once.
package final class MadeImage: Sendable {
    /// Something that is kept of a load.
    package struct Claim: Hashable {
        /// Where.
        package enum Tier { case memory, disk, original }

        package let cache: ObjectIdentifier
        package let key: String
        package let tier: Tier
    }

    package let image: Bitmap
    private let claims = Mutex<Set<Claim>>([])

    package init(_ image: Bitmap) { self.image = image }

    /// Whether this is the first to claim it.
    package func claim(_ claim: Claim) -> Bool { claims.withLock { $0.insert(claim).inserted } }
}
