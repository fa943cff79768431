/// The last step of loading: joins the parsed chunks of a source to a trace.
struct TraceAssembler: Sendable {
    var chunks: [ChunkRows]
    var tables: NameTables
    var maps: [NameMaps]
    /// The numbers of the names in rows that were shown, by worker.
    private var shownMaps: [NameMaps] = []
    let present: PresentColumns
    let options: TraceLoadOptions
    /// The places of each source.
    let places: [RowPlace]
    var report = LoadReport()
    /// The operations of each source.
    private var operations: [OperationTally]
    private var operationNames = OperationNames()

    init(_ parsed: ParallelParser.Result, present: PresentColumns, options: TraceLoadOptions, places: [RowPlace]) {
        chunks = parsed.chunks
        tables = parsed.tables.first ?? NameTables(tooMany: options.tooManyNames)
        maps = [NameMaps()]
        for other in parsed.tables.dropFirst() {
            maps.append(
                NameMaps(
                    keys: tables.keys.absorb(other.keys), categories: tables.categories.absorb(other.categories),
                    users: tables.users.absorb(other.users)))
        }
        self.present = present
        self.options = options
        self.places = places
        operations = places.map { _ in OperationTally() }
        for other in parsed.shownTables {
            guard let other else {
                shownMaps.append(NameMaps())
                continue
            }
            shownMaps.append(
                NameMaps(
                    keys: tables.keys.absorb(other.keys), categories: tables.categories.absorb(other.categories),
                    users: tables.users.absorb(other.users), lists: tables.lists.absorb(other.lists)))
        }
    }

    private var path: String { places[0].path }

    /// Returns the trace. Throws the first problem before the last requested request.
    mutating func trace() throws(TraceError) -> Trace {
        try checkOrder()
        report.operations = OperationCount.joined(
            zip(operations, places).flatMap { $0.counts(named: $1.operations) } + operationNames.counts)
        try tables.verify(path)
        var shown = ListAssembler(chunks, shownMaps, present: present)
        let order = options.sort ? sort(returnsOrder: !shown.isEmpty) : nil
        let total = chunks.reduce(0) { $0 + $1.count }
        if !shown.isEmpty {
            shown.join(
                requests: order == nil ? [] : chunks.flatMap(\.times), owners: numbers(\.users, maps.map(\.users)),
                order: order, count: total)
        }
        cut()
        let count = chunks.reduce(0) { $0 + $1.count }
        guard count > 0 else {
            let left = options.skip > 0 ? "no request is left after the first \(options.skip)" : "holds no request"
            throw TraceError(
                file: path, message: report.badLines > 0 ? "\(left) (\(report.badLines) bad lines)" : left)
        }
        let assembler = self
        let ((keys, sized), (times, users)) = concurrently(
            { assembler.numberedKeys(count: count) },
            { (assembler.timeColumn(count: count), assembler.userColumn(count: count)) })
        let sizes = try sized.get()
        var categories = categoryColumns(keys: keys, count: count)
        var lists: ShownLists?
        if present.contains(.lists) {
            let skipped = min(max(options.skip, 0), total)
            lists = shown.lists(
                kept: skipped..<(skipped + count), isCut: options.limit.map { $0 <= count } ?? false, tables,
                objects: keys, owners: users, &categories, sizes: sizes, options: options,
                leftOut: &report.itemsBeyondLimit)
            var sum = ByteSum()
            sum.add(lists?.shownOnlySizes ?? [])
            if !sum.isAccepted { throw ByteSum.fault(path) }
        }
        report.sizeDisagreements = sizes.disagreements
        report.unknownSizes = sizes.unknown
        report.noSizes = sizes.areNone
        let lifetimes = chunks.flatMap(\.lifetimes)
        if present.contains(.lifetimes) { report.lifetimes = lifetimes.count { $0 > 0 } }
        report.noTimes = !present.contains(.times)
        chunks = []
        var names = TraceNames()
        if options.names.contains(.keys) { names.keys = tables.keys.names(keys.order) }
        if options.names.contains(.categories) { names.categories = categories.names }
        if options.names.contains(.users), let users { names.users = tables.users.names(users.order) }
        return Trace(
            entries: keys.numbers, times: times, users: users?.numbers ?? [], objectSizes: sizes.objects,
            requestSizes: sizes.requests, objectCategories: categories.objects, requestCategories: categories.requests,
            lifetimes: lifetimes,
            categorySets: categories.splitter.sets, categoryCount: categories.count,
            userCount: users?.order.count ?? 0, sizeUnit: sizes.unit, names: names, report: report, lists: lists)
    }

