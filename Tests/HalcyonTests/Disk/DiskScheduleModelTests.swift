import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("The order of operations on a disk: compared with a model", .timeLimit(.minutes(20)))
struct DiskScheduleModelTests {
    typealias Schedule = DiskSchedule<Int>

    private static let listed = Schedule.Labels(categories: ["c"])
    private static let byCategory = Schedule.Filter { _, labels in labels.categories.contains("c") }
    private static let byKey = Schedule.Filter(mayMatch: { $0 == 0 }) { key, _ in key == 0 }

    private static let mainOperations: [Schedule.Operation] = [
        .store(0), .store(0, listed), .store(1, listed), .remove(0), .clear, .removeAll(byCategory), .read(0), .settle,
    ]
    private static let operations =
        mainOperations + [.store(0, Schedule.Labels(forcedExtension: "e")), .change(0), .removeAll(byKey)]

    @Test("All sequences of up to five events of two keys follow the model")
    func allShortSequencesFollowModel() {
        var sequences = 0
        func extend(_ model: DiskScheduleModel, _ depth: Int) {
            for event in model.events(Self.mainOperations) {
                var model = model
                guard model.take(event) else { return }
                sequences += 1
                if depth > 1 { extend(model, depth - 1) }
            }
        }
        extend(DiskScheduleModel(), SoakLength.isLong ? 6 : 5)
        #expect(sequences > 30_000)
    }

    @Test("All states of three requests that ten events reach follow the model")
    func allReachableStatesFollowModel() {
        var seen: Set<DiskScheduleModel.Summary> = []
        var level = [DiskScheduleModel()]
        for _ in 0..<(SoakLength.isLong ? 16 : 10) {
            var next: [DiskScheduleModel] = []
            for before in level {
                for event in before.events(Self.operations, most: 3) {
                    var model = before
                    guard model.take(event) else { return }
                    if seen.insert(model.summary).inserted { next.append(model) }
                }
            }
            level = next
        }
        #expect(seen.count > 10_000)
    }

    @Test("Random events of many keys follow the model; at the end all callers got completions")
    func randomEventsFollowModel() {
        var random = SplitMix64(seed: 11)
        for _ in 0..<60 {
            var model = DiskScheduleModel()
            for step in 1...300 {
                let key = Int(random.next(below: 5))
                let ticket = UInt64(random.next(below: model.requestCount + 1)) + 1
                let event: Schedule.Event =
                    switch random.next(below: 16) {
                    case 0: .request(model.nextTicket, .remove(key), isPrepared: true)
                    case 1: .request(model.nextTicket, .read(key), isPrepared: true)
                    case 2 where step % 4 == 0: .request(model.nextTicket, .change(key), isPrepared: true)
                    case 2: .request(model.nextTicket, .remove(key, forcedExtension: "e"), isPrepared: true)
                    case 3 where step % 9 == 0: .request(model.nextTicket, .clear, isPrepared: true)
                    case 3 where step % 3 == 0:
                        .request(
                            model.nextTicket, .removeAll(random.next(below: 2) == 0 ? Self.byCategory : Self.byKey),
                            isPrepared: true)
                    case 3: .request(model.nextTicket, .settle, isPrepared: true)
                    case 4...5:
                        .request(
                            model.nextTicket,
                            .store(
                                key,
                                Schedule.Labels(
                                    forcedExtension: random.next(below: 4) == 0 ? "e" : nil,
                                    categories: random.next(below: 3) == 0 ? ["c"] : [])), isPrepared: false)
                    case 6...8: .prepared(ticket, succeeded: random.next(below: 5) > 0)
                    case 9...10: .begin(ticket)
                    case 11...12: .finished(ticket)
                    case 13: .cancel(ticket)
                    default: .delivered(ticket)
                    }
                guard model.take(event) else { return }
            }
            model.endAll()
        }
    }
}

/// A simple model of the schedule: one list of requests that is searched at each step.
struct DiskScheduleModel {
    typealias Schedule = DiskSchedule<Int>

    /// The requests, their phases, and whether the schedule is closing.
    struct Summary: Hashable {
        var requests: [Request]
        var isClosing: Bool
    }

    enum Phase { case preparing, pending, running, over }

    /// An operation that is identified by its request's name.
    struct Named: Hashable {
        var operation: Schedule.Operation
        static func == (_: Named, _: Named) -> Bool { true }
        func hash(into hasher: inout Hasher) {}
    }

    struct Request: Hashable, CustomStringConvertible {
        var description: String { "\(name): \(phase)\(isReplaced ? ", replaced" : "")" }
        var name: String
        var named: Named
        var key: Int?
        var isChange: Bool
        var isStore = false
        var isRead = false
        /// The ending of a store that was replaced by a removal of the file.
        var replacedEnding: Schedule.Ending?
        var isReplaced: Bool { replacedEnding != nil }
        var phase: Phase
        var ending: Schedule.Ending?
        var isAnnounced = false
        var isTold = false
        var hasHeard = false

