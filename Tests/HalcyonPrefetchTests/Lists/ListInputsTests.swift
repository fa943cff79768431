import Foundation
import HalcyonEviction
import HalcyonSupport
import Testing

@testable import HalcyonPrefetch

/// The inputs for the items of a list, against sums over all events in double precision.
@Suite("Inputs for the items of a list", .timeLimit(.minutes(20)))
struct ListInputsTests {
    private static let day: Int64 = 86_400_000_000

    private struct Event {
        let user: UInt32
        let object: UInt32
        let time: Int64
        let isShown: Bool
    }

    /// The members of each category set.
    private static let sets: [CategorySetID: [UInt32]] = [1: [4], 2: [4, 5], 3: [6], 4: []]

    /// The counts that a server announced.
    private static let announced: [UInt32: Int] = [2: 0, 7: 1, 11: 340]

    private static func set(of object: UInt32) -> CategorySetID { object % 5 }

    /// Returns the decayed number of events that a condition accepts: not halved, halved every 7 days and every day.
    private static func counts(_ events: [Event], at time: Int64, where isCounted: (Event) -> Bool) -> [Double] {
        [nil, 7.0, 1.0].map { (halfLife: Double?) in
            events.filter(isCounted).reduce(0) { sum, event in
                sum + (halfLife.map { pow(0.5, Double(time - event.time) / Double(day) / $0) } ?? 1)
            }
        }
    }

