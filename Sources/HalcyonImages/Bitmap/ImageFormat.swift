import Foundation

/// The formats of files.
public enum ImageFormat: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// Lossy, without alpha (ISO/IEC 10918).
    case jpeg = "JPEG"
    /// Lossless (W3C).
    case png = "PNG"
    /// Lossy or lossless (RFC 9649).
    case webp = "WebP"
    /// A palette; read, not written (GIF89a).
    case gif = "GIF"

    /// The format whose signature some bytes begin with; `nil` if with none. O(1).
    public init?(of data: Data) {
        guard let format = data.withUnsafeBytes({ Self.detect(ByteView($0)) }) else { return nil }
        self = format
    }

    static func detect(_ bytes: ByteView) -> ImageFormat? {
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if bytes.starts(with: "RIFF".utf8), bytes.holds("WEBP".utf8, at: 8) { return .webp }
        if bytes.starts(with: "GIF87a".utf8) || bytes.starts(with: "GIF89a".utf8) { return .gif }
        return nil
    }

    /// The usual extension of a file's name.
    public var fileExtension: String {
        switch self {
        case .jpeg: "jpg"
        case .png: "png"
        case .webp: "webp"
        case .gif: "gif"
        }
    }

    /// Whether its pixels can be transparent.
    public var holdsAlpha: Bool { self != .jpeg }

    /// The longest side that can be written, in pixels; the codecs' limits.
    package var longestSide: Int {
        switch self {
        case .jpeg: 65_500
        case .webp: 16_383
        case .png, .gif: 1_000_000
        }
    }

    /// Its name.
    public var description: String { rawValue }
}
