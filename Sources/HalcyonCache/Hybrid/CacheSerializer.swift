import Foundation

/// Turns the values of an ``ImageCache`` into bytes and back. It is called by several threads at once, and never with a lock held.
public protocol CacheSerializer<Value>: Sendable {
    /// What is serialized.
    associatedtype Value: Sendable
    /// The bytes to keep on disk for a value; `nil` if it has none, which keeps it in memory only.
    ///
    /// - Parameter original: the bytes that the value was made of, where they are known.
    func data(with value: Value, original: Data?) -> Data?
    /// The value of some bytes; `nil` if they are none.
    func value(with data: Data) -> Value?
    /// Whether ``data(with:original:)`` returns the original bytes for a value that still shows them, so that they can be read from
    /// disk again. By default `false`.
    var keepsOriginalData: Bool { get }
}

extension CacheSerializer {
    public var keepsOriginalData: Bool { false }
}

/// The serializer of values that can turn themselves into bytes.
public struct TransformingSerializer<Value: DataTransformable & Sendable>: CacheSerializer {
    /// The serializer.
    public init() {}

    /// The value's own choice of bytes: see ``DataTransformable/toData(original:)``.
    public func data(with value: Value, original: Data?) -> Data? { try? value.toData(original: original) }
    public var keepsOriginalData: Bool { Value.keepsOriginalData }
    /// The value's own reading of the bytes.
    public func value(with data: Data) -> Value? { try? Value.fromData(data) }
}

/// What turns into bytes and back, so that a disk storage can keep it.
public protocol DataTransformable {
    /// The bytes of the value.
    func toData() throws -> Data
    /// The value of some bytes.
    static func fromData(_ data: Data) throws -> Self
    /// Returns the bytes to keep, which may be those that the value was made of. The default implementation ignores these.
    func toData(original: Data?) throws -> Data
    /// Whether ``toData(original:)`` returns the original bytes for a value that still shows them. By default `false`.
    static var keepsOriginalData: Bool { get }
}

extension DataTransformable {
    public func toData(original: Data?) throws -> Data { try toData() }
    public static var keepsOriginalData: Bool { false }
}

extension Data: DataTransformable {
    public func toData() -> Data { self }
    public static func fromData(_ data: Data) -> Data { data }
}
