import HalcyonSupport

/// The name of an entry of a cache: the key of its object, the variant, and the extension of its file.
///
/// Two names are equal if the bytes of ``computed`` and of ``forcedExtension`` are. A key alone is a name, too
/// (``EntryNaming``).
public struct EntryKey: Hashable, Sendable, ExpressibleByStringInterpolation {
    /// The key of the object.
    public let key: String
    /// The key of the entry: that of the object, or `key@identifier` for a variant (`String.computedKey(with:)`).
    public let computed: String
    /// The extension of the file on disk, 1 to 20 letters and digits; `nil`, the default, for the configured one.
    public let forcedExtension: String?

    /// Creates the name of an entry. O(length) for a variant.
    ///
    /// - Parameter processorIdentifier: the variant of the key's image; empty for the image itself.
    @inlinable
    public init(_ key: String, processorIdentifier: String = "", forcedExtension: String? = nil) {
        self.key = key
        computed = processorIdentifier.isEmpty ? key : key.computedKey(with: processorIdentifier)
        self.forcedExtension = forcedExtension
    }

    /// Creates the name of a key's image, with the configured extension.
    @inlinable
    public init(stringLiteral key: String) { self.init(key) }

    public static func == (left: EntryKey, right: EntryKey) -> Bool {
        ByteName(left.computed) == ByteName(right.computed)
            && left.forcedExtension.map(ByteName.init) == right.forcedExtension.map(ByteName.init)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(ByteName(computed))
        hasher.combine(forcedExtension.map(ByteName.init))
    }
}

/// What names an entry of a cache: an ``EntryKey``, or the key of an object alone.
///
/// ```swift
/// await cache.store(image, forKey: "a")
/// await cache.store(small, forKey: EntryKey("a", processorIdentifier: "small", forcedExtension: "webp"))
/// ```
///
/// See `ImageCacheTests.variantsAreSeparateEntries()` and `CleaningTests.forcedExtensionFindsAndRemovesFile()`.
public protocol EntryNaming: Sendable {
    /// The name.
    var entryKey: EntryKey { get }
}

extension EntryKey: EntryNaming {
    /// This name.
    @inlinable public var entryKey: EntryKey { self }
}

extension String: EntryNaming {
    /// The name of the key's image, with the configured extension.
    @inlinable public var entryKey: EntryKey { EntryKey(self) }

    /// Returns the key of a variant: the key itself, or `key@identifier`.
    ///
    /// An object whose own key ends like `@identifier` has the key of that variant, so that a look-up may return either.
    /// Give such an object another key.
    ///
    /// See `ImageCacheTests.variantsAreSeparateEntries()`.
    public func computedKey(with processorIdentifier: String) -> String {
        if processorIdentifier.isEmpty { return self }
        var key = String()
        key.reserveCapacity(utf8.count + 1 + processorIdentifier.utf8.count)
        key += self
        key += "@"
        // An identifier can have a text of an app's own in it.
        key += EntryOrigin.sourceKey(processorIdentifier)
        return key
    }
}
