/// The features of an object at one instant, with the scores of the heuristics: 42 bytes.
///
/// Bytes 0 ..< 38 are the network's inputs (``Feature``). The scores of the heuristics follow separately, so that switching
/// off a group of features does not affect them.
enum SampleRow {
    static let width = 42
    /// The priority of ``GreedyDual`` above its clock.
    static let worth = 38
    /// The time since the last access, in octaves.
    static let age = 39
    /// The size of the object, in octaves.
    static let size = 40
    /// Bit 0 is the label, once it is known. The other bits are the ``Expert/mark`` of each expert that would have evicted
    /// the object.
    static let outcome = 41

    /// Writes an object as a sample without its outcome.
    static func write(
        _ record: ObjectRecord, at instant: FeatureInstant, features: inout FeatureAssembler,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        features.write(record, at: instant, into: row)
        row[SampleRow.worth] = GreedyDual.octaves(record.priority - instant.greedyDualClock)
        row[SampleRow.age] = FastMath.octaves(record.age(at: instant.request))
        row[SampleRow.size] = FastMath.byte(record.logSize * 8)
    }
}
