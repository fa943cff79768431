import HalcyonImages

/// The processors of a load one by one, so that loads share the results of their first ones.
///
/// See `SharedStepTests`.
struct ProcessorSteps: Sendable {
    /// The processors in their order, without those that change nothing.
    private let all: [any ImageProcessor]
    /// The step that is given the bytes of a file: the first processor, or the decoding where that one takes pictures.
    let first: any ImageProcessor
    /// The processors after the first step.
    let rest: ArraySlice<any ImageProcessor>

    init(_ processor: any ImageProcessor) {
        self.init((processor as? ProcessorChain)?.processors ?? [processor])
    }

    private init(_ processors: [any ImageProcessor]) {
        all = processors.filter { !$0.identifier.isEmpty }
        switch all.first {
        case nil: (first, rest) = (processors.first ?? DefaultImageProcessor(), [])
        case is any BitmapProcessor: (first, rest) = (DefaultImageProcessor(), all[...])
        case let own?: (first, rest) = (own, all.dropFirst())
        }
    }

    /// Each way to divide the processors into first ones, by the identifier of their result, and others. That with the most first ones
    /// comes first. O(processors²).
    var divided: [(identifier: String, rest: ProcessorSteps)] {
        all.indices.dropFirst().reversed().map { count in
            let identifier = all[..<count].map(\.identifier).joined(separator: "|>")
            return (identifier, ProcessorSteps(Array(all[count...])))
        }
    }
}
