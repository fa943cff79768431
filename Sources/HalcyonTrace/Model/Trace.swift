import HalcyonSupport

/// A recorded sequence of requests, in columns.
///
/// Objects, users and categories are numbered densely in the order of their first request, so a replay works with
/// small integers. Names are stored separately, and only if ``TraceLoadOptions/names`` requests them.
///
/// A request needs 4 bytes for the object and 4 for the time (8 where the times need it). It needs 4 more for the user
/// if there are users, 4 for the categories if an object's categories change over time, and 4 for the size under
/// ``SizeRule/perRequest``. A distinct object needs 8 bytes for its size and 4 for its categories.
public struct Trace: Sendable {
    /// The object of each request, numbered in order of first request.
    public let entries: [UInt32]
    /// The time of each request, in microseconds; never decreasing.
    public let times: TimeColumn
    /// The user of each request, numbered in order of first request; ``noUser`` where unknown; empty if no user is
    /// known.
    public let users: [UInt32]
    /// The size of each object in ``sizeUnit``.
    public let objectSizes: [UInt64]
    /// The size of each request in bytes if sizes change and ``SizeRule/perRequest`` applies; otherwise empty.
    public let requestSizes: [UInt32]
    /// The category set of each object, by its first request; empty if the trace has no categories.
    public let objectCategories: [UInt32]
    /// The category set of each request if the categories of an object change; otherwise empty.
    public let requestCategories: [UInt32]
    /// The lifetime of the entry that each request inserts, in seconds; 0 is none. Empty unless
    /// ``TraceLoadOptions/lifetimes`` requested them.
    ///
    /// A replay then lets an entry expire as libCacheSim's `--use-ttl` does: it is found until that many seconds after
    /// the request that inserted it, and hits do not extend that.
    public let lifetimes: [UInt32]
    /// The categories of each numbered set.
    public let categorySets: CategorySets
    /// The number of distinct categories.
    public let categoryCount: Int
    /// The number of distinct users.
    public let userCount: Int
    /// The unit of sizes: bytes or objects.
    public let sizeUnit: SizeUnit
    /// The size of every request in ``sizeUnit`` if all sizes are equal and not 0; otherwise `nil`.
    public let uniformSize: UInt64?
    /// The names of objects, categories and users that ``TraceLoadOptions/names`` requested.
    public let names: TraceNames
    /// The observations that the reader made.
    public let report: LoadReport
    /// What a log recorded beside its accesses, if ``TraceLoadOptions/recording`` requested it. A part of a trace, or
    /// one whose requests were changed, has none.
    public package(set) var recording: TraceRecording?
    /// What was shown before the requests; `nil` for a trace that records no lists.
    public let lists: ShownLists?
    /// The number of requests at the start that belong to a warm-up trace; see ``warmed(by:)``. 0 by default.
    public package(set) var warmupCount = 0

    /// The user number of a request without a user.
    public static let noUser = UInt32.max

