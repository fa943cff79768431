/// The contents of a file's header.
public struct ImageInformation: Sendable, Hashable {
    /// The format, by the signature.
    public var format: ImageFormat
    /// The size of the picture as shown, after ``orientation``.
    public var size: PixelSize
    /// The orientation of the stored picture. Decoding applies it.
    public var orientation: ImageOrientation
    /// Whether pixels can be transparent. ``Bitmap/isOpaque`` of the decoded picture says whether any is.
    public var declaresAlpha: Bool

    /// Creates the information of a custom decoder.
    public init(format: ImageFormat, size: PixelSize, orientation: ImageOrientation, declaresAlpha: Bool) {
        (self.format, self.size) = (format, size)
        (self.orientation, self.declaresAlpha) = (orientation, declaresAlpha)
    }
}
