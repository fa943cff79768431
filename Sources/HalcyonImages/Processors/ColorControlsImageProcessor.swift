/// Changes brightness, contrast, saturation and exposure.
///
/// On channels from 0 to 1, in sRGB's own scale, in this order, and limited to 0...1 once, at the end: each channel `c` becomes
/// `L + (c - L) * saturation` with the luma `L = 0.2126 r + 0.7152 g + 0.0722 b`, then `c + brightness`, then
/// `(c - 0.5) * contrast + 0.5`, then `c * 2^exposure`. Alpha stays.
public struct ColorControlsImageProcessor: BitmapProcessor {
    /// Added to each channel; 0 changes nothing.
    public let brightness: Double
    /// What the distance from the middle is multiplied by; 1 changes nothing.
    public let contrast: Double
    /// What the distance from grey is multiplied by; 1 changes nothing.
    public let saturation: Double
    /// In steps of a doubling.
    public let exposure: Double

    /// Changes nothing but what is said.
    public init(brightness: Double = 0, contrast: Double = 1, saturation: Double = 1, exposure: Double = 0) {
        (self.brightness, self.contrast) = (brightness, contrast)
        (self.saturation, self.exposure) = (saturation, exposure)
    }

    public var identifier: String { "halcyon.controls(\(brightness),\(contrast),\(saturation),\(exposure))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard [brightness, contrast, saturation, exposure].allSatisfy({ abs($0) <= 100 }) else {
            throw ImageError.invalidParameter(
                "Colour controls of \(brightness), \(contrast), \(saturation), \(exposure) are none; each is to be -100 to 100"
            )
        }
        return picture.mapped(
            by: ColorMatrix(brightness: brightness, contrast: contrast, saturation: saturation, exposure: exposure))
    }
}
