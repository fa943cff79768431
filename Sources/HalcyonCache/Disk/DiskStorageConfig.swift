import Foundation

/// The parameters of a disk storage.
public struct DiskStorageConfig: Sendable {
    /// The name of the cache, which is a part of its folder's name.
    public let name: String
    /// The directory that contains the folder; `nil`, the default, for the user's caches directory.
    public let directory: URL?
    /// Computes the folder from ``directory`` and the name, in place of the default rule. It is called once, when the
    /// storage is created, and then released, so that it does not retain its owner.
    ///
    /// See `DiskStorageTests.pathBlockIsCalledOnceAndReleased()`.
    public var cachePathBlock: (@Sendable (_ directory: URL, _ name: String) -> URL)?
    /// The maximum bytes of all files on the disk; 0 for no limit. The default is ``defaultSizeLimit``. A lower limit
    /// takes effect at once.
    ///
    /// See `DiskStorageTests.storeOverLimitEvicts()`.
    public var sizeLimit: Int
    /// The time between two removals of expired values; `.zero` for none. The default is 600 seconds. A change starts
    /// a new interval.
    public var cleanInterval: Duration
    /// The expiration of values that are stored without one. The default is 7 days after the last access.
    ///
    /// See `DiskExpirationTests.valuesExpireAWeekAfterAccess()`.
    public var expiration: StorageExpiration
    /// The extension of all files; `nil`, the default, for none.
    ///
    /// See `FileNamingTests.validExtensionIsAppended()`.
    public var pathExtension: String?
    /// Whether a file is named by the SHA-256 of its key. If not, it is named by the key itself where possible. A
    /// file of another program whose name could be that of a key, such as `notes.txt`, then counts as a value: it expires and
    /// is deleted. Use a folder that has no such files. The default is `true`.
    ///
    /// Whatever the keys, their files are in the folder, and no two keys share one. See
    /// `FileNamingTests.nameIsHashOrKey()` and `FileNamingTests.everyKeyGetsItsOwnName()`.
    public var usesHashedFileName: Bool
    /// Whether a file gets the extension of its key. The default is `false`.
    public var autoExtAfterHashedFileName: Bool
    /// Whether what a policy that learns has learned is kept for the next start, of this tier and of the memory tier
    /// of the same cache; by default `true`. It concerns the values without a category rule that has limits, a
    /// priority or protection.
    ///
    /// The latest 16,384 calls of the policy are kept, with keyed hashes of all names, in `.halcyon/policy-disk.json`
    /// and `.halcyon/policy-memory.json` in the cache's folder, at most 4 MB each. They are written whole or not at
    /// all when the app goes to the background, by ``DiskStorage/flush()``, and when the cache is closed.
    /// ``ImageCache/clearDiskCache()`` removes them, and forgetting a user the calls for the user. Until there are more
    /// calls, the next start decides as if the process had gone on. With more, it starts with the model as it was and
    /// the latest calls. Files of earlier starts are removed if this is `false`.
    ///
    /// It is read once, when the storage is created. See `KeptPolicyTests.restartedDiskDecidesAsOneThatWentOn()`.
    public var keepsLearning: Bool
    /// The rules for categories, by name.
    ///
    /// Rules can change while the storage is open, and hold after a restart. See
    /// `CategoryRuleTests.rulesCanChangeAtRunTime()` and `CategoryRuleTests.categoriesAndRulesSurviveRestart()`.
    public var categoryRules: [String: CategoryRule]

    /// The default of ``sizeLimit``: 1 GiB.
    public static let defaultSizeLimit = 1 << 30

    /// Creates a configuration. By default, values expire a week after the last access.
    public init(
        name: String, directory: URL? = nil, sizeLimit: Int = DiskStorageConfig.defaultSizeLimit,
        cleanInterval: Duration = .seconds(600), expiration: StorageExpiration = .days(7),
        pathExtension: String? = nil, usesHashedFileName: Bool = true, autoExtAfterHashedFileName: Bool = false,
        keepsLearning: Bool = true, categoryRules: [String: CategoryRule] = [:],
        cachePathBlock: (@Sendable (_ directory: URL, _ name: String) -> URL)? = nil
    ) {
        self.name = name
        self.directory = directory
        self.sizeLimit = sizeLimit
        self.cleanInterval = cleanInterval
        self.expiration = expiration
        self.pathExtension = pathExtension
        self.usesHashedFileName = usesHashedFileName
        self.autoExtAfterHashedFileName = autoExtAfterHashedFileName
        self.keepsLearning = keepsLearning
        self.categoryRules = categoryRules
        self.cachePathBlock = cachePathBlock
    }

    package var limits: Limits { Limits(cost: sizeLimit, count: 0) }

    var naming: FileNaming {
        FileNaming(
            isHashed: usesHashedFileName, pathExtension: pathExtension, takesKeyExtension: autoExtAfterHashedFileName)
    }

    /// Returns the folder of the files.
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
