/// The categories of objects and requests.
struct CategoryColumns {
    /// Empty without categories.
    var objects: [UInt32] = []
    /// Empty unless an object's categories change.
    var requests: [UInt32] = []
    var sets = CategorySets()
    /// The categories' names, by number.
    var names = StringTable()
}

extension TraceAssembler {
    /// Numbers sets and categories in the order of their first request.
    func categoryColumns(keys: Numbering, count: Int) -> CategoryColumns {
        var columns = CategoryColumns()
        guard present.contains(.categories) else { return columns }
        let fields = Numbering(
            chunks, \.categories, maps.map(\.categories), known: tables.categories.count)
        var splitter = CategorySplitter()
        let texts = tables.categories.names(fields.order)
        let sets = (0..<texts.count).map { splitter.set(of: texts.utf8(UInt32($0))) }
        guard splitter.names.count > 0 else { return columns }
        columns.sets = splitter.sets
        columns.names = splitter.names
        columns.objects = keys.firstRequests.map { request in
            let field = fields.numbers[request]
            return field == KeyTable.none ? 0 : sets[Int(field)]
        }
        let requests = fields.numbers.map { $0 == KeyTable.none ? 0 : sets[Int($0)] }
        let changes = zip(requests, keys.numbers).contains { $0 != columns.objects[Int($1)] }
        if changes { columns.requests = requests }
        return columns
    }

    /// The users, or `nil` if none is known.
    func userColumn(count: Int) -> Numbering? {
        guard present.contains(.users) else { return nil }
        let users = Numbering(chunks, \.users, maps.map(\.users), known: tables.users.count)
        return users.order.isEmpty ? nil : users
    }

    /// The times, in the narrowest form that is exact.
    func timeColumn(count: Int) -> TimeColumn {
        guard present.contains(.times) else {
            return TimeColumn(count: count)
        }
        return TimeColumn(joining: chunks.map(\.times))
    }
}

/// Makes sets of category fields such as `Comedy|Romance`.
///
/// Empty parts and repetitions count for nothing: `|a||a` is `a`.
struct CategorySplitter {
    private(set) var sets = CategorySets()
    private(set) var names = StringTable()
    private var numbers: [ArraySlice<UInt8>: UInt32] = [:]
    /// The last field that named each category.
    private var lastFields: [Int] = []
    private var fields = 0

    /// The number of the set that a field names. O(length).
    mutating func set(of field: ArraySlice<UInt8>) -> UInt32 {
        var members: [UInt32] = []
        fields += 1
        for part in field.split(separator: UInt8(ascii: "|")) {
            let number: UInt32
            if let known = numbers[part] {
                number = known
            } else {
                number = names.append(utf8: part)
                numbers[Array(part)[...]] = number
                lastFields.append(0)
            }
            if lastFields[Int(number)] != fields { members.append(number) }
            lastFields[Int(number)] = fields
        }
        return sets.number(of: members)
    }
}