    /// Creates a trace from its columns. O(requests).
    ///
    /// - Precondition: Each column is empty where that is allowed, or has one element for each request or object.
    ///   Numbers of objects and users are below their counts.
    public init(
        entries: [UInt32], times: TimeColumn, users: [UInt32] = [], objectSizes: [UInt64],
        requestSizes: [UInt32] = [], objectCategories: [UInt32] = [], requestCategories: [UInt32] = [],
        lifetimes: [UInt32] = [], categorySets: CategorySets = CategorySets(), categoryCount: Int = 0,
        userCount: Int = 0,
        sizeUnit: SizeUnit = .objects, names: TraceNames = TraceNames(), report: LoadReport = LoadReport(),
        lists: ShownLists? = nil
    ) {
        precondition(times.count == entries.count, "a time for each request")
        precondition(users.isEmpty || users.count == entries.count, "a user for each request, or none")
        precondition(requestSizes.isEmpty || requestSizes.count == entries.count, "a size for each request, or none")
        precondition(
            requestCategories.isEmpty || requestCategories.count == entries.count,
            "categories for each request, or none")
        precondition(lifetimes.isEmpty || lifetimes.count == entries.count, "a lifetime for each request, or none")
        precondition(
            objectCategories.isEmpty || objectCategories.count == objectSizes.count,
            "categories for each object, or none")
        let objects = objectSizes.count
        precondition(entries.allSatisfy { Int($0) < objects }, "a size for each object that is requested")
        precondition(
            lists.map { lists in
                lists.positions.last ?? 0 <= entries.count
                    && lists.objects.allSatisfy { Int($0) < objects + lists.shownOnlySizes.count }
            } ?? true, "lists of known objects, at requests of the trace")
        precondition(
            users.allSatisfy { Int($0) < userCount || $0 == Trace.noUser }, "the number of users is above each user")
        self.entries = entries
        self.times = times
        self.users = users
        self.objectSizes = objectSizes
        self.requestSizes = requestSizes
        self.objectCategories = objectCategories
        self.requestCategories = requestCategories
        self.lifetimes = lifetimes
        self.categorySets = categorySets
        self.categoryCount = categoryCount
        self.userCount = userCount
        self.sizeUnit = sizeUnit
        uniformSize =
            switch sizeUnit {
            case .objects: 1
            case .bytes:
                requestSizes.isEmpty
                    ? Self.uniformSize(of: objectSizes) : Self.uniformSize(of: requestSizes).map { UInt64($0) }
            }
        self.names = names
        self.report = report
        self.lists = lists
    }

    /// The number of requests.
    public var count: Int { entries.count }
    /// The number of distinct objects that are requested.
    public var objectCount: Int { objectSizes.count }
    /// The number of distinct objects, those that are only shown included.
    public var allObjectCount: Int { objectCount + (lists?.shownOnlySizes.count ?? 0) }
    /// Whether any request carries a category.
    public var hasCategories: Bool { categoryCount > 0 }
    /// Whether any request carries a user.
    public var hasUsers: Bool { !users.isEmpty }

    /// Returns the size of request `index` in ``sizeUnit``. O(1).
    public func size(ofRequest index: Int) -> UInt64 {
        requestSizes.isEmpty ? objectSizes[Int(entries[index])] : UInt64(requestSizes[index])
    }

    /// Returns the size of an object, also of one that is only shown, in ``sizeUnit``. O(1).
    public func size(ofObject object: UInt32) -> UInt64 {
        let index = Int(object)
        return index < objectCount ? objectSizes[index] : lists?.shownOnlySizes[index - objectCount] ?? 1
    }

    /// Returns the key of an object, also of one that is only shown, in a trace with the names of its objects. O(1).
    func key(ofObject object: UInt32) -> ArraySlice<UInt8> {
        let index = Int(object)
        return index < objectCount
            ? names.keys.utf8(object) : lists?.names.keys.utf8(UInt32(index - objectCount)) ?? []
    }

    /// Returns the name of a user, also of one with lists and no request, in a trace with the names of its users. O(1).
    func name(ofUser user: UInt32) -> ArraySlice<UInt8> {
        let index = Int(user)
        return index < userCount ? names.users.utf8(user) : lists?.names.users.utf8(UInt32(index - userCount)) ?? []
    }

    /// Returns the category set of request `index`; 0 is none. O(1).
    public func categorySet(ofRequest index: Int) -> UInt32 {
        if !requestCategories.isEmpty { return requestCategories[index] }
        return objectCategories.isEmpty ? 0 : objectCategories[Int(entries[index])]
    }

    /// Returns the user of request `index`, or ``noUser``. O(1).
    public func user(ofRequest index: Int) -> UInt32 {
        users.isEmpty ? Trace.noUser : users[index]
    }

    /// The sum of the sizes of all distinct objects (the working set of the whole trace), in ``sizeUnit``. O(objects).
    public var distinctSize: UInt64 { objectSizes.reduce(0) { $0 &+ $1 } }

