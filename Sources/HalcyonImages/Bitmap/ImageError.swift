/// Why there is no picture.
public enum ImageError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The bytes are the start of no known format.
    case unknownFormat
    /// The file ends before its picture does.
    case truncated(ImageFormat)
    /// The file breaks its format's rules; the reason in the decoder's words.
    case damaged(ImageFormat, reason: String)
    /// The format allows what is not supported here.
    case unsupported(ImageFormat, feature: String)
    /// The picture has more pixels than may be decoded.
    case tooManyPixels(PixelSize, limit: Int)
    /// There is no memory for the picture.
    case outOfMemory
    /// A processor would have to make a picture without pixels, or of too many: sides are 1 to 1,000,000, pixels at most 2^28.
    case invalidSize(PixelSize)
    /// A parameter of a processor or encoder is outside of its range.
    case invalidParameter(String)
    /// The encoder cannot write this picture.
    case cannotEncode(ImageFormat, reason: String)

    /// One sentence that says what is wrong and what would be accepted.
    public var description: String {
        switch self {
        case .unknownFormat: "The bytes are no image of a registered format; JPEG, PNG, WebP and GIF are built in."
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
