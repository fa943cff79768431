import Foundation
import Synchronization

/// A decoder of one or several file formats. It is registered with ``ImageCodecs``.
///
/// It is called on any thread, also concurrently. An error that it throws is the error of the load.
public protocol ImageDecoding: Sendable {
    /// Returns the format of a file; `nil` if this decoder does not read it.
    ///
    /// It must examine only the first bytes, because a registry calls it for every file.
    func format(of data: Data) -> ImageFormat?
    /// Returns the contents of the header without decoding pixels. The file may end after its header.
    func information(of data: Data) throws -> ImageInformation
    /// Returns the picture in its display orientation; of an animation the first frame.
    ///
    /// Before it allocates memory for pixels, the decoder calls ``ImageDecodingOptions/check(stored:allocated:)``.
    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap
    /// Returns the frames of an animation; `nil` for a still picture. The default implementation returns `nil`.
    func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)?
}

extension ImageDecoding {
    public func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? { nil }
}

/// An encoder of one file format. It is registered with ``ImageCodecs``, and is called on any thread, also concurrently.
public protocol ImageEncoding: Sendable {
    /// The format of the files.
    var format: ImageFormat { get }
    /// Whether decoding restores the same pixels.
    var isLossless: Bool { get }
    /// Returns whether the format can hold the size of a picture, and its transparency.
    func canEncode(_ picture: Bitmap) -> Bool
    /// Returns a file with a picture.
    func encode(_ picture: Bitmap) throws -> Data
}

/// A registry of decoders and encoders.
///
/// ```swift
/// // For all decoders that use the standard registry.
/// ImageCodecs.standard.register(AVIFDecoder())
///
/// // For decoders that use a custom registry.
/// let own = ImageCodecs(copying: .standard)
/// own.register(HEICDecoder())
/// let decoder = ImageDecoder(codecs: own)
/// ```
///
/// Codecs that are registered later take precedence: a custom decoder that recognises the signature of a built-in one replaces it.
/// Registration and lookup are thread-safe. Decoders and encoders are called outside the lock.
public final class ImageCodecs: Sendable {
    private struct State {
        var decoders: [any ImageDecoding]
        var encoders: [any ImageEncoding]
    }

    private let state: Mutex<State>

    /// Creates a registry. The first decoder or encoder that fits is used.
    public init(decoders: [any ImageDecoding] = [], encoders: [any ImageEncoding] = []) {
        state = Mutex(State(decoders: decoders, encoders: encoders))
    }

    /// Creates a registry with the current codecs of another one.
    public convenience init(copying other: ImageCodecs) {
        self.init(decoders: other.decoders, encoders: other.encoders)
    }

    /// Registers a decoder, which takes precedence over those registered earlier.
    public func register(_ decoder: any ImageDecoding) { state.withLock { $0.decoders.insert(decoder, at: 0) } }

    /// Registers an encoder, which takes precedence over those registered earlier.
    public func register(_ encoder: any ImageEncoding) { state.withLock { $0.encoders.insert(encoder, at: 0) } }

    /// The decoders in the order of precedence.
    public var decoders: [any ImageDecoding] { state.withLock { $0.decoders } }

    /// The encoders in the order of precedence.
    public var encoders: [any ImageEncoding] { state.withLock { $0.encoders } }

    /// Returns the first decoder that recognises a file, and the file's format; `nil` if none does.
    public func decoder(of data: Data) -> (decoder: any ImageDecoding, format: ImageFormat)? {
        for decoder in decoders {
            if let format = decoder.format(of: data) { return (decoder, format) }
        }
        return nil
    }

    /// Returns the first encoder of a format that can encode a picture. If there is none, it returns the first lossless encoder of any
    /// format that can; `nil` if none can.
    public func encoder(of format: ImageFormat?, for picture: Bitmap) -> (any ImageEncoding)? {
        let encoders = encoders
        return encoders.first { $0.format == format && $0.canEncode(picture) }
            ?? encoders.first { $0.isLossless && $0.canEncode(picture) }
    }
}