    private static func expected(_ list: ShownList, _ events: [Event]) throws -> [[Double]] {
        let (own, time) = (events.filter { $0.user == list.user }, list.time)
        func taste(_ members: [UInt32], _ events: [Event]) -> (rate: [Double], part: [Double]) {
            func has(_ event: Event, _ member: UInt32) -> Bool { (sets[set(of: event.object)] ?? []).contains(member) }
            let (shown, opened) = (
                counts(events, at: time) { $0.isShown }, counts(events, at: time) { !$0.isShown }
            )
            var (rate, part) = ([0.0, 0, 0], [0.0, 0, 0])
            for member in members {
                let s = counts(events, at: time) { $0.isShown && has($0, member) }
                let o = counts(events, at: time) { !$0.isShown && has($0, member) }
                for span in 0..<3 {
                    let usual = (opened[span] + 1) / (shown[span] + 8)
                    rate[span] += log2((o[span] + 4 * usual) / (s[span] + 4) / usual)
                    part[span] += log2((o[span] + 0.5) / (opened[span] + 4))
                }
            }
            let count = Double(max(members.count, 1))
            return (rate.map { $0 / count }, part.map { $0 / count })
        }
        let last = own.last { !$0.isShown && set(of: $0.object) > 0 }.map { sets[set(of: $0.object)] ?? [] } ?? []
        let plain = try list.items.enumerated().map { place, item -> [Double] in
            let mine = own.filter { $0.object == item.object }
            let (opened, shown) = (mine.count { !$0.isShown }, mine.count { $0.isShown })
            let latest = mine.last { $0.isShown } ?? mine.first
            let age = Double(time - (try #require(latest)).time) / 60e6
            let members = sets[item.categories] ?? []
            let (personal, pooled) = (taste(members, own), taste(members, events))
            let alike = members.map { member in
                Double(list.items.count { (sets[$0.categories] ?? []).contains(member) })
            }
            let mix =
                members.isEmpty
                ? 0 : log2((alike.reduce(0, +) / Double(members.count) + 0.5) / Double(list.items.count))
            let s = counts(events, at: time) { $0.isShown && $0.object == item.object }
            let o = counts(events, at: time) { !$0.isShown && $0.object == item.object }
            let earliest = events.first { $0.object == item.object }
            let first = try #require(earliest).time
            let ofUser: [Double] = [
                log2(Double(place + 1)) / 4, 1 / Double(place + 1), log2(Double(opened + 1)), log2(Double(shown + 1)),
                log2(age + 1) / 10, 0, opened > 0 ? 1 : 0,
            ]
            let labels: [Double] = personal.rate + personal.part + pooled.rate + pooled.part
            let ofList: [Double] = [members.contains(where: last.contains) ? 1 : 0, mix]
            let rates: [Double] = (0..<3).map { log2((o[$0] + 0.3) / (s[$0] + 3)) }
            let openings: [Double] = o.map { log2($0 + 1) }
            let sinceFirst: [Double] = [0, log2(Double(time - first) / 3_600e6 + 1) / 5]
            let count = announced[item.object]
            let server: [Double] = [count == nil ? 0 : 1, log2(Double(count ?? 0) + 1) / 4]
            return ofUser + labels + ofList + rates + openings + sinceFirst + server
        }
        return plain.map { row in
            [1, log2(Double(list.items.count)) / 8] + row
                + row.indices.map { input in
                    row[input] - plain.reduce(0) { $0 + $1[input] } / Double(plain.count)
                }
        }
    }

    @Test("Every input of every item is what all events of the user and of all users say")
    func inputsAreWhatEventsSay() throws {
        var random = SplitMix64(seed: 3)
        var events: [Event] = []
        var inputs = ListInputs(usesCategories: true, profile: .both)
        for (set, members) in Self.sets { inputs.sets.define(set, members: members) }
        var (users, all) = ([ListUser(), ListUser()], ListHistory())
        var time: Int64 = 3 * Self.day
        // Every object is first shown to both users, so that none is new.
        for number in 0..<80 {
            time += Int64(random.next(below: 9_000_000_000))
            let user = UInt32(number % 2)
            let objects = number < 2 ? Array(0..<20) : (0..<6).map { _ in UInt32(random.next(below: 20)) }
            let list = ShownList(
                user: user, time: time,
                items: objects.map { ShownList.Item(object: $0, categories: Self.set(of: $0)) })
            let rows = inputs.rows(list, of: users[Int(user)], all: all, announced: Self.announced)
            if number >= 2 {
                let expected = try Self.expected(list, events).flatMap { $0 }
                #expect(rows.count == expected.count)
                for (place, value) in expected.enumerated() {
                    #expect(
                        abs(Double(rows[place]) - value) < 0.05,
                        "list \(number), item \(place / ListInputs.count), input \(place % ListInputs.count)")
                }
            }
            users[Int(user)].noteShown(list, rows: rows, inputs.sets)
            for item in list.items {
                all.noteShown(item, inputs.sets[item.categories], at: time)
                events.append(Event(user: user, object: item.object, time: time, isShown: true))
            }
            guard number >= 2, random.next(below: 2) == 0 else { continue }
            time += 2_000_000
            let opened = objects[random.next(below: objects.count)]
            let access = Access(entry: 0, time: time, categories: Self.set(of: opened), user: user, object: opened)
            users[Int(user)].noteOpened(access, inputs.sets[access.categories])
            all.noteOpened(opened, inputs.sets[access.categories], at: time)
            events.append(Event(user: user, object: opened, time: time, isShown: false))
        }
    }

    @Test("An object of no earlier list is new and unknown; without categories their inputs are 0")
    func newObjectsAndNoCategories() {
        var inputs = ListInputs(usesCategories: false, profile: .both)
        inputs.sets.define(1, members: [4])
        let list = ShownList(user: 0, time: 5, items: [ShownList.Item(object: 3, categories: 1)])
        let rows = inputs.rows(list, of: ListUser(), all: ListHistory())
        var expected = [Float](repeating: 0, count: ListInputs.count)
        // The constant, 1 / place, new to the user, unknown to all. One item alone is its own mean.
        for input in [0, 3, 7, 2 + 27] { expected[input] = 1 }
        #expect(rows.count == expected.count)
        for (row, value) in zip(rows, expected) { #expect(abs(row - value) < 1e-6) }
    }
}
