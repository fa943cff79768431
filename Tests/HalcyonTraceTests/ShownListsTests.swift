import HalcyonSupport
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

/// Lists that were shown, beside the requests of a trace.
@Suite(.timeLimit(.minutes(20))) struct ShownListsTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Two users whose rows mix, objects that are only shown (x, z), a user without a request (w), a category of lists alone (q).
    static let feed = """
        time,user,key,size,category,event
        1,u,x,5,n,shown
        1,v,a,7,n,Shown
        1,u,a,7,n,shown
        2,u,a,9,n,opened
        2,w,x,0,q,shown
        3,u,z,0,q|n,shown
        3,u,b,4,p,shown
        3,v,b,4,p,request
        3,u,c,3,p,shown
        3,u,b,4,p,OPENED
        3,u,x,5,n,shown
        4,,c,3,p,shown

        """

    func load(_ text: String, _ options: TraceLoadOptions = .with { $0.names = .all }, name: String = "t.csv") throws
        -> Trace
    {
        try Trace.load(folder.file(name, text), options)
    }

    /// Writes each list with names: the requests before it, its time, its user, its items with size and categories.
    static func text(_ trace: Trace) -> [String] {
        (trace.lists?.elements ?? []).map { list in
            func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }
            let kinds = trace.names.categories.joined(with: trace.lists?.names.categories ?? StringTable())
            let items = list.objects.enumerated().map { index, object in
                let set = list.categories.isEmpty ? 0 : list.categories[index]
                let categories = trace.categorySets[set].map { kinds[$0] }
                return
                    "\(text(trace.key(ofObject: object)))/\(trace.size(ofObject: object))/\(categories.joined(separator: "|"))"
            }
            let user = list.user == Trace.noUser ? "-" : text(trace.name(ofUser: list.user))
            return "\(list.position) \(list.time / 1_000_000) \(user): \(items.joined(separator: " "))"
        }
    }

    @Test func consecutiveRowsOfOneUserAndTimeAreOneList() throws {
        let trace = try load(Self.feed)
        #expect(
            Self.text(trace) == [
                "0 1 u: x/5/n a/9/n", "0 1 v: a/9/n", "1 2 w: x/5/q",
                "1 3 u: z/1/q|n b/4/p c/3/p", "3 3 u: x/5/n", "3 4 -: c/3/p",
            ])
        #expect(trace.objectCount == 2 && trace.allObjectCount == 5)
        #expect(trace.lists?.shownOnlySizes == [5, 1, 3])
        #expect(trace.userCount == 2 && trace.categoryCount == 2)
        let names = try #require(trace.lists?.names)
        #expect((0..<3).map { names.keys[$0] } == ["x", "z", "c"])
        #expect((0..<UInt32(names.users.count)).map { names.users[$0] } == ["w"])
        #expect((0..<UInt32(names.categories.count)).map { names.categories[$0] } == ["q"])
    }

    @Test func requestsAreThoseOfTheFileWithoutItsLists() throws {
        let trace = try load(Self.feed)
        let rows = Self.feed.split(separator: "\n").filter { !$0.lowercased().hasSuffix("shown") }
        let alone = try load(rows.joined(separator: "\n") + "\n", name: "alone.csv")
        #expect(alone.lists?.count == 0)
        Self.expectEqualRequests(trace, alone)
        #expect(trace.fingerprint != alone.fingerprint)
    }

    static func expectEqualRequests(_ trace: Trace, _ other: Trace) {
        #expect(trace.entries == other.entries && Array(trace.times) == Array(other.times))
        #expect(trace.users == other.users && trace.userCount == other.userCount)
        #expect(trace.objectSizes == other.objectSizes && trace.requestSizes == other.requestSizes)
        #expect(trace.objectCategories == other.objectCategories)
        #expect(trace.requestCategories == other.requestCategories)
        #expect(trace.categoryCount == other.categoryCount && trace.names == other.names)
        #expect(trace.report == other.report)
    }

    @Test func listsWithoutEventsHaveTheFingerprintOfTheRequests() throws {
        let plain = try load("time,key\n1,a\n2,b\n")
        let events = try load("time,key,event\n1,a,request\n2,b,opened\n", name: "e.csv")
        #expect(plain.lists == nil && events.lists?.count == 0)
        #expect(plain.fingerprint == events.fingerprint)
    }

    @Test func positionsOrderAListAndIDsSeparateTwo() throws {
        let text = """
            time,user,key,event,position,list
            1,u,a,shown,3,7
            1,u,b,shown,,7
            1,u,c,shown,1,7
            1,u,d,shown,2,8
            1,u,e,shown,1,8
            1,u,a,opened,,

            """
        #expect(Self.text(try load(text)) == ["0 1 u: c/1/ a/1/ b/1/", "0 1 u: e/1/ d/1/"])
        let named = text.replacing("event,position,list", with: "what,rank,page")
        let options = TraceLoadOptions.with {
            $0.names = .all
            $0.columns = ColumnNames(event: "what", position: "rank", list: "page")
        }
        #expect(Self.text(try load(named, options)) == ["0 1 u: c/1/ a/1/ b/1/", "0 1 u: e/1/ d/1/"])
    }

    @Test func withoutTimesAListIsOneSecondBeforeTheNextRequest() throws {
        let trace = try load("key,event\na,shown\nb,shown\nb,request\nc,shown\nb,request\n")
        #expect(Self.text(trace) == ["0 -1 -: a/1/ b/1/", "1 0 -: c/1/"])
    }

    @Test func faultsNameLineAndColumnAndWhatIsAccepted() throws {
        #expect(throws: TraceError.self) { try load("time,key,event\n1,a,shown\n2,b,view\n") }
        do { _ = try load("time,key,event\n1,a,shown\n2,b,view\n") } catch let error as TraceError {
            #expect(error.line == 3 && error.column == 5)
            #expect(
                error.message.hasPrefix("'view' is not an event; request, opened (a synonym) and shown are accepted"))
        }
        do { _ = try load("time,key,event,position\n1,a,shown,-1\n") } catch let error as TraceError {
            #expect(error.line == 2 && error.column == 11)
            #expect(error.message.hasPrefix("position '-1' is not a place in a list; whole numbers"))
        }
        var options = TraceLoadOptions()
        options.columns = ColumnNames(position: "rank")
        do { _ = try load("time,key,rank\n1,a,1\n", options) } catch let error as TraceError {
            #expect(error.message.hasPrefix("--columns position=rank is for lists, and there is no column of events"))
        }
        do { _ = try load("time,key,event\n1,a,shown\n") } catch let error as TraceError {
            #expect(error.message == "holds no request")
        }
        // A time that decreases is one of any row.
        do { _ = try load("time,key,event\n2,a,shown\n1,a,request\n") } catch let error as TraceError {
            #expect(error.line == 3 && error.column == 1)
        }
        options = .with {
            $0.names = .all
            $0.skipBadLines = true
        }
        let trace = try load("time,key,event\n1,a,shown\n1,b,view\n1,c,shown\n2,a,request\n", options)
        #expect(Self.text(trace) == ["0 1 -: a/1/ c/1/"] && trace.report.badLines == 1)
    }

    @Test func longListsAreCutAndSaid() throws {
        let rows = (0..<100_007).map { "1,\($0),shown\n" }.joined()
        let trace = try load("time,key,event\n\(rows)2,5,opened\n")
        #expect(trace.lists?.count == 1 && trace.lists?.itemCount == ShownLists.mostItems)
        #expect(trace.report.itemsBeyondLimit == 7)
    }

    @Test func aStreamLeavesListsOutAndCountsThem() throws {
        let path = try folder.file("t.csv", Self.feed)
        for bytes in [1, 40, 1 << 20] {
            let options = TraceLoadOptions.with { $0.chunkBytes = bytes }
            var stream = try TraceStream(path, options)
            var batch = StreamBatch()
            var entries: [UInt32] = []
            while try stream.next(into: &batch) { entries += batch.entries }
            #expect(entries == (try Trace.load(path, options)).entries)
            #expect(stream.report.unreadItems == 9)
        }
    }

    @Test func aCSVKeepsLists() throws {
        let twins = """
            time,user,key,event,list
            1,u,a,shown,1
            1,u,b,shown,2
            1,u,b,opened,

            """
        for text in [Self.feed, twins, "key,event\na,shown\nb,shown\nb,request\nc,shown\nb,request\n"] {
            let trace = try load(text)
            let path = folder.path + "/out.csv"
            try TraceWriter.writeCSV(trace, to: path)
            let again = try Trace.load(path, .with { $0.names = .all })
            #expect(Self.text(again) == Self.text(trace))
            #expect(again.fingerprint == trace.fingerprint)
            #expect(TraceWriter.losses(of: trace, in: .csv).isEmpty || trace.report.sizeDisagreements > 0)
            #expect(TraceWriter.losses(of: trace, in: .oracleGeneral).contains { $0.hasSuffix("of what was shown") })
        }
    }

    @Test func compressedAndContinuedFilesHaveLists() throws {
        let trace = try load(Self.feed)
        let path = folder.path + "/t.csv.zst"
        try TraceWriter.writeCSV(trace, to: path)
        let gzip = folder.path + "/t.csv.gz"
        try TraceWriter.writeCSV(trace, to: gzip)
        for path in [path, gzip] {
            #expect(Self.text(try Trace.load(path, .with { $0.names = .all })) == Self.text(trace))
        }
        // The second file begins within a list.
        let lines = Self.feed.split(separator: "\n", omittingEmptySubsequences: true)
        let first = try folder.file("1.csv", lines.prefix(7).joined(separator: "\n") + "\n")
        let second = try folder.file("2.csv", ([lines[0]] + lines.dropFirst(7)).joined(separator: "\n") + "\n")
        let joined = try Trace.load(
            first,
            .with {
                $0.names = .all
                $0.continuations = [second]
            })
        #expect(Self.text(joined) == Self.text(trace))
        #expect(joined.fingerprint == trace.fingerprint)
    }

    @Test func delayMovesOpeningsAtTheTimeOfTheirList() throws {
        let text = """
            time,user,key,event
            1,u,a,shown
            1,u,b,shown
            1,u,b,opened
            1,u,c,request
            2,v,a,request
            2,u,a,opened
            3,v,c,shown
            3,u,c,request
            3,v,c,opened

            """
        let trace = try load(text)
        let (later, moved) = trace.delayingOpenings()
        // b at 1 s and v's c at 3 s; u's a came a second after the list, c was shown to v alone.
        #expect(moved == 2)
        #expect(Array(later.times) == [1, 2, 2, 3, 3, 5].map { $0 * 1_000_000 })
        let keys = later.entries.map { later.names.keys[$0] }
        #expect(keys == ["c", "a", "a", "b", "c", "c"])
        #expect(later.users.map { later.names.users[$0] } == ["u", "v", "u", "u", "u", "v"])
        // b is at 3 s now, and was before the list of 3 s.
        #expect(Self.text(later) == ["0 1 u: a/1/ b/1/", "4 3 v: c/1/"])
        #expect(trace.delayingOpenings(by: TimeSpan(microseconds: 0)).moved == 0)
        #expect(trace.delayingOpenings(by: TimeSpan(microseconds: 0)).trace.fingerprint == trace.fingerprint)
    }

    @Test func shufflingPutsListsBeforeTheOpeningsOfTheirTime() throws {
        let text = """
            time,user,key,event
            1,u,a,shown
            1,u,a,opened
            1,v,b,shown
            1,u,c,shown
            1,u,c,opened
            1,u,d,opened
            2,u,c,shown

            """
        let trace = try load(text)
        var orders: Set<[String]> = []
        for seed in 0..<60 {
            let shuffled = trace.shufflingSimultaneous(seed: UInt64(seed))
            #expect(Self.text(shuffled) == ["0 1 u: a/1/", "0 1 u: c/1/", "1 1 v: b/1/", "3 2 u: c/1/"])
            orders.insert(shuffled.entries.map { shuffled.names.keys[$0] })
        }
        #expect(orders.count == 6)
        let apart = try load("time,key,event\n1,a,request\n1,b,shown\n2,b,request\n2,c,shown\n", name: "apart.csv")
        #expect(apart.shufflingSimultaneous(seed: 1).fingerprint == apart.fingerprint)
    }

    @Test func keptObjectsAreKeptInLists() throws {
        let trace = try load(Self.feed)
        let kept = trace.keeping { object in
            ["a", "x", "c"].contains { trace.key(ofObject: object).elementsEqual($0.utf8) }
        }
        #expect(kept.objectCount == 1)
        #expect(
            Self.text(kept) == [
                "0 1 u: x/5/n a/9/n", "0 1 v: a/9/n", "1 2 w: x/5/q", "1 3 u: c/3/p", "1 3 u: x/5/n", "1 4 -: c/3/p",
            ])
        #expect(trace.sample(ofObjects: 1).fingerprint == trace.fingerprint)
        for seed in 1..<9 {
            let sample = trace.sample(ofObjects: 0.5, seed: UInt64(seed))
            let names = (0..<UInt32(sample.allObjectCount)).map {
                String(decoding: sample.key(ofObject: $0), as: UTF8.self)
            }
            let whole = trace.keeping { object in names.contains { trace.key(ofObject: object).elementsEqual($0.utf8) }
            }
            #expect(Self.text(sample) == Self.text(whole) && sample.fingerprint == whole.fingerprint)
        }
    }
}

