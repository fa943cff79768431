infix operator |> : AdditionPrecedence

/// Processors one after another; made by `|>`.
public struct ProcessorChain: ImageProcessor {
    /// In the order in which they run, chains among them opened.
    public let processors: [any ImageProcessor]
    /// Their identifiers, joined by `|>`; empty ones are left out.
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

/// First the left processor, then the right one with its result.
public func |> (left: any ImageProcessor, right: any ImageProcessor) -> ProcessorChain {
    ProcessorChain(left, right)
}
