/// Scales a picture to a size, up or down.
public struct ResizingImageProcessor: BitmapProcessor {
    /// What is asked for.
    public let size: PixelSize
    /// What becomes of the proportions.
    public let mode: ContentMode
    /// How pixels are weighed.
    public let filter: ResamplingFilter

    /// To a size, by default without regard to proportions.
    public init(size: PixelSize, mode: ContentMode = .none, filter: ResamplingFilter = .bicubic) {
        (self.size, self.mode, self.filter) = (size, mode, filter)
    }

    public var identifier: String { "halcyon.resize(\(size),\(mode.rawValue),\(filter.rawValue))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        try size.checkPossible()
        return try picture.resampled(to: picture.size.scaled(into: size, mode), filter)
    }
}
