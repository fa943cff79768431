import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport

/// Makes images of loaded bytes.
struct ImageMaker: Sendable {
    let processor: any ImageProcessor
    let decoder: ImageDecoder
    /// The load that decodes, if it is observed.
    var observed: ObservedLoad?
    /// Whether the bytes are wanted alone, so that nothing is decoded.
    var wantsBytes = false

    /// The identifier; equal for makers that make the same image of the same bytes.
    var identifier: String {
        "\(wantsBytes ? "halcyon.bytes" : processor.identifier)#\(decoder.identifier)"
    }

    func image(of data: Data) throws -> MadeImage {
        if wantsBytes { return MadeImage(undecoded: try? decoder.information(of: data)) }
        return MadeImage(try observed.decoding { try processor.process(.data(data), decoder: decoder) })
    }
}

/// What was made of loaded bytes, shared by all loads that have joined.
struct MadeImage: Sendable {
    /// What was made of the bytes.
    enum Content: Sendable {
        case image(Bitmap)
        /// Nothing, because the bytes are wanted alone; with what their header says, if they are a picture.
        case undecoded(ImageInformation?)
    }

    let content: Content
    /// Where loads that share the bytes keep what they make of them.
    var places = KeptPlaces()
    /// The images that processors make of this one.
    private let following = SharedSteps<MadeImage>()

    init(_ image: Bitmap) { content = .image(image) }

    /// Creates what stands for loaded bytes of which no image is made.
    init(undecoded information: ImageInformation?) { content = .undecoded(information) }

    /// Whether there is an image.
    var isDecoded: Bool { if case .image = content { true } else { false } }

    /// The image.
    ///
    /// - Throws: ``ImageError/unknownFormat`` if none was made, which no load for an image sees: the two kinds share no work.
    func image() throws -> Bitmap {
        guard case .image(let image) = content else { throw ImageError.unknownFormat }
        return image
    }

    /// Returns the image that processors make of this one one after another, each of which is called once for all loads that share this.
    /// They are called in one turn, as far as no other load is calling them.
    ///
    /// - Throws: the error of a processor; `CancellationError` if the task is cancelled.
    func after(
        _ processors: ArraySlice<any ImageProcessor>, _ decoder: ImageDecoder, _ observed: ObservedLoad?,
        _ work: LimitedWork
    ) async throws -> MadeImage {
        var (made, rest) = (self, processors)
        while let processor = rest.popFirst() {
            let step = try made.step(processor, decoder, observed)
            made = try await made.following.value(of: ByteName(processor.identifier), work, step) { [rest] in
                $0.take(rest, decoder, observed, $1)
            }
        }
        made.places = places
        return made
    }

    /// Calls processors one after another in the turn of the caller, until one fails or is being called by another load, or the load is
    /// cancelled.
    func take(
        _ processors: ArraySlice<any ImageProcessor>, _ decoder: ImageDecoder, _ observed: ObservedLoad?,
        _ cancellation: LoadCancellation
    ) {
        var made = self
        for processor in processors {
            guard (try? cancellation.check()) != nil, let step = try? made.step(processor, decoder, observed),
                let next = made.following.made(ByteName(processor.identifier), by: step)
            else { return }
            made = next
        }
    }

    private func step(
        _ processor: any ImageProcessor, _ decoder: ImageDecoder, _ observed: ObservedLoad?
    ) throws -> @Sendable () throws -> MadeImage {
        let picture = try image()
        return { MadeImage(try observed.decoding { try processor.process(.image(picture), decoder: decoder) }) }
    }
}

/// Identifies a provider for merging.
struct ProviderKey: Hashable, Sendable {
    private let kind: ObjectIdentifier
    private let cacheKey: ByteName
    /// What a file's provider may read, which others may not.
    private let access: FileAccess?
    /// The version of a local file, as far as it is known.
    private let version: FileVersion?

    init(_ provider: any ImageDataProvider, _ version: FileVersion? = nil) {
        self.version = version
        kind = ObjectIdentifier(type(of: provider))
        cacheKey = ByteName(provider.cacheKey)
        access = (provider as? any URLProvider)?.access
    }
}

/// A provider's bytes, and the places where loads keep what they make of them.
struct ProvidedBytes: Sendable {
    let data: Data
    let places = KeptPlaces()
}

/// Merges loads from providers, as those from servers are: the bytes are requested once.
typealias ProviderMerger = LoadMerger<ProviderKey, ProvidedBytes>

extension ProviderMerger {
    /// A provider's bytes, and the image made of them.
    struct Provided: Sendable {
        let made: MadeImage
        let data: Data

        init(_ bytes: ProvidedBytes, _ maker: ImageMaker) throws {
            data = bytes.data
            var made = try maker.image(of: data)
            made.places = bytes.places
            self.made = made
        }
    }

    /// Joins the load of a provider and returns its image. The retry strategy decides about errors of the provider, not about bytes
    /// of which no image can be made.
    func load(
        _ provider: any ImageDataProvider, _ version: FileVersion?, _ maker: ImageMaker, _ options: DownloadOptions,
        _ attempts: Attempts, _ task: DownloadTask?
    ) async throws -> Provided {
        let answer = try await attempts.of(provider.cacheKey) {
            let waiter = LoadWaiter(self)
            join(
                waiter.token, ProviderKey(provider, version), options.priority,
                ProcessorKey(maker.identifier, Provided.self), Callbacks(waiter),
                load: { { _, _ in ProvidedBytes(data: try await provider.data()) } },
                job: {
                    Job(queue: options.processingQueue, turns: options.processingTurns) { bytes in
                        LoadOutcome { try Provided(bytes, maker) }
                    }
                })
            task?.follow { [token = waiter.token] in self.setPriority(token, $0) }
            let answer = await waiter.answer()
            if case .failure(let error) = answer { throw error }
            return answer
        } isFailure: { _ in
            true
        }
        return try answer.value(Provided.self)
    }
}

extension DownloadProcessor where Value == Bitmap {
    /// Decodes and processes images, for a downloader that is used without a manager.
    public static func image(
        _ processor: any ImageProcessor = DefaultImageProcessor(), decoder: ImageDecoder = ImageDecoder()
    ) -> Self {
        let maker = ImageMaker(processor: processor, decoder: decoder)
        return Self(identifier: maker.identifier) { data, _ in try maker.image(of: data).image() }
    }
}
