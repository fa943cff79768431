import Foundation

/// An image file format, identified by its name. ``ImageCodecs`` has its decoders and encoders.
public struct ImageFormat: Sendable, Hashable, CustomStringConvertible {
    /// The usual name, as in `JPEG`.
    public let name: String
    /// The usual file name extension, without a dot.
    public let fileExtension: String
    /// Whether pixels can be transparent.
    public let holdsAlpha: Bool

    /// Creates a format of a custom decoder or encoder.
    public init(name: String, fileExtension: String, holdsAlpha: Bool) {
        (self.name, self.fileExtension, self.holdsAlpha) = (name, fileExtension, holdsAlpha)
    }

    /// Lossy, without alpha (ISO/IEC 10918).
    public static let jpeg = ImageFormat(name: "JPEG", fileExtension: "jpg", holdsAlpha: false)
    /// Lossless (W3C).
    public static let png = ImageFormat(name: "PNG", fileExtension: "png", holdsAlpha: true)
    /// Lossy or lossless (RFC 9649).
    public static let webp = ImageFormat(name: "WebP", fileExtension: "webp", holdsAlpha: true)
    /// With a palette (GIF89a). It is read, but not written.
    public static let gif = ImageFormat(name: "GIF", fileExtension: "gif", holdsAlpha: true)
    /// Lossy or lossless (AV1 Image File Format). ImageIO reads it on Apple's platforms (type-checked, never
    /// run), and the product `HalcyonAVIF` on Linux.
    public static let avif = ImageFormat(name: "AVIF", fileExtension: "avif", holdsAlpha: true)

    // Formats that are recognised. On Linux they have no decoder unless an app registers one. ImageIO reads the next
    // three (type-checked, never run).

    /// The pictures of many phones (ISO/IEC 23008-12, HEVC).
    public static let heic = ImageFormat(name: "HEIC", fileExtension: "heic", holdsAlpha: true)
    /// Icons, in several sizes.
    public static let ico = ImageFormat(name: "ICO", fileExtension: "ico", holdsAlpha: true)
    /// Lossy or lossless (ISO/IEC 18181).
    public static let jpegXL = ImageFormat(name: "JPEG XL", fileExtension: "jxl", holdsAlpha: true)
    /// A film (ISO/IEC 14496-12), also QuickTime.
    public static let mp4 = ImageFormat(name: "MP4", fileExtension: "mp4", holdsAlpha: false)
    /// A drawing in XML (W3C).
    public static let svg = ImageFormat(name: "SVG", fileExtension: "svg", holdsAlpha: true)

    /// Recognises a format by the start of some bytes; `nil` for other formats. Of the constants above, only JPEG,
    /// PNG, WebP and GIF have built-in decoders on Linux. O(1): at most 1,024 bytes are read.
    ///
    /// See `DecodingTests.knownFormatsWithoutDecoderAreNamed()`.
    public init?(of data: Data) {
        let format = data.prefix(1_024).withUnsafeBytes { Self.detect(ByteView($0)) ?? Self.recognized(ByteView($0)) }
        guard let format else { return nil }
        self = format
    }

    /// Returns the built-in format of some bytes, from the first 12 of them.
    package static func detect(_ bytes: ByteView) -> ImageFormat? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if bytes.starts(with: "RIFF".utf8), bytes.holds("WEBP".utf8, at: 8) { return .webp }
        if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) { return .gif }
        return nil
    }

    /// Returns the format of some bytes that is not built in.
    private static func recognized(_ bytes: ByteView) -> ImageFormat? {
        if bytes.holds("ftyp".utf8, at: 4) { return ofBrands(bytes) }
        if bytes.starts(with: [0, 0, 1, 0]), bytes.little(4, 2) ?? 0 > 0 { return .ico }
        if bytes.starts(with: [0xFF, 0x0A]) || bytes.starts(with: [0, 0, 0, 0x0C, 0x4A, 0x58, 0x4C, 0x20, 0x0D, 0x0A]) {
            return .jpegXL
        }
        return isSVG(bytes) ? .svg : nil
    }

    /// Returns the format that the first box of an ISO base media file names: its brand and the compatible ones behind it.
    private static func ofBrands(_ bytes: ByteView) -> ImageFormat? {
        let end = min(bytes.big(0, 4) ?? 0, 256)
        let brands = [8] + stride(from: 16, to: max(end - 3, 16), by: 4)
        func hasBrand(_ names: String...) -> Bool {
            brands.contains { place in names.contains { bytes.holds($0.utf8, at: place) } }
        }
        if hasBrand("avif", "avis") { return .avif }
        if hasBrand("heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1") { return .heic }
        return hasBrand("iso", "mp4", "avc1", "M4V", "qt  ", "dash") ? .mp4 : nil
    }

    /// Whether the bytes begin as XML whose first element is `svg`.
    private static func isSVG(_ bytes: ByteView) -> Bool {
        var text = String(decoding: bytes.bytes, as: UTF8.self).drop { $0.isWhitespace || $0 == "\u{FEFF}" }
        while text.hasPrefix("<?") || text.hasPrefix("<!") {
            let mark = text.hasPrefix("<!--") ? "-->" : ">"
            guard let end = text.range(of: mark) else { return false }
            text = text[end.upperBound...].drop { $0.isWhitespace }
        }
        return text.hasPrefix("<svg")
    }

    public static func == (one: ImageFormat, other: ImageFormat) -> Bool { one.name == other.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The name.
    public var description: String { name }
}
