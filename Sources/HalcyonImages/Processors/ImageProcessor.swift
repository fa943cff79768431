import Foundation

infix operator |> : AdditionPrecedence

/// The input of a processor: the bytes of a file, or a picture.
public enum ImageProcessItem: Sendable {
    /// The bytes of a file, as loaded.
    case data(Data)
    /// A decoded picture.
    case image(Bitmap)

    /// Returns the picture. Decodes the bytes of a file.
    public func picture(decoder: ImageDecoder) throws -> Bitmap {
        switch self {
        case .data(let data): try decoder.decode(data)
        case .image(let image): image
        }
    }
}

/// A processor makes a picture from another picture, or from the bytes of a file.
///
/// ```swift
/// let thumbnail = DownsamplingImageProcessor(size: PixelSize(width: 200, height: 200)) |> RoundCornerImageProcessor(cornerRadius: 20)
/// let picture = try thumbnail.process(.data(file), decoder: ImageDecoder())
/// ```
///
/// The result depends on the item only. Processors are called on any thread, also concurrently.
///
/// Pictures of one pixel are accepted by all built-in processors. See
/// `ProcessorTests.identifierDiffersWithEveryParameter()` and `ProcessorTests.everyProcessorHandlesOnePixel()`.
public protocol ImageProcessor: Sendable {
    /// The identifier of the processor and its parameters. Two processors with the same identifier make equal results of equal items.
    /// It is part of the key under which a result is cached. It is empty only for a processor that changes nothing.
    var identifier: String { get }
    /// Returns the processed picture.
    ///
    /// - Throws: ``ImageError``, or an error of a custom processor.
    func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap
}

/// A processor of decoded pictures. The bytes of a file are decoded, in full size, before it is called.
public protocol BitmapProcessor: ImageProcessor {
    /// Returns the processed picture.
    func process(_ picture: Bitmap) throws -> Bitmap
}

extension BitmapProcessor {
    public func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
        try process(try item.picture(decoder: decoder))
    }
}

/// A processor that only decodes. Its identifier is empty, so its result is cached under the key of the original.
public struct DefaultImageProcessor: BitmapProcessor {
    public let identifier = ""
    /// The processor.
    public init() {}
    public func process(_ picture: Bitmap) -> Bitmap { picture }
}

/// A sequence of processors; made by `|>`.
///
/// See `ProcessorTests.processorsComposeInOrder()`.
public struct ProcessorChain: ImageProcessor {
    /// The processors in the order in which they run. Nested chains are flattened.
    public let processors: [any ImageProcessor]
    /// The identifiers of the processors, joined by `|>`. Empty identifiers are omitted.
    public let identifier: String

    init(_ first: any ImageProcessor, _ second: any ImageProcessor) {
        processors = [first, second].flatMap { ($0 as? ProcessorChain)?.processors ?? [$0] }
        identifier = processors.map(\.identifier).filter { !$0.isEmpty }.joined(separator: "|>")
    }

    public func process(_ item: ImageProcessItem, decoder: ImageDecoder) throws -> Bitmap {
        let last = try processors.reduce(item) { .image(try $1.process($0, decoder: decoder)) }
        return try last.picture(decoder: decoder)
    }
}

/// Returns the chain that runs the left processor, and then the right one on its result.
public func |> (left: any ImageProcessor, right: any ImageProcessor) -> ProcessorChain {
    ProcessorChain(left, right)
}
