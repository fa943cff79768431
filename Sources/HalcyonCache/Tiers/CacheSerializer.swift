import Foundation
import HalcyonSupport

/// A type that converts the values of an ``ImageCache`` to bytes and back. Several threads may call it at once. No
/// lock is held during a call.
public protocol CacheSerializer<Value>: Sendable {
    /// The type of the values.
    associatedtype Value: Sendable
    /// Returns the bytes to store on disk; `nil` if there are none, so that the value is kept in memory only.
    ///
    /// - Parameter original: the bytes that the value was made of, if they are known.
    func data(with value: Value, original: Data?) -> Data?
    /// Returns the value of some bytes; `nil` if they are not a value.
    func value(with data: Data) -> Value?
    /// Whether ``data(with:original:)`` returns the original bytes for an unchanged value, so that they can be read
    /// from disk again. The default is `false`.
    var keepsOriginalData: Bool { get }
    /// The queue on which look-ups call ``value(with:)`` once they have read a file, so that it can bound how many values are made at
    /// the same time. The default is `nil`: on the thread that has read the file. Look-ups with
    /// ``CacheOptions/loadDiskFileSynchronously`` call it on the caller's thread.
    var decodingQueue: CallbackQueue? { get }
}

extension CacheSerializer {
    public var keepsOriginalData: Bool { false }
    public var decodingQueue: CallbackQueue? { nil }
}

/// A serializer of values that convert themselves to bytes.
public struct TransformingSerializer<Value: DataTransformable & Sendable>: CacheSerializer {
    /// Creates a serializer.
    public init() {}

    /// Returns the bytes that the value chooses; see ``DataTransformable/toData(original:)``.
    public func data(with value: Value, original: Data?) -> Data? { try? value.toData(original: original) }
    public var keepsOriginalData: Bool { Value.keepsOriginalData }
    public var decodingQueue: CallbackQueue? { Value.decodingQueue }
    /// Returns the value of some bytes; `nil` if they are not a value.
    public func value(with data: Data) -> Value? { try? Value.fromData(data) }
}

/// A type whose values can be converted to bytes and back, so that a disk storage can store them.
///
/// See `DiskStorageTests.anySerializableValueCanBeStored()`.
public protocol DataTransformable {
    /// Returns the bytes of the value.
    func toData() throws -> Data
    /// Returns the value of some bytes.
    static func fromData(_ data: Data) throws -> Self
    /// Returns the bytes to store, which may be those that the value was made of. The default implementation ignores
    /// these.
    func toData(original: Data?) throws -> Data
    /// Whether ``toData(original:)`` returns the original bytes for an unchanged value. The default is `false`.
    static var keepsOriginalData: Bool { get }
    /// The queue on which ``fromData(_:)`` is called; see ``CacheSerializer/decodingQueue``. The default is `nil`.
    static var decodingQueue: CallbackQueue? { get }
}

extension DataTransformable {
    public func toData(original: Data?) throws -> Data { try toData() }
    public static var keepsOriginalData: Bool { false }
    public static var decodingQueue: CallbackQueue? { nil }
}

extension Data: DataTransformable {
    public func toData() -> Data { self }
    public static func fromData(_ data: Data) -> Data { data }
}
