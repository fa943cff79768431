import Foundation
import HalcyonCache
import HalcyonImages

/// An image, and where it came from.
public struct ImageResult: Sendable {
    /// The image, processed.
    public var image: Bitmap
    /// Where it was found; `CacheType.none` for what was loaded, or made of a kept original.
    public var cacheType: CacheType
    /// Whether it was made of an original that was kept, without a load.
    public var isFromOriginal = false
    /// What it came from: the resource's source, or an alternative one.
    public var source: Source
    /// The bytes that it was made of, if they were asked for and are known.
    public var originalData: Data?
}