/// Random files with lists, read in chunks of all sizes, compared with a naive reader that knows no chunks and no numbers.
@Suite(.timeLimit(.minutes(20))) struct ShownListsPropertyTests {
    struct Row {
        var time: Int
        var user: String
        var key: String
        var size: Int
        var category: String
        var isShown: Bool
        var rank: Int?
        var list: String
    }

    /// Returns random rows.
    ///
    /// - Parameter stable: whether an object has one size and one category, so that they do not depend on its first request.
    static func rows(_ seed: Int, sorted: Bool, stable: Bool = false) -> [Row] {
        var random = SeededGenerator(seed: UInt64(seed))
        var rows: [Row] = []
        for index in 0..<200 {
            let key = random.below(25)
            let isUnknown = !stable && random.below(4) == 0
            rows.append(
                Row(
                    time: sorted ? index / (1 + seed % 7 * 3) : random.below(12),
                    user: ["", "u", "v", "w"][random.below(4)],
                    key: key % 3 == 0 ? "k\(key)" : "\(key)", size: isUnknown ? 0 : 10 + key,
                    category: stable ? "c\(key % 4)" : ["", "x", "y|x", "z\(key % 4)"][random.below(4)],
                    isShown: random.below(3) > 0, rank: seed % 3 == 0 && random.below(5) > 0 ? random.below(6) : nil,
                    list: seed % 2 == 0 ? "\(random.below(2))" : ""))
        }
        return rows
    }

    static func csv(_ rows: [Row]) -> String {
        "time,user,key,size,category,event,position,list\n"
            + rows.map {
                "\($0.time),\($0.user),\($0.key),\($0.size),\($0.category),\($0.isShown ? "shown" : "opened"),"
                    + "\($0.rank.map { "\($0)" } ?? ""),\($0.list)\n"
            }.joined()
    }

    /// Returns the lists as ``ShownListsTests/text(_:)`` does, by the rule of the documentation.
    static func naive(_ rows: [Row]) -> [String] {
        let inOrder = rows.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map {
            $0.element
        }
        let hasSizes = rows.contains { !$0.isShown && $0.size > 0 }
        func size(_ key: String) -> Int {
            let first = inOrder.first { !$0.isShown && $0.key == key } ?? inOrder.first { $0.key == key }
            return hasSizes ? max(first?.size ?? 0, 1) : 1
        }
        var lists: [(requests: Int, rows: [Row])] = []
        // The list that a user's next row may continue.
        var last: [String: Int] = [:]
        var requests = 0
        for row in inOrder {
            guard row.isShown else {
                last[row.user] = nil
                requests += 1
                continue
            }
            if let list = last[row.user], lists[list].rows[0].time == row.time, lists[list].rows[0].list == row.list {
                lists[list].rows.append(row)
            } else {
                last[row.user] = lists.count
                lists.append((requests, [row]))
            }
        }
        return lists.map { list in
            let items = list.rows.enumerated().sorted {
                ($0.element.rank ?? .max, $0.offset) < ($1.element.rank ?? .max, $1.offset)
            }.map { "\($0.element.key)/\(size($0.element.key))/\($0.element.category)" }
            let first = list.rows[0]
            return
                "\(list.requests) \(first.time) \(first.user.isEmpty ? "-" : first.user): \(items.joined(separator: " "))"
        }
    }

    @Test(arguments: 0..<12) func loadingAgreesWithTheNaiveReader(seed: Int) throws {
        let folder = try TemporaryFolder()
        for isSorted in [true, false] {
            let rows = Self.rows(seed, sorted: isSorted)
            let path = try folder.file("t.csv", Self.csv(rows))
            let alone = try folder.file("alone.csv", Self.csv(rows.filter { !$0.isShown }))
            var fingerprints: Set<String> = []
            for (bytes, threads) in [(1, 1), (3, 2), (90, 4), (777, 2), (1 << 20, 1)] {
                let options = TraceLoadOptions.with {
                    $0.chunkBytes = bytes
                    $0.threads = threads
                    $0.names = .all
                    $0.sort = !isSorted
                }
                let trace = try Trace.load(path, options)
                #expect(ShownListsTests.text(trace) == Self.naive(rows))
                ShownListsTests.expectEqualRequests(trace, try Trace.load(alone, options))
                fingerprints.insert(trace.fingerprint)
            }
            #expect(fingerprints.count == 1)
        }
    }

    @Test(arguments: 0..<8) func partsAgreeWithPartsThatAreLoaded(seed: Int) throws {
        let folder = try TemporaryFolder()
        let path = try folder.file("t.csv", Self.csv(Self.rows(seed, sorted: true, stable: true)))
        let whole = try Trace.load(path, .with { $0.names = .all })
        for (skip, limit) in [(0, nil), (0, 1), (3, nil), (7, 20), (0, whole.count), (10, whole.count - 10), (2, 999)] {
            for bytes in [1, 200, 1 << 20] {
                let loaded = try Trace.load(
                    path,
                    .with {
                        $0.names = .all
                        $0.skip = skip
                        $0.limit = limit
                        $0.chunkBytes = bytes
                    })
                let part = whole.selection(skip: skip, limit: limit).trace
                #expect(ShownListsTests.text(loaded) == ShownListsTests.text(part))
                // A part keeps the columns of the whole: one request shows no user and no category.
                if limit != 1 { #expect(loaded.fingerprint == part.fingerprint) }
            }
        }
        let users = whole.selection(withUserOnly: true).trace
        #expect(!users.users.contains(Trace.noUser) && users.lists?.users.contains(Trace.noUser) == false)
    }

    @Test(arguments: 0..<8) func aWarmUpTraceIsAsTheFirstOfTwoFiles(seed: Int) throws {
        let folder = try TemporaryFolder()
        let rows = Self.rows(seed, sorted: true)
        // The second file is later, so that no list is in both.
        let cut = 90
        let later = rows[cut...].map { row in
            var row = row
            row.time += 500
            return row
        }
        let first = try folder.file("1.csv", Self.csv(Array(rows[..<cut])))
        let second = try folder.file("2.csv", Self.csv(later))
        let all = TraceLoadOptions.with { $0.names = .all }
        let joined = try Trace.load(second, all).warmed(by: Trace.load(first, all))
        let whole = try Trace.load(
            first,
            .with {
                $0.names = .all
                $0.continuations = [second]
            })
        #expect(ShownListsTests.text(joined) == ShownListsTests.text(whole))
        #expect(joined.allObjectCount == whole.allObjectCount && joined.entries == whole.entries)
        #expect(joined.users == whole.users && joined.objectSizes == whole.objectSizes)
        #expect(joined.lists?.objects == whole.lists?.objects && joined.lists?.users == whole.lists?.users)
    }

    @Test(arguments: 0..<8) func aCSVThatIsWrittenHasTheSameLists(seed: Int) throws {
        let folder = try TemporaryFolder()
        let trace = try Trace.load(
            folder.file("t.csv", Self.csv(Self.rows(seed, sorted: true))), .with { $0.names = .all })
        let path = folder.path + "/out.csv"
        try TraceWriter.writeCSV(trace, to: path)
        let again = try Trace.load(path, .with { $0.names = .all })
        #expect(ShownListsTests.text(again) == ShownListsTests.text(trace))
    }
}
