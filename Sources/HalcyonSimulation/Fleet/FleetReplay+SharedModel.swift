import HalcyonEviction
import HalcyonTrace

extension FleetReplay {
    /// Replays all users in order of time, so that what one user's cache learns serves the next.
    ///
    /// - Parameter maker: makes caches that share their model.
    package func run(inOrderOfTime maker: CacheMaker, capacity: Int) -> Measured {
        var counts = makeCounts(maker)
        let needs = ColumnNeeds(trace: trace, maker: maker, options: options)
        var local = [EntryID](repeating: 0, count: trace.count)
        for (index, position) in plan.positions.enumerated() { local[Int(position)] = plan.entries[index] }
        var nextIndex = [Int](repeating: 0, count: plan.userCount)
        let clock = ContinuousClock()
        let began = clock.now
        let caches = (0..<plan.userCount).map { maker.make(context($0, capacity)) }
        // A whole cache is a dozen closures, each of which would be retained for every request.
        let serve = caches.map(\.access)
        var definitions = CategoryDefinitions(sets: trace.categorySets, isNeeded: needs.categories)
        var before = caches.map { $0.state() }
        for position in 0..<trace.count {
            if position & 0xFFFF == 0xFFFF {
                progress?.advance(by: 0x10000)
                maker.timer?.collect(isCounted: position > counts.warmup)
            }
            if position == counts.warmup, position > 0 {
                before = caches.map { $0.state() }
                maker.timer?.collect(isCounted: false)
            }
            let user = Int(trace.users[position])
            let set = needs.categories ? trace.categorySet(ofRequest: position) : 0
            if definitions.isPending {
                // The model is shared, so that telling one cache tells all.
                definitions.announce(upTo: 1, in: caches[user]) { _ in set }
            }
            let access = Access(
                entry: local[position], requestNumber: nextIndex[user], time: needs.times ? trace.times[position] : 0,
                size: needs.sizes ? Int(clamping: trace.size(ofRequest: position)) : 1, categories: set,
                user: UInt32(user), object: trace.entries[position])
            nextIndex[user] += 1
            counts.count(
                at: position, serve[user](access), size: access.size, categories: set, user: UInt32(user))
        }
        maker.timer?.collect(isCounted: true)
        let seconds = (clock.now - began).inSeconds
        var entries = EntryCounts()
        for (cache, numbers) in zip(caches, plan.objectCounts) {
            entries.add(cache, numbers: numbers, tiers: maker.tiers)
        }
        let states = zip(before, caches).map { ($0, $1.state()) }
        return Measured(counts: counts, caches: states, seconds: seconds, entries: entries)
    }
}
