import Testing

@testable import HalcyonCache

/// Explores every order of the steps of a load from disk and of changes to the same key. It uses the cache's schedule
/// and tickets, and one variable each for memory and disk.
@Suite("Promotion to memory beside stores and removals: every order of steps", .timeLimit(.minutes(20)))
struct PromotionModelTests {
    @Test("After every order of steps memory holds nothing that differs from the disk", arguments: Change.pairs)
    func memoryEqualsDiskAfterEveryOrder(changes: [Change]) {
        var race = Race(changes, asksDiskFirst: true)
        race.explore()
        #expect(race.violations == [] && race.ends > 0 && race.stateCount > 50)
    }

    @Test("Changing memory before the disk would violate this for every change")
    func memoryFirstOrderViolatesModel() {
        let violations = Change.allCases.map { change -> Int in
            var race = Race([change], asksDiskFirst: false)
            race.explore()
            return race.violations.count
        }
        #expect(violations.allSatisfy { $0 > 0 })
    }

    /// A change of the key during the load.
    enum Change: CaseIterable, Sendable {
        case store
        /// A store that memory refuses.
        case storeRefused
        case remove, clear

        static let pairs: [[Change]] =
            allCases.map { [$0] } + allCases.flatMap { first in allCases.map { [first, $0] } }
    }

    /// The states of a load, of one caller's calls, of the disk's work for each call, and of an eviction from
    /// memory at any time.
    struct Race {
        struct Place: Hashable {
            var memory: Int?
            var disk: Int? = 0
            var load = 0
            var loaded: Int?
            var calls = 0
            var hasEvicted = false
            var isTicketValid = false
            var order: [Int] = []
            /// The progress of each change on disk: requested 1, prepared 2, running 3, done 4.
            var work: [Int]
        }

        let changes: [Change]
        let asksDiskFirst: Bool
        private(set) var ends = 0
        private(set) var violations: [String] = []
        private var seen: Set<Place> = []
        var stateCount: Int { seen.count }

        init(_ changes: [Change], asksDiskFirst: Bool) {
            (self.changes, self.asksDiskFirst) = (changes, asksDiskFirst)
        }

        private struct World {
            var place: Place
            var schedule = DiskSchedule<Int>()
            var reads = PendingReads()
            var ticket: PendingReads.Ticket?
            var tickets: [Int: UInt64] = [:]
            var ready: Set<UInt64> = []
            var last: UInt64 = 0

            mutating func ask(_ operation: DiskSchedule<Int>.Operation, as party: Int, isPrepared: Bool) {
                last += 1
                tickets[party] = last
                place.order.append(party)
                take(.request(last, operation, isPrepared: isPrepared))
            }

            mutating func take(_ event: DiskSchedule<Int>.Event) {
                for action in schedule.handle(event) {
                    if case .ready(let ticket) = action { ready.insert(ticket) }
                    // A void operation never runs.
                    if case .complete(let ticket, .void) = action,
                        let party = tickets.first(where: { $0.value == ticket })
                    {
                        place.work[party.key] = 4
                    }
                    if case .complete(let ticket, _) = action { take(.delivered(ticket)) }
                }
            }
        }

        mutating func explore() { explore(World(place: Place(work: changes.map { _ in 0 }))) }

        private mutating func explore(_ world: World) {
            var world = world
            world.place.isTicketValid =
                world.ticket.map {
                    var reads = world.reads; return reads.end($0)
                } ?? false
            guard seen.insert(world.place).inserted else { return }
            var isOver = true
            for step in steps(world) {
                isOver = false
                var next = world
                step(&next)
                explore(next)
            }
            guard isOver else { return }
            ends += 1
            let place = world.place
            let isDone = place.load == 5 && place.calls == 2 * changes.count && place.work.allSatisfy { $0 == 4 }
            if !isDone || place.memory != nil && place.memory != place.disk { violations.append("\(place)") }
        }

        private func steps(_ world: World) -> [(inout World) -> Void] {
            var steps: [(inout World) -> Void] = []
            if !world.place.hasEvicted {
                steps.append {
                    $0.place.hasEvicted = true
                    $0.place.memory = nil
                }
            }
            if let step = loadStep(world) { steps.append(step) }
            if world.place.calls < 2 * changes.count { steps.append(call(world.place.calls)) }
            for number in changes.indices {
                if let step = workStep(number, world) { steps.append(step) }
            }
            return steps
        }

        /// The steps of the load: look up memory, take a ticket, request the read, read the disk, promote the value.
        private func loadStep(_ world: World) -> ((inout World) -> Void)? {
            switch world.place.load {
            case 0: return { $0.place.load = $0.place.memory == nil ? 1 : 5 }
            case 1:
                return { world in
                    world.ticket = world.reads.begin("key", requestNumber: 0)
                    world.place.load = 2
                }
            case 2:
                return { world in
                    world.ask(.read(0), as: -1, isPrepared: true)
                    world.place.load = 3
                }
            case 3:
                guard let ticket = world.tickets[-1], world.ready.contains(ticket) else { return nil }
                return { world in
                    world.take(.begin(ticket))
                    world.place.loaded = world.place.disk
                    world.place.load = 4
                }
            case 4:
                guard let ticket = world.tickets[-1] else { return nil }
                return { world in
                    let isValid = world.ticket.map { world.reads.end($0) } == true
                    if isValid, let loaded = world.place.loaded { world.place.memory = loaded }
                    world.take(.finished(ticket))
                    world.place.load = 5
                }
            default: return nil
            }
        }

        /// One of the two halves of a call, in either order.
        private func call(_ half: Int) -> (inout World) -> Void {
            let (number, change) = (half / 2, changes[half / 2])
            let isAsking = (half % 2 == 0) == asksDiskFirst
            return { world in
                world.place.calls += 1
                if isAsking {
                    let operation: DiskSchedule<Int>.Operation =
                        switch change {
                        case .store, .storeRefused: .store(0)
                        case .remove: .remove(0)
                        case .clear: .clear
                        }
                    let isStore = change == .store || change == .storeRefused
                    world.place.work[number] = isStore ? 1 : 2
                    world.ask(operation, as: number, isPrepared: !isStore)
                } else {
                    world.place.memory = change == .store ? number + 1 : nil
                    if change == .clear { world.reads.voidAll() } else { world.reads.void("key") }
                }
            }
        }

        private func workStep(_ number: Int, _ world: World) -> ((inout World) -> Void)? {
            guard let ticket = world.tickets[number] else { return nil }
            switch world.place.work[number] {
            case 1:
                return { world in
                    world.place.work[number] = 2
                    world.take(.prepared(ticket, succeeded: true))
                }
            case 2 where world.ready.contains(ticket):
                return { world in
                    world.place.work[number] = 3
                    world.take(.begin(ticket))
                }
            case 3:
                let isStore = changes[number] == .store || changes[number] == .storeRefused
                return { world in
                    world.place.work[number] = 4
                    world.place.disk = isStore ? number + 1 : nil
                    world.take(.finished(ticket))
                }
            default: return nil
            }
        }
    }
}
