/// The heap bytes of a cache's bookkeeping, divided by what they grow with.
///
/// A table with a place for each entry number takes as much in a replay as the trace has objects. A live cache reuses the
/// number of a forgotten entry, so there the same table grows with the residents and the entries that the policy
/// remembers. From both parts of a replay's bytes one can compute what an entry takes in a live cache.
@frozen
public struct MetadataBytes: Sendable, Equatable {
    /// The bytes that do not grow with the number of entries: a model, training samples, tables of a fixed size, the
    /// history that even the smallest cache keeps.
    public var fixed: Int
    /// The bytes of tables with a place for each entry number.
    public var perNumber: Int
    /// The bytes that grow with the residents and the entries that are remembered.
    public var perResident: Int

    /// Bytes by what they grow with, 0 unless stated.
    @inlinable
    public init(fixed: Int = 0, perNumber: Int = 0, perResident: Int = 0) {
        self.fixed = fixed
        self.perNumber = perNumber
        self.perResident = perResident
    }

    /// All bytes.
    @inlinable
    public var total: Int { fixed + perNumber + perResident }

    /// The bytes of two parts together.
    @inlinable
    public static func + (left: MetadataBytes, right: MetadataBytes) -> MetadataBytes {
        MetadataBytes(
            fixed: left.fixed + right.fixed, perNumber: left.perNumber + right.perNumber,
            perResident: left.perResident + right.perResident)
    }
}
