/// What Mithril may be given; the defaults are those of its authors' own code.
///
/// The tables' sizes are not: there they are shares of a cache's bytes, which nobody knows here; these hold what caches of
/// some hundred thousand blocks would grant.
public struct MithrilParameters: Sendable {
    /// Δ: how many requests apart associated blocks are asked for at most.
    public var lookahead = 20
    /// R: after how many records a block is ready to be mined.
    public var minSupport = 2
    /// S: a block with more records than this is frequent, so not sporadic, and dropped.
    public var maxSupport = 8
    /// M: how many blocks are mined together.
    public var miningRows = 2_560
    /// How many blocks with fewer than R records are kept; the oldest makes room.
    public var recordingRows = 1 << 15
    /// P: how many associated blocks are kept for one; the oldest makes room.
    public var listLength = 2
    /// How many blocks have associated ones; the oldest makes room.
    public var prefetchingRows = 1 << 16

    /// The defaults.
    public init() {}
}
