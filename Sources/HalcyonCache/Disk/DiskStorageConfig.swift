import Foundation

/// What can be set about a disk storage.
public struct DiskStorageConfig: Sendable {
    /// The name of the cache, and a part of the name of its folder.
    public let name: String
    /// Where the folder lies; `nil` for the user's caches.
    public let directory: URL?
    /// Computes the folder from ``directory`` and the name, in place of the usual rule. It is called once, when the storage
    /// is made, and then let go, so that it cannot keep its owner alive.
    public var cachePathBlock: (@Sendable (_ directory: URL, _ name: String) -> URL)?
    /// The most bytes that the files may take together on the disk; 0 for no limit. The default is ``defaultSizeLimit``. Lowering
    /// it trims at once.
    public var sizeLimit: Int
    /// The seconds between two removals of all expired values; 0 for none. The default is 600. A change begins a new interval.
    public var cleaningInterval: TimeInterval
    /// When values expire that are stored without saying so.
    public var expiration: StorageExpiration
    /// The extension of all files; `nil` for none.
    public var pathExtension: String?
    /// Whether a file is named by the SHA-256 of its key, and not by the key itself where that can be.
    public var usesHashedFileName: Bool
    /// Whether a file gets the extension that its key has.
    public var autoExtAfterHashedFileName: Bool
    /// What holds for single categories, by name.
    public var categoryRules: [String: CategoryRule]

    /// The default of ``sizeLimit``: 1 GiB.
    public static let defaultSizeLimit = 1 << 30

    /// Creates a configuration. By default values expire a week after the last access.
    public init(
        name: String, directory: URL? = nil, sizeLimit: Int = DiskStorageConfig.defaultSizeLimit,
        cleaningInterval: TimeInterval = 600, expiration: StorageExpiration = .days(7),
        pathExtension: String? = nil, usesHashedFileName: Bool = true, autoExtAfterHashedFileName: Bool = false,
        categoryRules: [String: CategoryRule] = [:],
        cachePathBlock: (@Sendable (_ directory: URL, _ name: String) -> URL)? = nil
    ) {
        self.name = name
        self.directory = directory
        self.sizeLimit = sizeLimit
        self.cleaningInterval = cleaningInterval
        self.expiration = expiration
        self.pathExtension = pathExtension
        self.usesHashedFileName = usesHashedFileName
        self.autoExtAfterHashedFileName = autoExtAfterHashedFileName
        self.categoryRules = categoryRules
        self.cachePathBlock = cachePathBlock
    }

    package var limits: Limits { Limits(cost: sizeLimit, count: 0) }

    var naming: FileNaming {
        FileNaming(
            isHashed: usesHashedFileName, pathExtension: pathExtension, takesKeyExtension: autoExtAfterHashedFileName)
    }

    /// The folder of the files.
    ///
    /// - Throws: ``CacheError/badName(_:)``.
    func folder() throws -> URL {
        guard FileNaming.canName(name), name.utf8.count <= 128 else { throw CacheError.badName(name) }
        let base =
            directory
            ?? FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask).first
            ?? FileManager.default.temporaryDirectory
        return cachePathBlock?(base, name) ?? base.appendingPathComponent("halcyon.cache.\(name)", isDirectory: true)
    }
}
