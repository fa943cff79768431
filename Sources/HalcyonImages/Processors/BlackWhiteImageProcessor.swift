/// Takes the colour out and brightens, as Kingfisher does: ``ColorControlsImageProcessor`` with no saturation and an exposure of 0.7.
public struct BlackWhiteImageProcessor: BitmapProcessor {
    public let identifier = "halcyon.blackwhite"

    /// The processor.
    public init() {}

    public func process(_ picture: Bitmap) throws -> Bitmap {
        try ColorControlsImageProcessor(saturation: 0, exposure: 0.7).process(picture)
    }
}