        var operation: Schedule.Operation { named.operation }
        /// Whether it is a store that has not begun.
        var isOpenStore: Bool { isStore && (phase == .preparing || phase == .pending) }

        init(_ operation: Schedule.Operation, isPrepared: Bool) {
            (name, named) = ("\(operation)", Named(operation: operation))
            switch operation {
            case .store(let key, _): (self.key, isChange, isStore) = (key, true, true)
            case .remove(let key, _), .change(let key): (self.key, isChange) = (key, true)
            case .read(let key): (self.key, isChange, isRead) = (key, false, true)
            case .clear: (key, isChange) = (nil, true)
            case .removeAll(let filter): (key, isChange, name) = (nil, true, "remove \(filter.mayMatch(1))")
            case .settle: (key, isChange) = (nil, false)
            }
            phase = isPrepared ? .pending : .preparing
        }

        /// Whether this store is matched by a filter.
        func isMatched(by filter: Schedule.Filter) -> Bool {
            if case .store(let key, let labels) = operation { filter.matches(key, labels) } else { false }
        }

        /// Whether this is a store to the same file as another.
        func isOfSameFile(as other: Request) -> Bool {
            guard case .store(let key, let labels) = operation, case .store(key, let others) = other.operation else {
                return false
            }
            return labels.forcedExtension == others.forcedExtension
        }

        /// Whether a later request waits for this one.
        func precedes(_ later: Request) -> Bool {
            guard isChange, phase != .over else { return false }
            switch (operation, later.operation) {
            case (_, .clear), (_, .settle): return true
            case (_, .removeAll(let filter)): return isMatched(by: filter)
            case (.clear, _): return true
            case (.removeAll(let filter), .read(let key)): return filter.mayMatch(key)
            case (.removeAll(let filter), _): return later.isMatched(by: filter)
            default: return key == later.key
            }
        }

        /// Whether its completion is called in the order of the calls for its key.
        var isOrdered: Bool { isChange && key != nil }
    }

    private var schedule = Schedule()
    private var requests: [Request] = []
    private var isClosing = false
    private var isClosed = false

    var summary: Summary { Summary(requests: requests, isClosing: isClosing) }
    var requestCount: Int { requests.count }
    var nextTicket: UInt64 { UInt64(requests.count) + 1 }

    /// Returns the events that can occur now.
    func events(_ operations: [Schedule.Operation], most: Int = .max) -> [Schedule.Event] {
        var events: [Schedule.Event] = []
        if requests.count < most {
            for operation in operations {
                if case .store = operation {
                    events.append(.request(nextTicket, operation, isPrepared: false))
                } else {
                    events.append(.request(nextTicket, operation, isPrepared: true))
                }
            }
        }
        for (index, request) in requests.enumerated() {
            let ticket = UInt64(index) + 1
            switch request.phase {
            case .preparing: events += [.prepared(ticket, succeeded: true), .prepared(ticket, succeeded: false)]
            case .pending:
                if request.isAnnounced { events.append(.begin(ticket)) }
                if request.isRead { events.append(.cancel(ticket)) }
            case .running: events.append(.finished(ticket))
            case .over: if request.isTold && !request.hasHeard { events.append(.delivered(ticket)) }
            }
        }
        if !isClosing { events.append(.close) }
        return events
    }

    /// Handles one event with both and returns whether they agree.
    mutating func take(_ event: Schedule.Event) -> Bool {
        let actions = schedule.handle(event)
        var expected: [Schedule.Action] = []
        note(event, &expected)
        for index in requests.indices {
            let (request, ticket) = (requests[index], UInt64(index) + 1)
            if request.phase == .pending, !request.isAnnounced, !isBlocked(index) {
                requests[index].isAnnounced = true
                expected.append(.ready(ticket))
            }
            let hasToWait =
                request.isOrdered
                && requests[..<index].contains {
                    $0.isOrdered && $0.key == request.key && !$0.hasHeard
                }
            if request.phase == .over, !request.isTold, !hasToWait, let ending = request.ending {
                requests[index].isTold = true
                expected.append(.complete(ticket, ending))
            }
        }
        if isClosing && !isClosed && requests.allSatisfy({ $0.phase == .over && $0.hasHeard }) {
            isClosed = true
            expected.append(.closed)
        }
        let isSame = sorted(actions) == sorted(expected)
        #expect(isSame, "\(event) after \(requests): \(actions) and not \(expected)")
        let pending = requests.count { $0.phase != .over }
        #expect(schedule.pendingCount == pending)
        let free = (0..<2).map { key in
            !isClosing && !requests.contains { $0.precedes(Request(.read(key), isPrepared: true)) }
        }
        #expect(free == [schedule.isFree(0), schedule.isFree(1)])
        return isSame && schedule.pendingCount == pending && agreesOnWork()
    }

