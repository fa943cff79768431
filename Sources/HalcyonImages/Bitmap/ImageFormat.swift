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
    /// Lossy or lossless (AV1 Image File Format). The product `HalcyonAVIF` reads it.
    public static let avif = ImageFormat(name: "AVIF", fileExtension: "avif", holdsAlpha: true)

    /// Detects JPEG, PNG, WebP or GIF by the signature at the start of some bytes; `nil` for other formats. O(1).
    public init?(of data: Data) {
        guard let format = data.withUnsafeBytes({ Self.detect(ByteView($0)) }) else { return nil }
        self = format
    }

    package static func detect(_ bytes: ByteView) -> ImageFormat? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if bytes.starts(with: "RIFF".utf8), bytes.holds("WEBP".utf8, at: 8) { return .webp }
        if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) { return .gif }
        return nil
    }

    public static func == (one: ImageFormat, other: ImageFormat) -> Bool { one.name == other.name }
    public func hash(into hasher: inout Hasher) { hasher.combine(name) }

    /// The name.
    public var description: String { name }
}