    /// Returns the objects by first request, and their sizes.
    private func numberedKeys(count: Int) -> (Numbering, Result<ObjectSizes, TraceError>) {
        let keys = Numbering(chunks, \.keys, maps.map(\.keys), known: tables.keys.count)
        do throws(TraceError) {
            let sizes = try ObjectSizes(
                chunks, keys: keys, tables.keys, rule: options.sizes, hasColumn: present.contains(.sizes),
                path: path)
            return (keys, .success(sizes))
        } catch {
            return (keys, .failure(error))
        }
    }

    /// Removes the chunks after the last requested request and throws the first problem before it.
    mutating func checkOrder() throws(TraceError) {
        let end = options.sort ? nil : options.limit.map { options.skip > Int.max - $0 ? Int.max : options.skip + $0 }
        var requests = 0
        var lines = 0
        var last = Int64.min
        var source = 0
        // The source of the last time.
        var timed = 0
        for index in chunks.indices {
            let chunk = chunks[index]
            if let end, requests >= end {
                chunks.removeSubrange(index...)
                break
            }
            if let failure = chunk.failure { throw failure }
            if chunk.source != source { lines = 0 }
            source = chunk.source
            let place = places[chunk.source]
            if let first = chunk.span?.first, first < last, !options.sort {
                let (line, column) = (chunk.firstLine, chunk.firstTimeColumn)
                throw place.error(
                    source != timed
                        ? place.seam(line, column: column, first, last, of: places[timed].path)
                        : .backwards(line, column: column, first, last, place.timeUnit), linesAbove: lines)
            }
            requests += chunk.count
            if let problem = chunk.problem, end.map({ requests < $0 }) ?? true {
                throw place.error(problem, linesAbove: lines)
            }
            if let time = chunk.span?.last { (last, timed) = (time, source) }
            lines += chunk.lines
            report.badLines += chunk.badLines
            report.unansweredReads += chunk.unansweredReads
            report.repeatedHeaders += chunk.repeatedHeaders
            if !report.parts.isEmpty { report.parts[source].requests += chunk.count }
            operations[source].add(chunk.operations)
            operationNames.add(chunk.operationNames)
        }
    }

    /// Sorts all requests by time; equal times keep their order. O(n), and O(n log n) if they are out of order.
    ///
    /// - Returns: the numbers of the requests in their new order, if `returnsOrder`.
    mutating func sort(returnsOrder: Bool) -> [Int]? {
        var outOfOrder = 0
        var latest = Int64.min
        for chunk in chunks {
            for time in chunk.times {
                if time < latest { outOfOrder += 1 } else { latest = time }
            }
        }
        report.outOfOrder = outOfOrder
        guard outOfOrder > 0 else { return returnsOrder ? Array(0..<chunks.reduce(0) { $0 + $1.count }) : nil }
        let times = chunks.flatMap(\.times)
        if times.count <= options.narrowSort {
            let order = Self.order(of: times, as: UInt32.self)
            reorder(times, by: order)
            return returnsOrder ? order.map { Int($0) } : nil
        }
        let order = Self.order(of: times, as: Int.self)
        reorder(times, by: order)
        return returnsOrder ? order : nil
    }

    /// Returns the positions of times in ascending order; equal times keep their order. O(n log n).
    ///
    /// - Parameter type: the type of positions; 32 bits for up to 2³² times.
    static func order<Position: FixedWidthInteger & Sendable>(of times: [Int64], as type: Position.Type) -> [Position] {
        var order = [Position](unsafeUninitializedCapacity: times.count) { numbers, count in
            for index in times.indices { numbers.initializeElement(at: index, to: Position(index)) }
            count = times.count
        }
        times.withUnsafeBufferPointer { times in
            order.sort { (times[Int($0)], $0) < (times[Int($1)], $1) }
        }
        return order
    }

