extension ListFamily {
    /// Moves an entry of the family to the head of a list of ghosts, forgetting the oldest ones there so that together
    /// they cost no more than `limit`; an entry that alone costs more is not remembered. Amortised O(1).
    @inline(__always)
    public mutating func remember(_ entry: EntryID, on ghosts: UInt8, limit: Int) {
        let cost = cost(of: entry)
        guard cost <= limit else {
            remove(entry)
            return
        }
        while self.cost(ofList: ghosts) &+ cost > limit { popTail(ofList: ghosts) }
        moveToHead(entry, of: ghosts)
    }

    /// Remembers an entry that is on none of the lists; who was remembered longest is forgotten for it.
    @inline(__always)
    public mutating func remember(_ entry: EntryID, cost: Int, on ghosts: UInt8, limit: Int) {
        guard cost <= limit else { return }
        while self.cost(ofList: ghosts) &+ cost > limit { popTail(ofList: ghosts) }
        pushHead(entry, cost: cost, to: ghosts)
    }
}
