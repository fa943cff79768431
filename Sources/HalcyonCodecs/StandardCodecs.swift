import Foundation
import HalcyonImages
import HalcyonPortableCodecs

extension ImageCodecs {
    /// The registry of the built-in codecs: JPEG, PNG with APNG, WebP and GIF. It is created on first use.
    ///
    /// JPEG is written with a quality of 90, and WebP losslessly. This is the default registry of decoders and serializers, so a codec
    /// that is registered here applies to all of them.
    public static let standard = ImageCodecs(
        decoders: PlatformCodecs.decoders,
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
