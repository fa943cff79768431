import Foundation
import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonLearning

@Suite("Manager: a trained model file", .timeLimit(.minutes(20)))
struct DeployedModelTests {
    /// Half of the requests go to 300 objects that stay popular, half to objects that are never requested again.
    private func requests(_ count: Int, seed: UInt64) -> [(object: Int, isPopular: Bool)] {
        var random = SplitMix64(seed: seed)
        return (0..<count).map { index in
            let isPopular = random.next(below: 2) == 0
            return (isPopular ? random.next(below: 300) : 300 + index, isPopular)
        }
    }

    private func trained() throws -> PretrainedModel {
        let parameters = LearnedParameters()
        let context = PolicyContext(capacity: 150, usesUniformSizes: true, seed: 1)
        let model = LearnedModel(parameters, seed: context.seed)
        let cache = model.makeCache(parameters, context: context)
        for set in UInt32(1)...2 { cache.define(categorySet: set, members: [set - 1]) }
        for (index, request) in requests(12_000, seed: 1).enumerated() {
            _ = cache.access(
                Access(
                    entry: EntryID(request.object), requestNumber: index, time: Int64(index) * 1_000,
                    categories: request.isPopular ? 1 : 2))
        }
        return try #require(model.snapshot(parameters, producer: "test"))
    }

    /// The hits in a memory tier for 150 pictures.
    private func hits(_ cache: ImageCache<Bitmap>) async throws -> Int {
        let picture = try #require(Bitmap(width: 1, height: 1, color: PixelColor(red: 1, green: 2, blue: 3)))
        var hits = 0
        for request in requests(2_000, seed: 2) {
            let (key, options) = (
                "\(request.object)", CacheOptions(categories: [request.isPopular ? "popular" : "once"])
            )
            if cache.imageInMemory(forKey: key, options: options) != nil {
                hits += 1
            } else {
                await cache.store(picture, forKey: key, toDisk: false, options: options)
            }
        }
        return hits
    }

    @Test("A model file decides what memory keeps from the first request; another file is refused")
    func modelFileDecidesWhatMemoryKeeps() async throws {
        let folder = try TemporaryFolder()
        let (directory, model) = (
            URL(fileURLWithPath: folder.path), URL(fileURLWithPath: folder.path + "/m.safetensors")
        )
        try trained().data().write(to: model)
        var memory = MemoryStorage<Bitmap>.Config.lasting(cost: 0)
        memory.countLimit = 150
        let manager = try HalcyonManager(
            name: "model", model: model, mode: .frozen, memory: memory, directory: directory)
        let plain = try ImageCache<Bitmap>(
            memory: memory, disk: DiskStorageConfig(name: "plain", directory: directory), memoryPolicyNamed: "learned",
            in: .standard)
        let (with, without) = (try await hits(manager.cache), try await hits(plain))
        #expect(with > without + 50, "\(with) hits, \(without) without the model")
        #expect(manager.cache.diskStorage?.directoryURL.lastPathComponent == "halcyon.cache.model")

        let text = try folder.file("text", "no model")
        let error = #expect(throws: ModelFileError.self) {
            _ = try HalcyonManager(name: "other", model: URL(fileURLWithPath: text), directory: directory)
        }
        #expect(error.map { "\($0)".contains(text) } == true)
        // A refused model leaves no folder.
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/halcyon.cache.other"))
        await manager.cache.close()
        await plain.close()
    }

    /// A model that takes old objects for those that return, so that it evicts the latest.
    private func misleading() -> PretrainedModel {
        let hidden = LearnedParameters().hidden
        var weights = [Float](repeating: 0, count: Feature.width * hidden + hidden + 1)
        weights[Feature.age * hidden] = 20
        weights[Feature.one * hidden] = 20
        weights[Feature.width * hidden] = 1
        return PretrainedModel(
            weights: weights, inputs: Feature.width, hidden: hidden, groups: LearnedParameters().groups,
            objective: .objects, baseWindow: 0.2, trainingSteps: 900, trainingSamples: 30_000, producer: "test")
    }

    @Test("Learned follows LRU's decisions where its model is worse, and only there")
    func learnedFollowsLRUWhereItLosesToIt() throws {
        func run(_ policy: String, _ catalogue: PolicyCatalogue, _ objects: [Int]) throws -> StorageStatistics {
            let storage = try MemoryStorage<Data>(
                config: .lasting(cost: 0, count: 150), policyNamed: policy, in: catalogue)
            for object in objects where storage.value(forKey: "\(object)") == nil {
                storage.store(value: Data([1]), forKey: "\(object)")
            }
            return storage.statistics
        }
        var random = SplitMix64(seed: 4)
        // 100 objects are in use at a time, and one of them is replaced every ten requests.
        let moving = (0..<30_000).map { $0 / 10 + random.next(below: 100) }
        let catalogue = PolicyCatalogue.standard.serving(misleading(), mode: .frozen)
        let lru = try run("lru", .standard, moving)
        let misled = try run("learned(decider=network)", catalogue, moving)
        let guarded = try run("learned", catalogue, moving)
        #expect(lru.lookUps.hits > 26_000 && misled.lookUps.hits < 22_000)
        #expect(guarded.lookUps.hits > lru.lookUps.hits * 97 / 100, "\(guarded)")
        #expect(guarded.policyMetrics["shadow_decisions"] ?? 0 > 100)
        // Half of the requests are for 300 objects that stay popular.
        let lasting = requests(12_000, seed: 2).map(\.object)
        let well = try run("learned", .standard, lasting)
        #expect(well.lookUps.hits > (try run("lru", .standard, lasting)).lookUps.hits)
        #expect(well.policyMetrics["shadow_decisions"] == 0, "\(well)")
        #expect(lru.policyMetrics["shadow_decisions"] == nil)
    }
}
