/// Puts the chunks of a parsed source together to a trace.
struct TraceAssembler: Sendable {
    var chunks: [ChunkRows]
    var tables: NameTables
    var maps: [NameMaps]
    let present: PresentColumns
    let options: LoadOptions
    let place: RowPlace
    var report = LoadReport()

    init(_ parsed: ParallelParser.Result, present: PresentColumns, options: LoadOptions, place: RowPlace) {
        chunks = parsed.chunks
        tables = parsed.tables.first ?? NameTables()
        maps = [NameMaps()]
        for other in parsed.tables.dropFirst() {
            maps.append(
                NameMaps(
                    keys: tables.keys.absorb(other.keys), categories: tables.categories.absorb(other.categories),
                    users: tables.users.absorb(other.users)))
        }
        self.present = present
        self.options = options
        self.place = place
    }

    /// The trace. Throws the first problem that lies before the last request wanted.
    mutating func trace() throws(TraceError) -> Trace {
        try checkOrder()
        if options.sort { sort() }
        cut()
        let count = chunks.reduce(0) { $0 + $1.count }
        guard count > 0 else {
            let left = options.skip > 0 ? "no request is left after the first \(options.skip)" : "holds no request"
            throw TraceError(
                file: place.path, message: report.badLines > 0 ? "\(left) (\(report.badLines) bad lines)" : left)
        }
        let assembler = self
        let ((keys, sized), (times, users)) = concurrently(
            { assembler.numberedKeys(count: count) },
            { (assembler.timeColumn(count: count), assembler.userColumn(count: count)) })
        let sizes = try sized.get()
        let categories = categoryColumns(keys: keys, count: count)
        report.sizeDisagreements = sizes.disagreements
        report.unknownSizes = sizes.unknown
        report.noSizes = sizes.areNone
        report.noTimes = !present.contains(.times)
        chunks = []
        var names = TraceNames()
        if options.names.contains(.keys) { names.keys = tables.keys.names(keys.order) }
        if options.names.contains(.categories) { names.categories = categories.names }
        if options.names.contains(.users), let users { names.users = tables.users.names(users.order) }
        return Trace(
            entries: keys.numbers, times: times, users: users?.numbers ?? [], objectSizes: sizes.objects,
            requestSizes: sizes.requests, objectCategories: categories.objects, requestCategories: categories.requests,
            categorySets: categories.sets, categoryCount: categories.names.count, userCount: users?.order.count ?? 0,
            sizeUnit: sizes.unit, names: names, report: report)
    }

    /// The objects by first request, and their sizes.
    private func numberedKeys(count: Int) -> (Numbering, Result<ObjectSizes, TraceError>) {
        let keys = Numbering(chunks, \.keys, maps.map(\.keys), known: tables.keys.count)
        do throws(TraceError) {
            let sizes = try ObjectSizes(
                chunks, keys: keys, tables.keys, rule: options.sizes, hasColumn: present.contains(.sizes),
                path: place.path)
            return (keys, .success(sizes))
        } catch {
            return (keys, .failure(error))
        }
    }
}
