import Foundation

/// What turns into bytes and back, so that a disk storage can keep it.
public protocol DataTransformable {
    /// The bytes of the value.
    func toData() throws -> Data
    /// The value of some bytes.
    static func fromData(_ data: Data) throws -> Self
}

extension Data: DataTransformable {
    public func toData() -> Data { self }
    public static func fromData(_ data: Data) -> Data { data }
}
