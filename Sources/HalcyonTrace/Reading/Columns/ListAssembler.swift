/// The shown rows of all chunks of a source, joined to lists.
///
/// In the order of time (equal times in the order of the file), consecutive shown rows of one user with one time and one
/// list id are one list. Rows of other users between them do not matter; a request of that user ends the list. Rows without
/// a user count as those of one user. In a source without times, a shown row is one second before the request after it.
struct ListAssembler: Sendable {
    /// The number of requests before each row, in the order of the file.
    private var before: [Int] = []
    private var keys: [UInt32] = []
    private var categories: [UInt32] = []
    private var users: [UInt32] = []
    private var ids: [UInt32] = []
    private var ranks: [UInt32] = []
    private var times: [Int64] = []
    private var sizes: [UInt64] = []

    /// The lists so far: the number of requests before each, its time, its user, and its rows.
    private var positions: [Int] = []
    private var listTimes: [Int64] = []
    private var listUsers: [UInt32] = []
    private var rows: [[Int]] = []

    /// Whether nothing was shown.
    var isEmpty: Bool { before.isEmpty }

    /// Collects the shown rows of chunks. O(rows).
    ///
    /// - Parameter maps: the numbers of each worker's names in the common table.
    init(_ chunks: [ChunkRows], _ maps: [NameMaps], present: PresentColumns) {
        var requests = 0
        for chunk in chunks {
            let (shown, map) = (chunk.shown, maps[chunk.worker])
            let start = requests
            requests += chunk.count
            if shown.keys.isEmpty { continue }
            func numbers(_ column: [UInt32], _ map: [UInt32]) -> [UInt32] {
                if column.isEmpty { return Array(repeating: NameTable.none, count: shown.keys.count) }
                return column.map { $0 == NameTable.none ? $0 : map[Int($0)] }
            }
            let before = shown.before.map { start + Int($0) }
            self.before += before
            keys += numbers(shown.keys, map.keys)
            categories += numbers(shown.categories, map.categories)
            users += numbers(shown.users, map.users)
            ids += numbers(shown.lists, map.lists)
            ranks += shown.ranks
            times += present.contains(.times) ? shown.times : before.map { (Int64($0) - 1) * 1_000_000 }
            sizes += shown.sizes.isEmpty ? Array(repeating: 0, count: shown.keys.count) : shown.sizes
        }
    }

    /// Joins the rows to lists. O(requests + rows · log rows).
    ///
    /// - Parameters:
    ///   - requests: the time of each request in the order of the trace; empty without times.
    ///   - owners: the user of each request, in the common table; empty without users.
    ///   - order: the number of each request in the order of the file; `nil` if it is the same.
    ///   - count: the number of requests.
    mutating func join(requests: [Int64], owners: [UInt32], order: [Int]?, count: Int) {
        var inOrder = Array(before.indices)
        if order != nil { inOrder.sort { (times[$0], $0) < (times[$1], $1) } }
        // The list that each user's next row may continue.
        var open: [UInt32: Int] = [:]
        var request = 0
        for row in inOrder {
            while request < count {
                let place = order?[request] ?? request
                let isBefore =
                    order == nil ? place < before[row] : (requests[request], place) < (times[row], before[row])
                if !isBefore { break }
                open[owners.isEmpty ? NameTable.none : owners[request]] = nil
                request += 1
            }
            let user = users[row]
            if let list = open[user], listTimes[list] == times[row], ids[rows[list][0]] == ids[row] {
                rows[list].append(row)
                continue
            }
            open[user] = positions.count
            positions.append(request)
            listTimes.append(times[row])
            listUsers.append(user)
            rows.append([row])
        }
        for list in rows.indices where rows[list].contains(where: { ranks[$0] != .max }) {
            rows[list].sort { (ranks[$0], $0) < (ranks[$1], $1) }
        }
    }

