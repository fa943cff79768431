extension ListFamily {
    /// Moves an entry of the family to the head of a list of ghosts, forgetting the oldest ones there so that together
    /// they size no more than `limit`; an entry that alone sizes more is not remembered. Amortised O(1).
    @inline(__always)
    public mutating func remember(_ entry: EntryID, on ghosts: UInt8, limit: Int) {
        let size = size(of: entry)
        guard size <= limit else {
            remove(entry)
            return
        }
        while self.size(ofList: ghosts) &+ size > limit { popTail(ofList: ghosts) }
        moveToHead(entry, of: ghosts)
    }

    /// Remembers an entry that is on none of the lists; who was remembered longest is forgotten for it.
    @inline(__always)
    public mutating func remember(_ entry: EntryID, size: Int, on ghosts: UInt8, limit: Int) {
        guard size <= limit else { return }
        while self.size(ofList: ghosts) &+ size > limit { popTail(ofList: ghosts) }
        pushHead(entry, size: size, to: ghosts)
    }
}
