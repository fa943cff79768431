extension TraceAssembler {
    /// Drops what lies behind the last request wanted, and throws the first problem before it.
    mutating func checkOrder() throws(TraceError) {
        let end = options.sort ? nil : options.limit.map { options.skip > Int.max - $0 ? Int.max : options.skip + $0 }
        var requests = 0
        var lines = 0
        var last = Int64.min
        for index in chunks.indices {
            let chunk = chunks[index]
            if let end, requests >= end {
                chunks.removeSubrange(index...)
                break
            }
            if let failure = chunk.failure { throw failure }
            if let first = chunk.times.first, first < last, !options.sort {
                throw place.error(
                    .backwards(chunk.firstLine, column: chunk.firstTimeColumn, first, last, place.timeUnit),
                    linesAbove: lines)
            }
            requests += chunk.count
            if let problem = chunk.problem, end.map({ requests < $0 }) ?? true {
                throw place.error(problem, linesAbove: lines)
            }
            last = chunk.times.last ?? last
            lines += chunk.lines
            report.badLines += chunk.badLines
            report.unansweredReads += chunk.unansweredReads
        }
    }

    /// Puts all requests in order of time; equal times keep their order. O(n log n) if they are not.
    mutating func sort() {
        var outOfOrder = 0
        var latest = Int64.min
        for chunk in chunks {
            for time in chunk.times {
                if time < latest { outOfOrder += 1 } else { latest = time }
            }
        }
        report.outOfOrder = outOfOrder
        guard outOfOrder > 0 else { return }
        let times = chunks.flatMap(\.times)
        var order = [UInt32](unsafeUninitializedCapacity: times.count) { numbers, count in
            for index in times.indices { numbers.initializeElement(at: index, to: UInt32(index)) }
            count = times.count
        }
        times.withUnsafeBufferPointer { times in
            order.sort { (times[Int($0)], $0) < (times[Int($1)], $1) }
        }
        var sorted = ChunkRows()
        sorted.times = TimeColumn(order.map { times[Int($0)] })
        sorted.keys = gathered(\.keys, maps.map(\.keys), order)
        sorted.categories = gathered(\.categories, maps.map(\.categories), order)
        sorted.users = gathered(\.users, maps.map(\.users), order)
        let sizes = chunks.flatMap { chunk in (0..<chunk.sizes.count).map { chunk.sizes[$0] } }
        sorted.sizes = sizes.isEmpty ? .empty : .wide(order.map { sizes[Int($0)] })
        chunks = [sorted]
        maps = [NameMaps()]
    }

    /// A column of names of all chunks, in the numbers of the table of all, in another order.
    private func gathered(_ column: KeyPath<ChunkRows, NameColumn>, _ maps: [[UInt32]], _ order: [UInt32]) -> NameColumn
    {
        var all: [UInt32] = []
        for chunk in chunks {
            let map = maps[chunk.worker]
            if map.isEmpty {
                all += chunk[keyPath: column].numbers
            } else {
                all += chunk[keyPath: column].numbers.map { $0 == KeyTable.none ? $0 : map[Int($0)] }
            }
        }
        if all.isEmpty { return NameColumn() }
        return NameColumn(numbers: order.map { all[Int($0)] }, firsts: order.indices.map { UInt32($0) })
    }

    /// Leaves the requests that `skip` and `limit` want.
    mutating func cut() {
        guard options.skip > 0 || options.limit != nil else { return }
        var toSkip = max(options.skip, 0)
        var toKeep = max(options.limit ?? Int.max, 0)
        for index in chunks.indices {
            let count = chunks[index].count
            let from = min(toSkip, count)
            let kept = min(count - from, toKeep)
            if kept < count || options.skip > 0 { chunks[index].keep(from..<(from + kept)) }
            toSkip -= from
            toKeep -= kept
        }
    }
}
