/// What Mithril may be given; Δ, R, S and P are by default what its authors' own code has.
///
/// The tables' sizes are not. There M is 2,560, for disks of millions of blocks; a shop or a feed has some thousand objects,
/// of which never so many are ready at a time, so that nothing would ever be mined. The other tables are shares of a
/// cache's bytes there, which nobody knows here.
public struct MithrilParameters: Sendable {
    /// Δ: how many requests apart associated blocks are asked for at most.
    public var lookahead = 20
    /// R: after how many records a block is ready to be mined.
    public var minSupport = 2
    /// S: a block with more records than this is frequent, so not sporadic, and dropped.
    public var maxSupport = 8
    /// M: how many blocks are mined together.
    public var miningRows = 256
    /// How many blocks with fewer than R records are kept; the oldest makes room.
    public var recordingRows = 1 << 15
    /// P: how many associated blocks are kept for one; the oldest makes room.
    public var listLength = 2
    /// How many blocks have associated ones; the oldest makes room.
    public var prefetchingRows = 1 << 16

    /// The defaults.
    public init() {}
}