    /// Replaces the chunks by pieces of all requests in another order.
    private mutating func reorder(_ times: [Int64], by order: [some FixedWidthInteger]) {
        let sizes = chunks.flatMap { chunk in (0..<chunk.sizes.count).map { chunk.sizes[$0] } }
        let lifetimes = chunks.flatMap(\.lifetimes)
        let keys = numbers(\.keys, maps.map(\.keys))
        let categories = numbers(\.categories, maps.map(\.categories))
        let users = numbers(\.users, maps.map(\.users))
        var pieces: [ChunkRows] = []
        for start in stride(from: 0, to: order.count, by: options.sortedPiece) {
            let part = order[start..<min(start + options.sortedPiece, order.count)]
            func column(_ numbers: [UInt32]) -> NameColumn {
                if numbers.isEmpty { return NameColumn() }
                return NameColumn(
                    numbers: part.map { numbers[Int($0)] }, firsts: (0..<part.count).map { UInt32($0) })
            }
            var piece = ChunkRows()
            piece.times = TimeColumn(part.map { times[Int($0)] })
            piece.keys = column(keys)
            piece.categories = column(categories)
            piece.users = column(users)
            piece.lifetimes = lifetimes.isEmpty ? [] : part.map { lifetimes[Int($0)] }
            piece.sizes = sizes.isEmpty ? .empty : .wide(part.map { sizes[Int($0)] })
            pieces.append(piece)
        }
        chunks = pieces
        maps = [NameMaps()]
    }

    /// Returns a column of names of all chunks, with the numbers of the common table.
    private func numbers(_ column: KeyPath<ChunkRows, NameColumn>, _ maps: [[UInt32]]) -> [UInt32] {
        var all: [UInt32] = []
        for chunk in chunks {
            let map = maps[chunk.worker]
            if map.isEmpty {
                all += chunk[keyPath: column].numbers
            } else {
                all += chunk[keyPath: column].numbers.map { $0 == NameTable.none ? $0 : map[Int($0)] }
            }
        }
        return all
    }

    /// Removes the requests outside `skip` and `limit`.
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

    /// Returns the category columns; numbers sets and categories in the order of their first request.
    func categoryColumns(keys: Numbering, count: Int) -> CategoryColumns {
        var columns = CategoryColumns()
        guard present.contains(.categories) else { return columns }
        let fields = Numbering(
            chunks, \.categories, maps.map(\.categories), known: tables.categories.count)
        var splitter = CategorySplitter()
        let texts = tables.categories.names(fields.order)
        let sets = (0..<texts.count).map { splitter.set(of: texts.utf8(UInt32($0))) }
        columns.splitter = splitter
        columns.count = splitter.names.count
        guard columns.count > 0 else { return columns }
        columns.objects = keys.firstRequests.map { request in
            let field = fields.numbers[request]
            return field == NameTable.none ? 0 : sets[Int(field)]
        }
        let requests = fields.numbers.map { $0 == NameTable.none ? 0 : sets[Int($0)] }
        let changes = zip(requests, keys.numbers).contains { $0 != columns.objects[Int($1)] }
        if changes { columns.requests = requests }
        return columns
    }

    /// Returns the users, or `nil` if none is known.
    func userColumn(count: Int) -> Numbering? {
        guard present.contains(.users) else { return nil }
        let users = Numbering(chunks, \.users, maps.map(\.users), known: tables.users.count)
        return users.order.isEmpty ? nil : users
    }

    /// Returns the times, in the narrowest form that is exact.
    func timeColumn(count: Int) -> TimeColumn {
        guard present.contains(.times) else {
            return TimeColumn(count: count)
        }
        return TimeColumn(joining: chunks.map(\.times))
    }
}

/// The category columns of a trace.
struct CategoryColumns {
    /// The set of each object; empty without categories.
    var objects: [UInt32] = []
    /// The set of each request; empty unless an object's categories change.
    var requests: [UInt32] = []
    /// The sets, and the categories' names by number.
    var splitter = CategorySplitter()
    /// The number of categories of the requests; those of lists alone follow.
    var count = 0
    /// The names of the requests' categories.
    var names: StringTable {
        if count == splitter.names.count { return splitter.names }
        var names = StringTable()
        for number in 0..<UInt32(count) { names.append(utf8: splitter.names.utf8(number)) }
        return names
    }
}
