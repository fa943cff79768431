import HalcyonEviction

/// An object of which the owner of a catalogue says that it exists.
public struct AnnouncedObject: Sendable, Equatable {
    /// Its number.
    public var object: UInt32
    /// Its categories.
    public var categories: CategorySetID
    /// What it takes of a cache: bytes, or 1.
    public var cost: Int
    /// Since when it exists, in microseconds.
    public var time: Int64

    /// An object; one that has existed for ever has the time 0.
    public init(object: UInt32, categories: CategorySetID = 0, cost: Int = 1, time: Int64 = 0) {
        self.object = object
        self.categories = categories
        self.cost = cost
        self.time = time
    }
}
