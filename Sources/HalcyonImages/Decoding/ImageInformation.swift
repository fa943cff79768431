/// What a file's header says.
public struct ImageInformation: Sendable, Hashable {
    /// What the signature says.
    public var format: ImageFormat
    /// As it is shown, after ``orientation``.
    public var size: PixelSize
    /// How the stored picture is turned to be shown; a decoded one has been turned.
    public var orientation: ImageOrientation
    /// Whether pixels can be transparent; a decoded picture tells whether any is.
    public var declaresAlpha: Bool

    /// What a decoder of one's own has read.
    public init(format: ImageFormat, size: PixelSize, orientation: ImageOrientation, declaresAlpha: Bool) {
        (self.format, self.size) = (format, size)
        (self.orientation, self.declaresAlpha) = (orientation, declaresAlpha)
    }
}