    /// Returns the common size of all `sizes`; `nil` if two differ, if it is 0 or if there is none.
    private static func uniformSize<Size: UnsignedInteger>(of sizes: [Size]) -> Size? {
        guard let first = sizes.first, first > 0, sizes.allSatisfy({ $0 == first }) else { return nil }
        return first
    }

    /// The number of heap bytes that the columns hold, without names.
    package var columnBytes: Int {
        4
            * (entries.count + users.count + requestSizes.count + requestCategories.count + objectCategories.count
                + lifetimes.count)
            + 8 * objectSizes.count + times.byteCount
    }
}

/// The unit of an object's size.
public enum SizeUnit: String, Sendable, Codable {
    /// Sizes are bytes.
    case bytes
    /// Every object has size 1.
    case objects
}

/// The names of a trace's objects, categories and users. A table is empty unless ``TraceLoadOptions/names`` requested it.
public struct TraceNames: Sendable, Equatable {
    /// Keys by object number.
    public var keys = StringTable()
    /// Categories by category number.
    public var categories = StringTable()
    /// Users by user number.
    public var users = StringTable()

    /// Creates empty tables.
    public init() {}
}

/// The observations of a reader. Reports repeat those that affect the meaning of results.
public struct LoadReport: Sendable, Equatable {
    /// The number of lines skipped under `--skip-bad-lines`.
    public var badLines = 0
    /// The number of requests whose size differs from the size at the object's first request.
    public var sizeDisagreements = 0
    /// The number of objects of unknown size, which have size 1 in a trace where others have a known size.
    public var unknownSizes = 0
    /// Whether the source has no sizes, so every object has size 1.
    public var noSizes = false
    /// Whether the source has no times, so request n is placed n seconds after the first.
    public var noTimes = false
    /// The number of skipped reads of a Twitter trace: reads without a value, whose object size is unknown.
    public var unansweredReads = 0
    /// The number of requests that were out of order of time under `--sort`.
    public var outOfOrder = 0
    /// The number of accesses of a log after its clock was set back. They are placed at the latest time before them.
    public var heldTimes = 0
    /// The number of requests with a lifetime; `nil` unless ``TraceLoadOptions/lifetimes`` requested them.
    public var lifetimes: Int?
    /// The preset that was used.
    public var preset: TracePreset?
    /// The format that was read; `nil` with a preset.
    public var format: TraceFormat?
    /// Whether the first lines of the file showed the format, because neither an option nor the name did.
    public var isFormatRecognized = false
    /// What the reader of a format with fixed fields decided that its lines do not show, as one sentence; otherwise
    /// `nil`.
    public var formatRule: String?
    /// The rows by operation, in the order of the preset, of libCacheSim, or of first occurrence in a CSV; empty for a
    /// source without operations.
    ///
    /// They are counted in whole pieces of the source, so under ``TraceLoadOptions/limit`` they can exceed what was used.
    public var operations: [OperationCount] = []
    /// The number of items left out because they are beyond the first ``ShownLists/mostItems`` of their list.
    public var itemsBeyondLimit = 0
    /// The number of rows that were shown and that a stream left out.
    public var unreadItems = 0
    /// The number of skipped lines that repeat the header.
    public var repeatedHeaders = 0
    /// The columns of a CSV and the roles that they were given. Empty for formats whose fields are fixed.
    ///
    /// Of several files they are those of the first one; see ``parts``.
    public var columns = ColumnUse()
    /// The files of a trace of several (``TraceLoadOptions/continuations``); empty for one.
    public var parts: [TracePart] = []

    /// Creates a report without observations.
    public init() {}

    /// Notes the format, how it was found and what its reader decides.
    mutating func setFormat(_ format: TraceFormat?, _ isRecognized: Bool, _ options: TraceLoadOptions) {
        self.format = format
        isFormatRecognized = isRecognized
        guard let format, let rule = format.rule(options) else { return }
        formatRule = "Format \(format.rawValue)\(isRecognized ? ", as the first lines show" : ""): \(rule)."
    }
}

