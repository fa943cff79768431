import Foundation
import HalcyonImages

extension ImageCodecs {
    /// The registry of the built-in codecs: JPEG, PNG with APNG, WebP and GIF. It is created on first use.
    ///
    /// JPEG is written with a quality of 90, and WebP losslessly. This is the default registry of decoders and serializers, so a codec
    /// that is registered here applies to all of them.
    public static let standard = ImageCodecs(
        decoders: [
            StandardDecoder<JPEGImage>(), StandardDecoder<PNGImage>(), StandardDecoder<WebPImage>(),
            StandardDecoder<GIFImage>(),
        ],
        encoders: [ImageEncoder.png(), ImageEncoder.jpeg(quality: 90), ImageEncoder.webpLossless])
}

extension ImageDecoder {
    /// Creates a decoder with the standard registry.
    public init(options: ImageDecodingOptions = ImageDecodingOptions()) {
        self.init(codecs: .standard, options: options)
    }

    /// Creates a decoder with the standard registry and a limit of pixels (`ImageDecodingOptions.pixelLimit`).
    public init(pixelLimit: Int) {
        self.init()
        self.pixelLimit = pixelLimit
    }
}

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