    /// Returns the lists between the first and the last request that is kept, numbered. O(rows).
    ///
    /// - Parameters:
    ///   - kept: the requests that are kept. Unless it begins with the first request, lists before it are dropped.
    ///   - isCut: whether a limit ends `kept`, so that lists after it are dropped.
    ///   - tables: the common tables of names.
    ///   - objects: the kept requests' objects by first request.
    ///   - owners: the kept requests' users by first request; `nil` if none has one.
    ///   - columns: the category columns of the requests, to which the sets of the lists are added.
    ///   - trace: the sizes of the requests.
    ///   - leftOut: the number of items beyond the first ``ShownLists/mostItems`` of a list is added to it.
    func lists(
        kept: Range<Int>, isCut: Bool, _ tables: NameTables, objects: Numbering, owners: Numbering?,
        _ columns: inout CategoryColumns, sizes trace: ObjectSizes, options: TraceLoadOptions, leftOut: inout Int
    ) -> ShownLists {
        var objects = ListNumbering(objects.order, known: tables.keys.count)
        var owners = ListNumbering(owners?.order ?? [], known: tables.users.count)
        var chosen: [(list: Int, rows: ArraySlice<Int>)] = []
        for list in positions.indices {
            if kept.lowerBound > 0, positions[list] <= kept.lowerBound { continue }
            if isCut, positions[list] >= kept.upperBound { break }
            chosen.append((list, rows[list].prefix(ShownLists.mostItems)))
            leftOut += max(0, rows[list].count - ShownLists.mostItems)
        }
        var shownOnly: [UInt64] = []
        var isKnown = [Bool](repeating: false, count: tables.categories.count)
        var fields: [UInt32] = []
        for (list, rows) in chosen {
            owners.add(listUsers[list])
            for row in rows {
                if objects.add(keys[row]) { shownOnly.append(sizes[row]) }
                let field = categories[row]
                if field != NameTable.none, !isKnown[Int(field)] {
                    isKnown[Int(field)] = true
                    fields.append(field)
                }
            }
        }
        let texts = tables.categories.names(fields)
        var sets: [UInt32: UInt32] = [:]
        for (number, field) in fields.enumerated() {
            sets[field] = columns.splitter.set(of: texts.utf8(UInt32(number)))
        }
        let hasCategories = columns.splitter.names.count > 0
        var names = TraceNames()
        if options.names.contains(.keys) { names.keys = tables.keys.names(objects.added) }
        if options.names.contains(.users) { names.users = tables.users.names(owners.added) }
        if options.names.contains(.categories) {
            for number in columns.count..<columns.splitter.names.count {
                names.categories.append(utf8: columns.splitter.names.utf8(UInt32(number)))
            }
        }
        var lists = ShownLists(
            shownOnlySizes: trace.ofShown(shownOnly, keys: objects.added, tables.keys, options.sizes), names: names)
        for (list, rows) in chosen {
            lists.append(
                position: positions[list] - kept.lowerBound, time: listTimes[list],
                user: owners[listUsers[list]], objects: rows.map { objects[keys[$0]] },
                categories: hasCategories ? rows.map { sets[categories[$0]] ?? 0 } : [])
        }
        return lists
    }
}

/// The numbers of names in the order of their first request, and after them those in lists alone, by first showing.
private struct ListNumbering {
    /// The number of each name of the common table.
    private var numbers: [UInt32]
    private let requested: Int
    /// The names in lists alone.
    private(set) var added: [UInt32] = []

    init(_ order: [UInt32], known: Int) {
        numbers = Array(repeating: NameTable.none, count: known)
        for (number, name) in order.enumerated() { numbers[Int(name)] = UInt32(number) }
        requested = order.count
    }

    /// Numbers a name, and returns whether it is new.
    @discardableResult
    mutating func add(_ name: UInt32) -> Bool {
        guard name != NameTable.none, numbers[Int(name)] == NameTable.none else { return false }
        numbers[Int(name)] = UInt32(requested + added.count)
        added.append(name)
        return true
    }

    subscript(name: UInt32) -> UInt32 { name == NameTable.none ? name : numbers[Int(name)] }
}
