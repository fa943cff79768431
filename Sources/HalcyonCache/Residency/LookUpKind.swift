/// Which counts a look-up in memory changes.
@usableFromInline
package enum LookUpKind: UInt8 {
    /// Those of the storage.
    case storage
    /// Those of the storage, and the hits of the ``ImageCache`` that asks.
    case tier
    /// The same, but a miss is not counted: the one who asks looks again where more than memory may answer.
    case probe

    /// Whether an ``ImageCache`` asks.
    @inline(__always)
    var isTiered: Bool { self != .storage }
}
