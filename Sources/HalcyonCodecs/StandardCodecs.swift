import Foundation
import HalcyonImages

extension ImageCodecs {
    /// The registry of the built-in codecs: JPEG, PNG with APNG, WebP and GIF; made when it is first used. JPEG is written at a quality
    /// of 90, WebP without loss. What is registered here is used by all that are given no other registry.
    public static let standard = ImageCodecs(
        decoders: [
            StandardDecoder<JPEGImage>(), StandardDecoder<PNGImage>(), StandardDecoder<WebPImage>(),
            StandardDecoder<GIFImage>(),
        ],
        encoders: [ImageEncoder.png(), ImageEncoder.jpeg(quality: 90), ImageEncoder.webpLossless])
}

extension ImageDecoder {
    /// A decoder by the standard registry.
    public init(options: ImageDecodingOptions = ImageDecodingOptions()) {
        self.init(codecs: .standard, options: options)
    }

    /// A decoder by the standard registry that refuses pictures of more pixels (`ImageDecodingOptions.pixelLimit`).
    public init(pixelLimit: Int) {
        self.init()
        self.pixelLimit = pixelLimit
    }
}

/// The decoder of one of the built-in formats.
struct StandardDecoder<Image: CodedImage>: ImageDecoding {
    func format(of data: Data) -> ImageFormat? {
        // The signatures lie in the first twelve bytes.
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
        // Indices from 0, and bytes of its own for as long as the animation lives.
        try Image.animation(of: data.startIndex == 0 ? data : Data(data), options)
    }
}
