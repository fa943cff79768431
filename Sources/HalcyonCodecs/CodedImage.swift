import CImageCodecs
import Foundation
import HalcyonImages

/// A file whose header was read: what it says of itself, and how its pixels are got.
protocol CodedImage {
    /// Reads the header, and as much of the structure as tells whether the file is whole.
    init(_ bytes: ByteView) throws(ImageError)

    static var format: ImageFormat { get }
    /// As stored, before it is turned.
    var size: PixelSize { get }
    var orientation: ImageOrientation { get }
    /// Whether the file can have transparent pixels.
    var declaresAlpha: Bool { get }
    /// The bytes of the embedded colour profile.
    func profile() -> [UInt8]?
    /// The colour space that a profile must have to be applied to the pixels as they are decoded; `nil`: none can be.
    var profileSpace: ColorProfile.Space? { get }
    /// The size at which the codec can give pixels cheaply, the smallest that covers `wanted` on both axes.
    func size(covering wanted: PixelSize) -> PixelSize
    /// The pixels of memory, 4 bytes each, that decoding at `size` takes: those of the picture, or the codec's buffer if that is larger.
    func allocatedPixels(at size: PixelSize) -> Int
    /// The pixels at `size` (the stored one, or what ``size(covering:)`` gave), not turned, and whether the file was there to its end.
    func pixels(at size: PixelSize, _ options: ImageDecodingOptions) throws(ImageError) -> (Bitmap, isComplete: Bool)
    /// The frames of an animation; `nil` for a still picture. The data's indices begin at 0.
    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)?
}

extension CodedImage {
    func profile() -> [UInt8]? { nil }
    var profileSpace: ColorProfile.Space? { .rgb }
    func size(covering wanted: PixelSize) -> PixelSize { size }
    func allocatedPixels(at size: PixelSize) -> Int { size.pixelCount }

    /// The pixels of a decoded picture in sRGB, as far as that is wanted and possible, and what was done.
    func colors(of picture: Bitmap, _ options: ImageDecodingOptions) -> ([UInt8], Bitmap.Provenance.Colors) {
        guard let profile = profile() else { return (picture.pixels, .untagged) }
        guard let conversion = conversion(options, profile) else { return (picture.pixels, .kept) }
        guard !conversion.isIdentity else { return (picture.pixels, .sRGB) }
        return (conversion.applied(to: picture.pixels), .converted)
    }

    /// The conversion of the pixels to sRGB, as far as that is wanted and possible.
    func conversion(_ options: ImageDecodingOptions) -> ColorConversion? {
        profile().flatMap { conversion(options, $0) }
    }

    private func conversion(_ options: ImageDecodingOptions, _ profile: [UInt8]) -> ColorConversion? {
        guard options.colors == .convertedToSRGB, let profileSpace else { return nil }
        return ColorProfile(profile)?.conversion(of: profileSpace)
    }

    /// Throws what a codec's result means.
    func check(_ result: codec_result) throws(ImageError) { try result.check(Self.format) }
}

extension codec_result {
    /// Throws what a codec's result means.
    func check(_ format: ImageFormat) throws(ImageError) {
        let text = withUnsafeBytes(of: message) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        switch status {
        case codec_ok: return
        case codec_truncated, codec_partial: throw .truncated(format)
        case codec_unsupported: throw .unsupported(format, feature: text)
        case codec_out_of_memory: throw .outOfMemory
        default: throw .damaged(format, reason: text)
        }
    }
}

extension Bitmap {
    /// The picture in sRGB.
    func converted(by conversion: ColorConversion?) -> Bitmap {
        guard let conversion, !conversion.isIdentity else { return self }
        return Bitmap(size: size, pixels: conversion.applied(to: pixels), isOpaque: isOpaque, provenance: provenance)
    }
}
