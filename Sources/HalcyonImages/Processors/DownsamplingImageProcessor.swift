/// Makes a picture smaller, so that it fits into a size, in the cheapest way: bytes are decoded at a smaller scale already where their
/// format can do that, so that neither time nor memory is spent on pixels that nobody sees.
///
/// Proportions are kept, and nothing is made larger. The rest of the way from the codec's scale is a ``ResamplingFilter/bicubic``.
public struct DownsamplingImageProcessor: ImageProcessor {
    /// What the picture is to fit into.
    public let size: PixelSize

    /// Into this size, in pixels as shown.
    public init(size: PixelSize) { self.size = size }

    public var identifier: String { "halcyon.downsample(\(size))" }

    public func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
        try size.checkPossible()
        switch item {
        case .image(let picture): return try shrink(picture, to: target(picture.size))
        case .data(let data):
            let whole = try decoder.information(of: data).size
            let target = target(whole)
            return try shrink(try decoder.decode(data, covering: target), to: target)
        }
    }

    private func target(_ whole: PixelSize) -> PixelSize {
        whole.width <= size.width && whole.height <= size.height ? whole : whole.scaled(into: size, .fit)
    }

    private func shrink(_ picture: Bitmap, to target: PixelSize) throws -> Bitmap {
        try picture.resampled(to: target, .bicubic)
    }
}
