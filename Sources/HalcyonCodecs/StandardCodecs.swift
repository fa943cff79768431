import Foundation
import HalcyonImages

// The codecs of the platform: see Package.swift.
#if HALCYON_APPLE
    import HalcyonImageIO
#else
    import HalcyonPortableCodecs
#endif

extension ImageCodecs {
    /// The registry of the built-in codecs. It is created on first use.
    ///
    /// On Linux it decodes JPEG, PNG with APNG, WebP and GIF. On Apple's platforms it decodes these with ImageIO, and
    /// HEIC, AVIF, ICO and JPEG XL if the system does; that part was type-checked, never run.
    ///
    /// JPEG is written with a quality of 90, and WebP losslessly. Apple's systems do not write WebP, so that PNG
    /// replaces it there, and HEIC is written with a quality of 90 if the system does (type-checked, never run).
    ///
    /// This is the default registry of decoders and serializers, so a codec that is registered here applies to all of
    /// them.
    public static let standard = ImageCodecs(
        decoders: PlatformCodecs.decoders,
        encoders: [ImageEncoder.png(), ImageEncoder.jpeg(quality: 90), ImageEncoder.webpLossless]
            + PlatformCodecs.furtherEncoders)
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
