import CImageCodecs
import Foundation
import HalcyonImages

/// A file whose header has been read: its properties, and the decoding of its pixels.
protocol CodedImage {
    /// Reads the header, and the structure as far as is necessary to detect a truncated file.
    init(_ bytes: ByteView) throws(ImageError)

    static var format: ImageFormat { get }
    /// The size as stored, before the orientation is applied.
    var size: PixelSize { get }
    var orientation: ImageOrientation { get }
    /// Whether the file can have transparent pixels.
    var declaresAlpha: Bool { get }
    /// The bytes of the embedded colour profile.
    func profile() -> [UInt8]?
    /// The colour space that a profile must have to be applied to the decoded pixels; `nil` if no profile can be applied.
    var profileSpace: ColorProfile.Space? { get }
    /// Returns the smallest size that the codec can scale to while it decodes and that covers `wanted` on both axes.
    func size(covering wanted: PixelSize) -> PixelSize
    /// Returns the memory that decoding at `size` takes, in pixels of 4 bytes: that of the picture or, if larger, of the codec's buffer.
    func allocatedPixels(at size: PixelSize) -> Int
    /// Returns the pixels in the stored orientation, and whether the file was complete.
    ///
    /// - Parameter size: the stored size, or a result of ``size(covering:)``.
    func pixels(at size: PixelSize, _ options: ImageDecodingOptions) throws(ImageError) -> (Bitmap, isComplete: Bool)
    /// Returns the frames of an animation; `nil` for a still picture. The indices of `data` begin at 0.
    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)?
}

extension CodedImage {
    func profile() -> [UInt8]? { nil }
    var profileSpace: ColorProfile.Space? { .rgb }
    func size(covering wanted: PixelSize) -> PixelSize { size }
    func allocatedPixels(at size: PixelSize) -> Int { size.pixelCount }

    /// Returns the pixels of a decoded picture, converted to sRGB if that is requested and possible, and the treatment of colours.
    func colors(of picture: Bitmap, _ options: ImageDecodingOptions) -> ([UInt8], Bitmap.Provenance.Colors) {
        guard let profile = profile() else { return (picture.pixels, .untagged) }
        guard let conversion = conversion(options, profile) else { return (picture.pixels, .kept) }
        guard !conversion.isIdentity else { return (picture.pixels, .sRGB) }
        return (conversion.applied(to: picture.pixels), .converted)
    }

    /// Returns the conversion of the pixels to sRGB; `nil` if it is not requested or not possible.
    func conversion(_ options: ImageDecodingOptions) -> ColorConversion? {
        profile().flatMap { conversion(options, $0) }
    }

    private func conversion(_ options: ImageDecodingOptions, _ profile: [UInt8]) -> ColorConversion? {
        guard options.colors == .convertedToSRGB, let profileSpace else { return nil }
        return ColorProfile(profile)?.conversion(of: profileSpace)
    }

    /// Throws the error of a codec's result.
    func check(_ result: codec_result) throws(ImageError) { try result.check(Self.format) }
}

extension codec_result {
    /// Throws the error of the result; returns if there is none.
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
    /// Returns a picture whose pixels are all transparent.
    static func transparent(_ size: PixelSize) -> Bitmap {
        Bitmap(size: size, pixels: [UInt8](repeating: 0, count: size.pixelCount * 4), isOpaque: false)
    }

    /// Returns the picture converted to sRGB.
    func converted(by conversion: ColorConversion?) -> Bitmap {
        guard let conversion, !conversion.isIdentity else { return self }
        return Bitmap(size: size, pixels: conversion.applied(to: pixels), isOpaque: isOpaque, provenance: provenance)
    }

    /// Returns the picture on a transparent canvas, with its top left corner at (`x`, `y`). It must lie inside the canvas. O(canvas).
    func placed(on canvas: PixelSize, x: Int, y: Int) -> Bitmap {
        guard canvas != size else { return self }
        var all = [UInt8](repeating: 0, count: canvas.pixelCount * 4)
        for row in 0..<height {
            let to = ((y + row) * canvas.width + x) * 4
            all.replaceSubrange(to..<to + width * 4, with: pixels[row * width * 4..<(row + 1) * width * 4])
        }
        return Bitmap(size: canvas, pixels: all, isOpaque: false)
    }
}