/// One of the files of a trace.
public struct TracePart: Sendable, Equatable {
    /// The file.
    public let path: String
    /// The number of its requests. They are counted in whole pieces of the file, so under ``TraceLoadOptions/limit``
    /// they can exceed what was used, and include those that ``TraceLoadOptions/skip`` leaves out.
    public internal(set) var requests: Int
    /// The columns of a CSV and the roles that they were given. Empty for formats whose fields are fixed.
    public let columns: ColumnUse
}

extension Trace {
    /// Returns a part of the trace as a separate trace, renumbered as if it had been loaded alone. O(requests).
    ///
    /// - Parameters:
    ///   - skip: The number of requests to skip at the start, counted after requests without a user are removed.
    ///   - limit: The largest number of requests to keep; `nil` keeps all.
    ///   - withUserOnly: Whether to remove requests without a user first.
    ///
    /// Lists before the first request are dropped if `skip` is above 0, and those after the last if `limit` ends the part.
    ///
    /// - Returns: The part, and the number of requests removed because they have no user.
    public func selection(skip: Int = 0, limit: Int? = nil, withUserOnly: Bool = false)
        -> (trace: Trace, withoutUser: Int)
    {
        var positions: [Int] = []
        var withoutUser = 0
        if withUserOnly {
            for position in 0..<count {
                if user(ofRequest: position) == Trace.noUser { withoutUser += 1 } else { positions.append(position) }
            }
        } else {
            positions = Array(0..<count)
        }
        let kept = positions.dropFirst(max(0, skip)).prefix(max(0, limit ?? .max))
        let isCut = limit.map { $0 <= kept.count } ?? false
        let lists = (lists?.elements ?? []).filter { list in
            if withUserOnly, list.user == Trace.noUser { return false }
            if skip > 0, list.position <= kept.first ?? count { return false }
            return !isCut || list.position <= kept.last ?? -1
        }
        if kept.count == count, lists.count == self.lists?.count ?? 0 { return (self, 0) }
        let part = Array(kept)
        return (self.part(part, lists: placed(lists, among: part)), withoutUser)
    }

    /// Returns the requests for the objects that `isKept` accepts as a separate trace, renumbered. O(requests).
    ///
    /// Lists keep the items that it accepts, and those without any are left out.
    public func keeping(objects isKept: (UInt32) -> Bool) -> Trace {
        let kept = (0..<allObjectCount).map { isKept(UInt32($0)) }
        let lists = (lists?.elements ?? []).compactMap { list -> ShownLists.Element? in
            var list = list
            if !list.categories.isEmpty {
                list.categories = zip(list.objects, list.categories).filter { kept[Int($0.0)] }.map { $0.1 }
            }
            list.objects.removeAll { !kept[Int($0)] }
            return list.objects.isEmpty ? nil : list
        }
        let part = (0..<count).filter { kept[Int(entries[$0])] }
        return self.part(part, lists: placed(lists, among: part))
    }

    /// Returns the same requests, those of one user at one time in a random order, renumbered. O(requests · log(requests at one time)).
    ///
    /// Many sources give the requests of a visit one time, such as the products of an order. Their order in the file says nothing of
    /// what came first. What a policy gains from it is lost in this order. The order depends on the trace and the seed alone. Requests
    /// without a user count as those of one user. Lists of that user and time keep their order and come before these requests.
    public func shufflingSimultaneous(seed: UInt64) -> Trace {
        var order = Array(0..<count)
        var lists = lists?.elements ?? []
        var list = 0
        var generator = SeededGenerator(seed: seed)
        var start = 0
        while start < count {
            var end = start + 1
            while end < count, times[end] == times[start] { end += 1 }
            let places =
                end == start + 1
                ? [] : (start..<end).sorted { (user(ofRequest: $0), $0) < (user(ofRequest: $1), $1) }
            var first = 0
            while first < places.count {
                var last = first + 1
                while last < places.count, user(ofRequest: places[last]) == user(ofRequest: places[first]) { last += 1 }
                for index in stride(from: last - 1, to: first, by: -1) {
                    order.swapAt(places[index], places[first + generator.below(index - first + 1)])
                }
                first = last
            }
            while list < lists.count, lists[list].time < times[start] { list += 1 }
            while list < lists.count, lists[list].time == times[start] {
                let own = places.filter { user(ofRequest: $0) == lists[list].user }
                if own.count > 1 { lists[list].position = min(lists[list].position, own[0]) }
                list += 1
            }
            start = end
        }
        let moved = lists.indices.sorted { (lists[$0].position, $0) < (lists[$1].position, $1) }.map { lists[$0] }
        return part(order, lists: moved)
    }

