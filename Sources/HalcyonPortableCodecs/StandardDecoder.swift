import Foundation
import HalcyonImages

/// The decoder of one of the built-in formats.
struct StandardDecoder<Image: CodedImage>: ImageDecoding {
    func format(of data: Data) -> ImageFormat? {
        // The signatures are within the first twelve bytes.
        data.prefix(16).withUnsafeBytes { ImageFormat.detect(ByteView($0)) } == Image.format ? Image.format : nil
    }

    func information(of data: Data) throws -> ImageInformation {
        try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            let image = try Image(ByteView(bytes))
            return ImageInformation(
                format: Image.format, size: image.orientation.isTransposed ? image.size.transposed : image.size,
                orientation: image.orientation, declaresAlpha: image.declaresAlpha)
        }
    }

    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap {
        try data.withUnsafeBytes { (bytes: UnsafeRawBufferPointer) throws in
            let image = try Image(ByteView(bytes))
            var size = image.size
            if let wanted = options.covering {
                size = image.size(covering: image.orientation.isTransposed ? wanted.transposed : wanted)
            }
            try options.check(stored: image.size, allocated: image.allocatedPixels(at: size))
            let (picture, isComplete) = try image.pixels(at: size, options)
            let (pixels, colors) = image.colors(of: picture, options)
            var result = Bitmap(size: size, pixels: pixels, isOpaque: picture.isOpaque)
            result.provenance = Bitmap.Provenance(
                format: Image.format, isUnaltered: size == image.size, isComplete: isComplete, colors: colors)
            return image.orientation.applied(to: result)
        }
    }

    func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
        // A copy has indices from 0, and stays valid as long as the animation.
        try Image.animation(of: data.startIndex == 0 ? data : Data(data), options)
    }
}