    /// Ends all operations and checks that all completions were called.
    mutating func endAll() {
        while let event = events([], most: 0).last(where: { if case .close = $0 { false } else { true } }) {
            guard take(event) else { return }
        }
        #expect(requests.allSatisfy { $0.phase == .over && $0.isTold })
        #expect(take(.close) && isClosed)
        #expect(schedule.pendingCount == 0 && schedule.undeliveredCount == 0)
        #expect(schedule.handle(.request(nextTicket, .read(0), isPrepared: true)) == [.refuse(nextTicket)])
    }

    private mutating func note(_ event: Schedule.Event, _ expected: inout [Schedule.Action]) {
        switch event {
        case .request(let ticket, let operation, let isPrepared):
            if isClosing {
                expected.append(.refuse(ticket))
                return
            }
            for index in requests.indices.reversed() where requests[index].isOpenStore {
                if voids(operation, requests[index]) { end(index, requests[index].replacedEnding ?? .void) }
                if case .removeAll(let filter) = operation, requests[index].isMatched(by: filter) {
                    replace(index, .void, &expected)
                }
            }
            requests.append(Request(operation, isPrepared: isPrepared))
        case .prepared(let ticket, let succeeded):
            guard let index = index(ticket, .preparing) else { return }
            if succeeded { requests[index].phase = .pending } else { replace(index, .unprepared, &expected) }
        case .begin(let ticket):
            guard let index = index(ticket, .pending), requests[index].isAnnounced else { return }
            requests[index].phase = .running
            expected.append(.run(ticket))
        case .finished(let ticket):
            if let index = index(ticket, .running) { end(index, requests[index].replacedEnding ?? .finished) }
        case .cancel(let ticket):
            if let index = index(ticket, .pending), requests[index].isRead { end(index, .cancelled) }
        case .delivered(let ticket):
            if let index = index(ticket, .over), requests[index].isTold { requests[index].hasHeard = true }
        case .close: isClosing = true
        }
    }

    /// Removes the file in place of a store, and forgets the earlier stores of the same file.
    private mutating func replace(_ index: Int, _ ending: Schedule.Ending, _ expected: inout [Schedule.Action]) {
        if requests[index].isReplaced { return }
        (requests[index].replacedEnding, requests[index].phase) = (ending, .pending)
        expected.append(.replace(UInt64(index) + 1))
        for earlier in 0..<index
        where requests[earlier].isOpenStore && requests[earlier].isOfSameFile(as: requests[index]) {
            end(earlier, requests[earlier].replacedEnding ?? .void)
        }
    }

    private func voids(_ operation: Schedule.Operation, _ store: Request) -> Bool {
        switch operation {
        case .remove(let key, let forcedExtension):
            store.isOfSameFile(
                as: Request(.store(key, Schedule.Labels(forcedExtension: forcedExtension)), isPrepared: false))
        case .clear: true
        default: false
        }
    }

    private mutating func end(_ index: Int, _ ending: Schedule.Ending) {
        (requests[index].phase, requests[index].ending) = (.over, ending)
    }

    private func index(_ ticket: UInt64, _ phase: Phase) -> Int? {
        let index = Int(ticket) - 1
        return requests.indices.contains(index) && requests[index].phase == phase ? index : nil
    }

    private func isBlocked(_ index: Int) -> Bool {
        requests[..<index].contains { $0.precedes(requests[index]) }
    }

    /// The requests that must end before one of them can begin.
    private func needed(before index: Int) -> Set<Int> {
        var needed: Set<Int> = []
        for earlier in (0..<index).reversed()
        where requests[earlier].precedes(requests[index])
            || needed.contains(where: { $0 > earlier && requests[earlier].precedes(requests[$0]) })
        {
            needed.insert(earlier)
        }
        return needed
    }

    /// Checks that a reader's thread may run exactly the operations that it waits for and that no thread has begun.
    private func agreesOnWork() -> Bool {
        for index in requests.indices where requests[index].isRead && requests[index].phase == .pending {
            let work = schedule.work(before: UInt64(index) + 1)
            let known = Set(work.ready + work.unprepared)
            let needed = needed(before: index)
            let expected = needed.filter {
                requests[$0].phase == .preparing || requests[$0].phase == .pending && requests[$0].isAnnounced
            }
            // The operations that it waits for can be begun by it, are running, or wait for such operations.
            let isServed = needed.isEmpty || !known.isEmpty || needed.contains { requests[$0].phase == .running }
            let isSame = known == Set(expected.map { UInt64($0) + 1 })
            // It prepares the store of another key only if that key's file with another extension is being removed.
            let isOwn = work.unprepared.allSatisfy { ticket in
                let key = requests[Int(ticket) - 1].key
                return key == requests[index].key || requests.contains { $0.isReplaced && $0.key == key }
            }
            #expect(isServed && isSame && isOwn, "\(requests)")
            if !isServed || !isSame || !isOwn { return false }
        }
        return true
    }

    private func sorted(_ actions: [Schedule.Action]) -> [String] { actions.map { "\($0)" }.sorted() }
}
