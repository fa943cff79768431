import HalcyonImages

/// The size of a picture that ImageIO scales while it decodes. ImageIO takes the longest side alone.
struct ThumbnailSize: Equatable {
    /// The longest side, in pixels.
    let longestSide: Int
    /// Both sides, in pixels. Fractions are rounded up.
    let size: PixelSize

    /// Computes the smallest thumbnail that covers `wanted` on both axes, also if ImageIO rounds the other side down.
    ///
    /// - Parameter picture: the size of the picture in its display orientation.
    /// - Returns: `nil` if no thumbnail smaller than the picture covers `wanted`.
    init?(of picture: PixelSize, covering wanted: PixelSize) {
        guard wanted.width < picture.width, wanted.height < picture.height else { return nil }
        let longest = max(picture.width, picture.height)
        // The longest side at the scale of each axis, rounded up.
        let byWidth = Self.quotient(max(wanted.width, 1), longest, picture.width)
        let byHeight = Self.quotient(max(wanted.height, 1), longest, picture.height)
        longestSide = max(byWidth, byHeight)
        guard longestSide < longest else { return nil }
        size = PixelSize(
            width: Self.quotient(picture.width, longestSide, longest),
            height: Self.quotient(picture.height, longestSide, longest))
    }

    /// Returns the memory that ImageIO is assumed to take, in pixels of 4 bytes. A JPEG takes that of the thumbnail,
    /// because its codec scales while it decodes. Other formats are assumed to take that of the stored picture.
    func allocatedPixels(_ format: ImageFormat, stored: PixelSize) -> Int {
        format == .jpeg ? size.pixelCount : max(size.pixelCount, stored.pixelCount)
    }

    /// Returns `one * other / divisor`, rounded up. Sides have at most 32 bits.
    private static func quotient(_ one: Int, _ other: Int, _ divisor: Int) -> Int {
        (one * other + divisor - 1) / divisor
    }
}
