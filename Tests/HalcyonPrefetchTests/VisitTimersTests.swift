import HalcyonSupport
import Testing

@testable import HalcyonPrefetch

@Suite("Timers between requests", .timeLimit(.minutes(20)))
struct VisitTimersTests {
    private let minute: Int64 = 60_000_000
    private let day: Int64 = 86_400_000_000

    @Test("A visit ends after 30 idle minutes; then days start, each time the absence has doubled")
    func visitEndsAfter30MinutesAndDaysFollow() {
        let timers = VisitTimers(idleTime: 30 * minute)
        timers.note(1, at: 0)
        timers.note(1, at: 20 * minute)
        #expect(timers.next(by: 49 * minute) == nil, "the second request put the end off")
        #expect(timers.next(by: 50 * minute) == PlanningMoment(.visitEnd, user: 1, time: 50 * minute))
        #expect(timers.next(by: 50 * minute) == nil)
        var starts: [Int64] = []
        while let moment = timers.next(by: 40 * day) {
            #expect(moment.occasion == .dayStart && moment.user == 1)
            starts.append(moment.time / day)
            #expect(moment.time % day == 0)
        }
        #expect(starts == [1, 2, 4, 8, 16, 32])
        timers.note(1, at: 40 * day + 7)
        #expect(timers.next(by: 40 * day + 30 * minute) == nil)
        #expect(
            timers.next(by: 41 * day) == PlanningMoment(.visitEnd, user: 1, time: 40 * day + 30 * minute + 7))
    }

    @Test("Unknown users have no visits, and a visit near the last time never ends")
    func unknownUsersAndLastTimesHaveNoVisits() {
        let timers = VisitTimers(idleTime: minute)
        timers.note(.max, at: 0)
        timers.note(2, at: .max - 5)
        #expect(timers.next(by: .max) == nil)
        timers.note(3, at: -10 * day - 1)
        #expect(timers.next(by: 0)?.time == -10 * day - 1 + minute)
        #expect(timers.next(by: 0)?.time == -9 * day)
    }

    @Test("The timers of many users fire in the order of a sorted list")
    func timersFireInTheOrderOfASortedList() {
        let timers = VisitTimers(idleTime: 30 * minute)
        var random = SplitMix64(seed: 5)
        var due: [UInt32: (time: Int64, days: Int64)] = [:]
        var (time, wrong, fired) = (0 as Int64, 0, 0)
        for _ in 0..<5_000 {
            time += Int64(random.next(below: 100)) * minute
            while let (user, first) = due.min(by: { ($0.value.time, $0.key) < ($1.value.time, $1.key) }),
                first.time <= time
            {
                let moment = timers.next(by: time)
                if moment != PlanningMoment(first.days == 0 ? .visitEnd : .dayStart, user: user, time: first.time) {
                    wrong += 1
                }
                let wait = max(1, first.days)
                due[user] = ((first.time / day + wait) * day, first.days + wait)
                fired += 1
            }
            if timers.next(by: time) != nil { wrong += 1 }
            let user = UInt32(random.next(below: 40))
            timers.note(user, at: time)
            due[user] = (time + 30 * minute, 0)
        }
        #expect(wrong == 0 && fired > 2_000)
    }
}
