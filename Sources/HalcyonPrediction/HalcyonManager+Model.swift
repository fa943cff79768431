import Foundation
import HalcyonCache
import HalcyonImages
import HalcyonLearning
import HalcyonNetworking
import HalcyonPipeline

extension HalcyonManager {
    /// Creates a manager over a cache whose memory tier is under the policy `learned` with a trained model.
    ///
    /// ```swift
    /// let manager = try HalcyonManager(name: "photos", model: modelURL)
    /// ```
    ///
    /// - Parameters:
    ///   - name: the name of the cache, whose folder has it.
    ///   - model: a file that `replay train` has written.
    ///   - mode: whether the model goes on learning, or stays as it is. Default: it goes on.
    ///   - memory: the configuration of the memory tier. Default: a quarter of the memory that this process may use.
    ///   - diskPolicy: the policy of the disk tier. Default: `lru`.
    ///   - directory: the folder of the cache's folder. Default: the user's caches directory.
    ///   - recorder: receives every access, such as an `AccessLog`. Default: none.
    /// - Throws: `ModelFileError` if the file is no such model; `PolicyError` if there is no such disk policy;
    ///   `CacheError.diskUnavailable(underlying:)` if the directory cannot be used.
    public convenience init(
        name: String, model: URL, mode: PretrainedModel.Mode = .continuing,
        memory: MemoryStorage<Bitmap>.Config = .init(), diskPolicyNamed diskPolicy: String = "lru",
        directory: URL? = nil, recorder: (any AccessRecorder)? = nil, downloader: ImageDownloader = .default,
        defaultOptions: ImageOptions = ImageOptions()
    ) throws {
        let catalogue = PolicyCatalogue.standard.serving(try PretrainedModel(contentsOf: model.path), mode: mode)
        let cache = try ImageCache<Bitmap>(
            memory: memory, disk: DiskStorageConfig(name: name, directory: directory), memoryPolicyNamed: "learned",
            diskPolicyNamed: diskPolicy, in: catalogue, recorder: recorder)
        self.init(cache: cache, downloader: downloader, defaultOptions: defaultOptions)
    }
}
