import Foundation
import HalcyonCache
import HalcyonCodecs
import HalcyonImages

/// Keeps pictures on disk as the very bytes that they were made of, and what a processor has made in the format that the original
/// came in, or in one of one's own choice.
///
/// ```swift
/// let cache = ImageCache<Bitmap>(disk: DiskStorageConfig(name: "photos"), serializer: BitmapSerializer(format: .always(ImageEncoder.png())))
/// ```
///
/// The original bytes are kept only for a picture that still shows them: what a processor has made is always encoded anew, also
/// when the original is handed in with it, so that a variant's key never gets the original's picture. A picture of a truncated file
/// (`Bitmap.Provenance.isComplete`) is not kept at all.
public struct BitmapSerializer: CacheSerializer {
    /// Which format pictures are kept in.
    public enum Format: Sendable {
        /// The one that they came in, by the first encoder of the decoder's registry: JPEG at a quality of 90, WebP without loss; PNG
        /// where that is GIF or unknown, and in place of JPEG where a processor made something transparent.
        case asOriginal
        /// Always this one.
        case always(any ImageEncoding)
    }

    /// Which format pictures are kept in that are encoded.
    public var format: Format
    /// Whether a picture that no processor has changed is kept as the bytes that it was made of.
    public var prefersOriginal: Bool
    /// Reads what is on disk; its registry has the encoders.
    public var decoder: ImageDecoder

    /// A serializer.
    ///
    /// - Parameter prefersOriginal: by default `true` for ``Format/asOriginal`` and `false` for ``Format/always(_:)``.
    public init(format: Format = .asOriginal, prefersOriginal: Bool? = nil, decoder: ImageDecoder) {
        self.format = format
        self.prefersOriginal =
            prefersOriginal ?? { if case .asOriginal = format { true } else { false } }()
        self.decoder = decoder
    }

    public var keepsOriginalData: Bool { prefersOriginal }

    public func data(with value: Bitmap, original: Data?) -> Data? {
        guard value.provenance?.isComplete != false else { return nil }
        if prefersOriginal, value.provenance?.isUnaltered == true, let original,
            decoder.codecs.decoder(of: original)?.format == value.provenance?.format
        {
            return original
        }
        return try? encoder(for: value, original: original)?.encode(value)
    }

    /// The picture of a file. At most as many threads decode at a time as there are processors; others wait.
    public func value(with data: Data) -> Bitmap? { try? DecodingGate.shared.run { try decoder.decode(data) } }

    private func encoder(for value: Bitmap, original: Data?) -> (any ImageEncoding)? {
        if case .always(let encoder) = format { return encoder }
        let codecs = decoder.codecs
        return codecs.encoder(
            of: value.provenance?.format ?? original.flatMap { codecs.decoder(of: $0)?.format }, for: value)
    }
}

/// Bounds the threads that decode for a cache at the same time. Serializers are called on the cache's own threads, which may wait;
/// asynchronous loads take their turns before they get here.
final class DecodingGate: Sendable {
    static let shared = DecodingGate(ProcessInfo.processInfo.activeProcessorCount)

    private let turns: DispatchSemaphore

    init(_ limit: Int) { turns = DispatchSemaphore(value: max(1, limit)) }

    func run<Value>(_ work: () throws -> Value) rethrows -> Value {
        turns.wait()
        defer { turns.signal() }
        return try work()
    }
}

extension Bitmap: CacheCostCalculable {
    /// The bytes of the pixels.
    public var cacheCost: Int { pixels.count }
}
