import Foundation

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
