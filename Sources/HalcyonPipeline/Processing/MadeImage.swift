import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonNetworking
import HalcyonSupport
import Synchronization

/// Makes images of loaded bytes.
package struct ImageMaker: Sendable {
    package let processor: any ImageProcessor
    package let decoder: ImageDecoder
    /// The load that decodes, if it is observed.
    var observed: ObservedLoad?
    /// Whether the bytes are wanted alone, so that nothing is decoded.
    var wantsBytes = false

    /// The identifier; equal for makers that make the same image of the same bytes.
    package var identifier: String {
        "\(wantsBytes ? "halcyon.bytes" : processor.identifier)#\(decoder.identifier)"
    }

    package func image(of data: Data) throws -> MadeImage {
        if wantsBytes { return MadeImage(undecoded: try? decoder.information(of: data)) }
        return MadeImage(try observed.decoding { try processor.process(.data(data), decoder: decoder) })
    }
}

/// An image that was made of loaded bytes, shared by all loads that have joined. Each place is written once: by the first load that
/// keeps the image there, and again by a load whose entry expires later.
package final class MadeImage: Sendable {
    /// A place where the image is kept.
    package struct Place: Hashable {
        package enum Tier { case memory, disk, original }

        package let cache: ObjectIdentifier
        package let key: ByteName
        package let tier: Tier
        /// The extension of the file, if the load states one.
        package var forcedExtension: ByteName?
    }

    private struct Keeping {
        var deadline: Int64
        /// Removes what was written.
        let remove: @Sendable () async -> Void
        var writing = 0
        /// The bytes that were written last.
        var bytes: Data?
        var waiters: [@Sendable () -> Void] = []
    }

    private struct State {
        var places: [Place: Keeping] = [:]
        var isForbidden = false
        /// The time at which expirations are compared, in microseconds.
        var start: Int64?
        /// The images that processors have made of this one, and their making.
        var following: [ByteName: MadeImage] = [:]
        var steps: SharedWork<ByteName, MadeImage>?
        var hasTurn = false
        var turns: [CheckedContinuation<Void, Never>] = []
    }

    /// What was made of the bytes.
    enum Content {
        case image(Bitmap)
        /// Nothing, because the bytes are wanted alone; with what their header says, if they are a picture.
        case undecoded(ImageInformation?)
    }

    let content: Content
    private let state = Mutex(State())

    package init(_ image: Bitmap) { content = .image(image) }

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

    /// Returns the image that a processor makes of this one, which it does once for all loads that share this one.
    ///
    /// - Parameter make: calls the processor.
    /// - Throws: the error of the processor; `CancellationError` if the task is cancelled.
    func after(
        _ processor: any ImageProcessor, _ limiter: DecodeLimiter, _ options: DownloadOptions, _ task: DownloadTask?,
        _ make: @escaping @Sendable (Bitmap) throws -> Bitmap
    ) async throws -> MadeImage {
        let (image, key) = (try image(), ByteName(processor.identifier))
        let steps = state.withLock { state in
            let steps = state.steps ?? SharedWork(limiter)
            state.steps = steps
            return steps
        }
        return try await steps.value(of: key, options.priority, options.processingQueue, task) { [self] work in
            if let known = state.withLock({ $0.following[key] }) { return known }
            let made = MadeImage(try await work.result { try make(image) })
            state.withLock { $0.following[key] = made }
            return made
        }.value
    }

    /// Claims and requests writes, in turn with other loads, so that the writes have the order of their claims.
    ///
    /// - Throws: `CancellationError`, and the work does not run, if the task is cancelled before its turn.
    func inTurn<Result>(_ work: () -> Result) async throws -> Result {
        try await turn {
            try Task.checkCancellation()
            return work()
        }
    }

    private func turn<Result>(_ work: () throws -> Result) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.hasTurn { state.turns.append(continuation) }
                defer { state.hasTurn = true }
                return !state.hasTurn
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if state.turns.isEmpty {
                    state.hasTurn = false
                    return nil
                }
                return state.turns.removeFirst()
            }
            next?.resume()
        }
        return try work()
    }

    /// Returns whether the caller writes the image to a place, and must call ``written(_:)`` afterwards. Called in a turn.
    ///
    /// - Parameters:
    ///   - deadline: returns when the entry would expire if it were stored at a time; both in microseconds since 1970.
    ///   - remove: removes the entry again, if the image must not be stored.
    func claim(
        _ place: Place, now: Int64, until deadline: (Int64) -> Int64, remove: @escaping @Sendable () async -> Void
    ) -> Bool {
        state.withLock { state in
            if state.isForbidden { return false }
            let start = state.start ?? now
            state.start = start
            let deadline = deadline(start)
            if let known = state.places[place], known.deadline >= deadline { return false }
            state.places[place, default: Keeping(deadline: deadline, remove: remove)].deadline = deadline
            state.places[place]?.writing += 1
            return true
        }
    }

    /// Whether a load has written the image to a place, or is about to.
    func isClaimed(_ place: Place) -> Bool { state.withLock { $0.places[place] != nil } }

    /// Notes the bytes that a write has stored.
    func stored(_ bytes: Data, at place: Place) { state.withLock { $0.places[place]?.bytes = bytes } }

    /// Returns the bytes that were last stored at a place; `nil` if there were none.
    func bytes(at place: Place) -> Data? { state.withLock { $0.places[place]?.bytes } }

    /// Notes that a write has ended.
    func written(_ place: Place) {
        let waiters = state.withLock { state -> [@Sendable () -> Void] in
            state.places[place]?.writing -= 1
            guard state.places[place]?.writing == 0 else { return [] }
            defer { state.places[place]?.waiters = [] }
            return state.places[place]?.waiters ?? []
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when no write to a place is pending, whichever load has begun it.
    func settle(_ place: Place) async {
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                guard state.places[place]?.writing ?? 0 > 0 else { return false }
                state.places[place]?.waiters.append { continuation.resume() }
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    /// Refuses all further claims, for a response that must not be stored, and removes what other loads have kept. It waits for its turn,
    /// because a load that has claimed a place is about to write there.
    func forbid() async {
        let kept = await turn {
            state.withLock { state in
                state.isForbidden = true
                defer { state.places = state.places.filter { $1.writing > 0 } }
                return state.places.values.map(\.remove)
            }
        }
        for remove in kept { await remove() }
    }
}

/// Identifies a provider for merging.
struct ProviderKey: Hashable, Sendable {
    private let kind: ObjectIdentifier
    private let cacheKey: ByteName
    /// What a file's provider may read, which others may not.
    private let access: FileAccess?

    init(_ provider: any ImageDataProvider) {
        kind = ObjectIdentifier(type(of: provider))
        cacheKey = ByteName(provider.cacheKey)
        access = (provider as? any URLProvider)?.access
    }
}

/// Merges loads from providers, as those from servers are: the bytes are requested once.
typealias ProviderMerger = LoadMerger<ProviderKey, Data>

extension ProviderMerger {
    /// A provider's bytes, and the image made of them.
    struct Provided: Sendable {
        let made: MadeImage
        let data: Data
    }

    /// Joins the load of a provider and returns its image. The retry strategy decides about errors of the provider, not about bytes
    /// of which no image can be made.
    func load(
        _ provider: any ImageDataProvider, _ maker: ImageMaker, _ options: DownloadOptions, _ attempts: Attempts,
        _ task: DownloadTask?
    ) async throws -> Provided {
        let answer = try await attempts.of(provider.cacheKey) {
            let waiter = LoadWaiter(self)
            join(
                waiter.token, ProviderKey(provider), options.priority,
                ProcessorKey(maker.identifier, Provided.self), Callbacks(waiter),
                load: { { _, _ in try await provider.data() } },
                job: {
                    Job(queue: options.processingQueue, turns: options.processingTurns) { data in
                        LoadOutcome { Provided(made: try maker.image(of: data), data: data) }
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
