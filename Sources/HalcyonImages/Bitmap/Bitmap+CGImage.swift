/// Alpha as Core Graphics draws it.
enum PremultipliedAlpha {
    /// Returns pixels with straight alpha for premultiplied RGBA pixels. O(pixels). Colours of pixels with an alpha of
    /// 0 become 0.
    static func straight(_ premultiplied: [UInt8]) -> [UInt8] {
        var pixels = premultiplied
        for at in stride(from: 0, to: pixels.count - 3, by: 4) {
            let alpha = Int(pixels[at + 3])
            if alpha == 255 { continue }
            for channel in at..<at + 3 {
                pixels[channel] = alpha == 0 ? 0 : UInt8(min((Int(pixels[channel]) * 255 + alpha / 2) / alpha, 255))
            }
        }
        return pixels
    }
}

#if canImport(CoreGraphics)
    import CoreGraphics
    import Foundation

    /// The conversions from and to images of Core Graphics. They were type-checked, never run.
    extension Bitmap {
        /// The picture as an image of Core Graphics, in sRGB; `nil` if the system cannot make one. O(pixels): the
        /// pixels are copied.
        public var cgImage: CGImage? {
            guard let provider = CGDataProvider(data: Data(pixels) as CFData),
                let space = CGColorSpace(name: CGColorSpace.sRGB)
            else { return nil }
            let alpha = isOpaque ? CGImageAlphaInfo.noneSkipLast : .last
            return CGImage(
                width: width, height: height, bitsPerComponent: 8, bitsPerPixel: 32, bytesPerRow: width * 4,
                space: space, bitmapInfo: CGBitmapInfo(rawValue: alpha.rawValue), provider: provider, decode: nil,
                shouldInterpolate: true, intent: .defaultIntent)
        }

        /// Creates a picture of an image of Core Graphics, converted to sRGB. O(pixels).
        ///
        /// - Returns: `nil` if the system cannot draw the image.
        public init?(_ image: CGImage) {
            guard let space = CGColorSpace(name: CGColorSpace.sRGB) else { return nil }
            self.init(image, in: space)
        }

        /// Creates a picture of an image of Core Graphics, with the values that it has in an RGB colour space.
        /// O(pixels).
        ///
        /// - Returns: `nil` if the system cannot draw the image.
        package init?(_ image: CGImage, in space: CGColorSpace) {
            let (width, height) = (image.width, image.height)
            var pixels = [UInt8](repeating: 0, count: width * height * 4)
            let isDrawn = pixels.withUnsafeMutableBytes { bytes in
                guard
                    let context = CGContext(
                        data: bytes.baseAddress, width: width, height: height, bitsPerComponent: 8,
                        bytesPerRow: width * 4, space: space, bitmapInfo: CGImageAlphaInfo.premultipliedLast.rawValue)
                else { return false }
                context.draw(image, in: CGRect(x: 0, y: 0, width: width, height: height))
                return true
            }
            guard isDrawn else { return nil }
            self.init(width: width, height: height, pixels: PremultipliedAlpha.straight(pixels))
        }
    }
#endif
