/// An error of decoding, processing or encoding.
///
/// See `RefusalTests.filesFoundByFuzzingAreRefused()` and `RefusalTests.jpegWithTooManyScansIsRefused()`.
public enum ImageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No registered decoder recognises the bytes.
    case unknownFormat
    /// The format is known, but no decoder of it is registered.
    case noDecoder(ImageFormat)
    /// The file ends before its picture is complete.
    case truncated(ImageFormat)
    /// The file violates its format. The reason is the decoder's message.
    case damaged(ImageFormat, reason: String)
    /// The file uses a feature of its format that is not supported.
    case unsupported(ImageFormat, feature: String)
    /// The picture has more pixels than the limit.
    case tooManyPixels(PixelSize, limit: Int)
    /// Allocating memory for the picture failed.
    case outOfMemory
    /// A processor cannot make a picture of this size. Sides are 1 to 1,000,000, and at most 2^28 pixels are allowed.
    case invalidSize(PixelSize)
    /// A parameter of a processor or encoder is out of range.
    case invalidParameter(String)
    /// The encoder cannot write this picture.
    case cannotEncode(ImageFormat, reason: String)

    // The formats of the standard registry; see Package.swift.
    #if HALCYON_APPLE
        private static let builtIn = "JPEG, PNG, WebP, GIF and, if the system reads them, HEIC, AVIF, ICO and JPEG XL"
    #else
        private static let builtIn = "JPEG, PNG, WebP and GIF"
    #endif

    /// One sentence that names the problem and the accepted values.
    public var description: String {
        switch self {
        case .unknownFormat: "The bytes are no image of a registered format; \(Self.builtIn) are built in."
        case .noDecoder(let format):
            "The file is \(format), of which no decoder is registered; \(Self.builtIn) are built in."
        case .truncated(let format):
            "The \(format) file ends before its picture does; it may not have been loaded whole."
        case .damaged(let format, let reason): "The \(format) file is damaged: \(reason)."
        case .unsupported(let format, let feature): "The \(format) file has \(feature), which is not supported."
        case .tooManyPixels(let size, let limit):
            "The picture has \(size) pixels; at most \(limit) may be decoded at this scale."
        case .outOfMemory: "There is no memory for the picture."
        case .invalidSize(let size):
            "A picture of \(size) pixels cannot be made: sides are to be 1 to 1,000,000, and 268,435,456 pixels are the most."
        case .invalidParameter(let text): "\(text)."
        case .cannotEncode(let format, let reason): "The picture cannot be written as \(format): \(reason)."
        }
    }
}
