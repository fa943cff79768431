/// Scales a picture to a size, up or down.
public struct ResizingImageProcessor: BitmapProcessor {
    public let size: PixelSize
    public let mode: ContentMode
    public let filter: ResamplingFilter

    public init(size: PixelSize, mode: ContentMode = .none, filter: ResamplingFilter = .bicubic) {
        (self.size, self.mode, self.filter) = (size, mode, filter)
    }

    public var identifier: String { "halcyon.resize(\(size),\(mode.rawValue),\(filter.rawValue))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        try size.checkPossible()
        return try picture.resampled(to: picture.size.scaled(into: size, mode), filter)
    }
}
