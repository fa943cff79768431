import Foundation
import HalcyonNetworking

/// What makes two providers the same.
struct ProviderKey: Hashable, Sendable {
    private let kind: ObjectIdentifier
    private let cacheKey: String

    init(_ provider: any ImageDataProvider) {
        kind = ObjectIdentifier(type(of: provider))
        cacheKey = provider.cacheKey
    }
}

/// Merges loads from providers, as those from servers are: one asks for the bytes, however many want them.
typealias ProviderMerger = LoadMerger<ProviderKey, Data>

extension ProviderMerger {
    /// What a provider's bytes are made into, with these bytes.
    struct Provided: Sendable {
        let made: MadeImage
        let data: Data
    }

    /// Joins who asks a provider, and waits for what is made of its bytes. The strategy is asked about what the provider throws, and
    /// not about bytes of which no image can be made.
    func load(
        _ provider: any ImageDataProvider, _ maker: ImageMaker, _ options: ImageOptions, _ attempts: Attempts
    ) async throws -> Provided {
        let answer = try await attempts.of(provider.cacheKey) {
            let waiter = LoadWaiter(self)
            join(
                waiter.token, ProviderKey(provider), options.priority,
                ProcessorKey(maker.identifier, Provided.self), Callbacks(waiter),
                load: { { _, _ in try await provider.data() } },
                job: {
                    Job(queue: options.processingQueue) { data in
                        LoadOutcome { Provided(made: try maker.image(of: data), data: data) }
                    }
                })
            let answer = await waiter.answer()
            if case .failure(let error) = answer { throw error }
            return answer
        } isFailure: { _ in
            true
        }
        return try answer.value(Provided.self)
    }
}
