import CImageCodecs

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
    /// Throws unless the file is there to its end.
    func checkComplete() throws(ImageError)
    /// The size at which the codec can give pixels cheaply, the smallest that covers `wanted` on both axes.
    func size(covering wanted: PixelSize) -> PixelSize
    /// The pixels at `size` (the stored one, or what ``size(covering:)`` gave), not turned.
    func pixels(at size: PixelSize) throws(ImageError) -> Bitmap
}

extension CodedImage {
    func size(covering wanted: PixelSize) -> PixelSize { size }

    /// Throws what a codec's result means.
    func check(_ result: codec_result) throws(ImageError) {
        let message = withUnsafeBytes(of: result.message) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        switch result.status {
        case codec_ok: return
        case codec_truncated: throw .truncated(Self.format)
        case codec_unsupported: throw .unsupported(Self.format, feature: message)
        case codec_out_of_memory: throw .outOfMemory
        default: throw .damaged(Self.format, reason: message)
        }
    }
}