    /// Returns lists with their positions among some of the requests, which are in ascending order.
    func placed(_ lists: [ShownLists.Element], among kept: [Int]) -> [ShownLists.Element] {
        var before = 0
        return lists.map { list in
            while before < kept.count, kept[before] < list.position { before += 1 }
            var list = list
            list.position = before
            return list
        }
    }

    /// Returns the requests at these positions as a separate trace, renumbered.
    ///
    /// - Parameters:
    ///   - newTimes: the time of each request of this trace if they are others.
    ///   - lists: the lists, placed among these requests, with the numbers of this trace.
    func part(_ positions: [Int], times newTimes: [Int64]? = nil, lists elements: [ShownLists.Element]) -> Trace {
        var objects = Renumbering(count: allObjectCount)
        var owners = Renumbering(count: userCount)
        let entries = positions.map { objects.number(self.entries[$0]) }
        let users = hasUsers ? positions.map { owners.number(self.users[$0]) } : []
        var names = TraceNames()
        names.categories = self.names.categories
        // What only lists have is numbered after it.
        let (objectCount, userCount) = (objects.kept.count, owners.kept.count)
        let lists = elements.map { list in
            var list = list
            list.objects = list.objects.map { objects.number($0) }
            list.user = owners.number(list.user)
            return list
        }
        let shownOnly = objects.kept[objectCount...]
        var shownNames = TraceNames()
        shownNames.categories = self.lists?.names.categories ?? StringTable()
        if self.names.keys.count > 0 {
            for object in objects.kept[..<objectCount] { names.keys.append(utf8: key(ofObject: object)) }
            for object in shownOnly { shownNames.keys.append(utf8: key(ofObject: object)) }
        }
        if self.names.users.count > 0 {
            for user in owners.kept[..<userCount] { names.users.append(utf8: name(ofUser: user)) }
            for user in owners.kept[userCount...] { shownNames.users.append(utf8: name(ofUser: user)) }
        }
        return Trace(
            entries: entries, times: TimeColumn(positions.map { newTimes?[$0] ?? times[$0] }), users: users,
            objectSizes: objects.kept[..<objectCount].map { objectSizes[Int($0)] },
            requestSizes: requestSizes.isEmpty ? [] : positions.map { requestSizes[$0] },
            objectCategories: objectCategories.isEmpty
                ? [] : objects.kept[..<objectCount].map { objectCategories[Int($0)] },
            requestCategories: requestCategories.isEmpty ? [] : positions.map { requestCategories[$0] },
            lifetimes: lifetimes.isEmpty ? [] : positions.map { lifetimes[$0] },
            categorySets: categorySets, categoryCount: categoryCount, userCount: userCount,
            sizeUnit: sizeUnit, names: names, report: report,
            lists: self.lists.map { _ in
                ShownLists(lists, shownOnlySizes: shownOnly.map { size(ofObject: $0) }, names: shownNames)
            })
    }
}

/// New numbers, in the order in which the old ones occur.
private struct Renumbering {
    private var numbers: [UInt32]
    private(set) var kept: [UInt32] = []

    init(count: Int) { numbers = Array(repeating: .max, count: count) }

    /// Returns the new number of `old`; `UInt32.max` does not change.
    mutating func number(_ old: UInt32) -> UInt32 {
        if old == .max { return old }
        while Int(old) >= numbers.count { numbers.append(.max) }
        if numbers[Int(old)] == .max {
            numbers[Int(old)] = UInt32(kept.count)
            kept.append(old)
        }
        return numbers[Int(old)]
    }
}
