import Foundation
import Synchronization

/// Reads the files of one or several formats; registered with ``ImageCodecs``.
///
/// Calls come from any thread, also at the same time. An error that is thrown is the load's error.
public protocol ImageDecoding: Sendable {
    /// Returns the format of a file that this decoder reads, and `nil` for other files. Looks at the first bytes only: it is called
    /// for every file, before other decoders are asked.
    func format(of data: Data) -> ImageFormat?
    /// Returns the header's contents without decoding a pixel. The file may end after its header.
    func information(of data: Data) throws -> ImageInformation
    /// Returns the picture, turned as it is to be shown; of an animation the first frame.
    ///
    /// Before it allocates memory for pixels, the decoder calls ``ImageDecodingOptions/check(stored:allocated:)``.
    func decode(_ data: Data, options: ImageDecodingOptions) throws -> Bitmap
    /// Returns the frames of an animation; `nil` for a still picture. The default implementation returns `nil`.
    func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)?
}

extension ImageDecoding {
    public func animation(of data: Data, options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? { nil }
}

/// Writes files of one format; registered with ``ImageCodecs``. Calls come from any thread, also at the same time.
public protocol ImageEncoding: Sendable {
    /// The format of the files.
    var format: ImageFormat { get }
    /// Whether a decoder gives the same pixels again.
    var isLossless: Bool { get }
    /// Returns whether the format can hold a picture without loss of transparency and within the format's sides.
    func canEncode(_ picture: Bitmap) -> Bool
    /// Returns the file of a picture.
    func encode(_ picture: Bitmap) throws -> Data
}

/// A registry of decoders and encoders.
///
/// ```swift
/// ImageCodecs.standard.register(AVIFDecoder())           // for every decoder that uses the standard registry
/// let own = ImageCodecs(copying: .standard)              // or for those that are given this one
/// own.register(HEICDecoder())
/// let decoder = ImageDecoder(codecs: own)
/// ```
///
/// What is registered later is asked earlier: a decoder of one's own takes the place of a built-in one by recognising the same
/// signature. Registering and looking up are thread-safe; decoders and encoders are called outside of the lock.
public final class ImageCodecs: Sendable {
    private struct State {
        var decoders: [any ImageDecoding]
        var encoders: [any ImageEncoding]
    }

    private let state: Mutex<State>

    /// A registry of these; the first that fits is used.
    public init(decoders: [any ImageDecoding] = [], encoders: [any ImageEncoding] = []) {
        state = Mutex(State(decoders: decoders, encoders: encoders))
    }

    /// A registry that begins with what another one has now.
    public convenience init(copying other: ImageCodecs) {
        self.init(decoders: other.decoders, encoders: other.encoders)
    }

    /// Registers a decoder, which is asked before all others from now on.
    public func register(_ decoder: any ImageDecoding) { state.withLock { $0.decoders.insert(decoder, at: 0) } }

    /// Registers an encoder, which is preferred to all others from now on.
    public func register(_ encoder: any ImageEncoding) { state.withLock { $0.encoders.insert(encoder, at: 0) } }

    /// The decoders in the order in which they are asked.
    public var decoders: [any ImageDecoding] { state.withLock { $0.decoders } }

    /// The encoders in the order in which they are asked.
    public var encoders: [any ImageEncoding] { state.withLock { $0.encoders } }

    /// Returns the first decoder that recognises a file, and the file's format; `nil` if none does.
    public func decoder(of data: Data) -> (decoder: any ImageDecoding, format: ImageFormat)? {
        for decoder in decoders {
            if let format = decoder.format(of: data) { return (decoder, format) }
        }
        return nil
    }

    /// Returns the first encoder of a format that can hold a picture; where none can, or the format is unknown or not written, the
    /// first lossless encoder that can. `nil` if none can.
    public func encoder(of format: ImageFormat?, for picture: Bitmap) -> (any ImageEncoding)? {
        let encoders = encoders
        return encoders.first { $0.format == format && $0.canEncode(picture) }
            ?? encoders.first { $0.isLossless && $0.canEncode(picture) }
    }
}
