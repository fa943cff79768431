/// The fields of a published trace that a parser uses, by their places in a line.
struct PresetFields: Sendable {
    let preset: TracePreset
    let fieldCount: Int
    let key: Int
    let time: Int?
    let size: Int?
    let category: Int?
    let user: Int?
    let operation: Int?
    let repeats: Int?
    /// The items that were shown; `nil` if the preset has no lists, or the key's column has them.
    let items: Int?
    /// The prices of these items.
    let prices: Int?
    /// Whether the item of the row was opened.
    let event: Int?
    /// The id of the list.
    let list: Int?
    /// A second size that is added to the first one.
    let keySize: Int?
    /// The last field of a key that consists of several; `key` if it is one.
    let lastOfKey: Int
    /// The columns and their roles, for a report.
    let use: ColumnUse

    /// Finds the columns by name.
    ///
    /// - Throws: ``TraceError`` if a column is missing or occurs twice, or `wanted` names the key or the time.
    init(_ preset: TracePreset, names: [String], wanted: ColumnNames, path: String) throws(TraceError) {
        func fault(_ message: String) -> TraceError {
            TraceError(file: path, line: preset.fieldNames == nil ? 1 : nil, message: message)
        }
        let columns = names.prefix(16).map { quoted($0) }.joined(separator: ", ")
        func place(_ name: String, _ title: String) throws(TraceError) -> Int? {
            let found = names.indices.filter { names[$0] == name }
            if found.count > 1 { throw fault("column \(quoted(name)) occurs \(found.count) times in the header") }
            return found.first
        }
        func required(_ name: String, _ title: String) throws(TraceError) -> Int {
            guard let place = try place(name, title) else {
                let advice =
                    preset == .contentwise && title == "list"
                    ? "join the lists of impressions-direct-link to the interactions on recommendation_id first; " : ""
                throw fault(
                    "there is no column \(quoted(name)) for the \(title), which the preset \(preset.rawValue) needs; \(advice)the "
                        + "columns are \(columns)")
            }
            return place
        }
        if ColumnUse.Role.allCases.contains(where: { ![.size, .category, .user].contains($0) && wanted[$0] != nil }) {
            throw fault(
                "the preset \(preset.rawValue) fixes the columns of key and time; only size, category and user can be "
                    + "named")
        }
        var places: [ColumnUse.Role: Int] = [:]
        for role in ColumnUse.Role.allCases {
            if let name = wanted[role] {
                places[role] = try required(name, role.rawValue)
            } else if let name = preset.columns[role] {
                if preset.optional.contains(role) {
                    places[role] = try place(name, role.rawValue)
                } else {
                    places[role] = try required(name, role.rawValue)
                }
            }
        }
        self.preset = preset
        fieldCount = names.count
        key = places[.key] ?? 0
        time = places[.time]
        size = places[.size]
        category = places[.category]
        user = places[.user]
        var extra: [Int] = []
        switch preset {
        case .metaKV:
            operation = try required("op", "operation")
            repeats = try required("op_count", "number of operations")
        case .twitter:
            operation = try required("operation", "operation")
            repeats = nil
        case .trivago:
            operation = try required("action_type", "operation")
            repeats = nil
        case .metaCDN, .wikimediaUpload, .tencentPhoto, .ebnerd, .mind, .kuairand, .contentwise:
            (operation, repeats) = (nil, nil)
        }
        event = places[.event]
        self.list = places[.list]
        switch preset {
        case .ebnerd: items = try required("article_ids_inview", "list")
        case .trivago: items = try required("impressions", "list")
        case .contentwise: items = try required("recommended_series_list", "list")
        default: items = nil
        }
        prices = preset == .trivago && category == nil ? try required("prices", "category") : nil
        extra += [items, prices].compactMap { $0 }
        keySize = preset == .twitter && wanted.size == nil ? try place("key_size", "size") : nil
        lastOfKey = preset == .tencentPhoto ? try required("size_category", "key") : key
        extra += [operation, repeats, keySize].compactMap { $0 }
        extra += key...lastOfKey
        var use = ColumnUse()
        use.isPreset = true
        for role in ColumnUse.Role.allCases {
            var name = places[role].map { names[$0] }
            if role == .key { name = names[key...lastOfKey].joined(separator: "|") }
            if role == .category, category == nil {
                if preset == .twitter { name = "namespace of key" }
                if preset == .tencentPhoto { name = names[(key + 1)...lastOfKey].joined(separator: "|") }
                if let prices { name = names[prices] }
            }
            if role == .size, let keySize, let own = name { name = "\(names[keySize])+\(own)" }
            if let name { use.used.append(ColumnUse.Column(role: role, name: name)) }
        }
        let used = Set(places.values).union(extra)
        use.unused = names.indices.filter { !used.contains($0) }.map { names[$0] }
        self.use = use
    }

    /// The columns beside keys.
    var present: PresentColumns {
        var present: PresentColumns = []
        if time != nil { present.insert(.times) }
        if size != nil { present.insert(.sizes) }
        if category != nil || preset == .twitter || preset == .tencentPhoto { present.insert(.categories) }
        if user != nil { present.insert(.users) }
        if preset.hasLists { present.insert(.lists) }
        if prices != nil { present.insert(.categories) }
        return present
    }
}
