import HalcyonSupport
import Synchronization

extension ImageCache where Value: DataTransformable {
    /// The default cache for this type of values. By default a cache in the user's caches directory, created when this
    /// is first read.
    ///
    /// Set it when the app starts, to configure it; those who have read it before keep the cache that they have.
    public static var `default`: ImageCache<Value> {
        get {
            let cache = DefaultCache.of(Value.self).value {
                let name = String(reflecting: Value.self).filter {
                    $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".")
                }
                return ImageCache<Value>(name: "default.\(name)")
            }
            guard let cache = cache as? ImageCache<Value> else {
                preconditionFailure("the default cache of \(Value.self) is \(cache)")
            }
            return cache
        }
        set { DefaultCache.of(Value.self).set(newValue) }
    }
}

/// The default cache of each type of values. A generic type cannot have stored static properties.
private enum DefaultCache {
    private static let all = Mutex<[ObjectIdentifier: SettableDefault<any Sendable>]>([:])

    /// Returns the default cache of a type.
    static func of(_ type: Any.Type) -> SettableDefault<any Sendable> {
        all.withLock { all in
            let kind = ObjectIdentifier(type)
            if let one = all[kind] { return one }
            let one = SettableDefault<any Sendable>()
            all[kind] = one
            return one
        }
    }
}
