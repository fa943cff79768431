import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Memory storage: expiration", .timeLimit(.minutes(20)))
struct MemoryExpirationTests {
    let clock = ManualClock()

    func storage(_ expiration: StorageExpiration, cleanInterval: Duration = .zero) -> MemoryStorage<Blob> {
        MemoryStorage(
            config: .init(totalCostLimit: 1_000, expiration: expiration, cleanInterval: cleanInterval), clock: clock)
    }

    @Test("Storing an expired value changes nothing")
    func expiredStoreChangesNothing() {
        let memory = storage(.never)
        let past = Date(timeIntervalSince1970: Double(clock.now) / 1e6)
        memory.store(value: Blob("old"), forKey: "a")
        for expiration in [StorageExpiration.expired, .seconds(0), .seconds(-1), .days(0), .date(past)] {
            #expect(!memory.store(value: Blob("new"), forKey: "a", expiration: expiration))
            #expect(!memory.store(value: Blob("new"), forKey: "b", expiration: expiration))
        }
        #expect(memory.value(forKey: "a")?.name == "old")
        #expect(memory.count == 1)
    }

    @Test("An expired value is a miss, and a look-up extends the expiration as stated")
    func lookUpExtendsExpirationAsStated() {
        let memory = storage(.seconds(10))
        for key in ["none", "time", "own"] { memory.store(value: Blob(), forKey: key) }
        clock.advance(by: 9)
        #expect(memory.value(forKey: "none", extendingExpiration: .none) != nil)
        #expect(memory.value(forKey: "time", extendingExpiration: .cacheTime) != nil)
        #expect(memory.value(forKey: "own", extendingExpiration: .expirationTime(.seconds(60))) != nil)
        clock.advance(by: 1)
        #expect(memory.value(forKey: "none") == nil)
        #expect(memory.count == 2)
        clock.advance(by: 8.999_999)
        #expect(memory.isCached(forKey: "time"))
        clock.advance(by: 0.000_001)
        #expect(memory.value(forKey: "time") == nil)
        clock.advance(by: 41.999_999)
        #expect(memory.isCached(forKey: "own"))
        #expect(memory.value(forKey: "own", extendingExpiration: .expirationTime(.expired)) != nil)
        #expect(memory.value(forKey: "own") == nil)
        #expect(memory.count == 0 && memory.totalCost == 0)
    }

    @Test("isCached never extends an expiration")
    func isCachedDoesNotExtend() {
        let memory = storage(.seconds(10))
        memory.store(value: Blob(), forKey: "a")
        clock.advance(by: 9)
        #expect(memory.isCached(forKey: "a"))
        clock.advance(by: 1)
        #expect(!memory.isCached(forKey: "a"))
    }

    @Test("Expired values are swept at each interval of the injected clock")
    func sweepingFollowsInjectedClock() async {
        let memory = storage(.seconds(150), cleanInterval: .seconds(120))
        memory.store(value: Blob(), forKey: "a")
        memory.store(value: Blob(), forKey: "b", expiration: .seconds(119))
        await clock.waitForSleepers(1)
        clock.advance(by: 119)
        #expect(memory.count == 2)
        clock.advance(by: 1)
        await clock.waitForSleepers(1)
        #expect(memory.count == 1)
        clock.advance(by: 120)
        await clock.waitForSleepers(1)
        #expect(memory.count == 0)
    }

    @Test("The sweeper does not retain the storage")
    func sweeperDoesNotRetainStorage() async {
        weak var gone: MemoryStorage<Blob>?
        do {
            let memory = storage(.seconds(150), cleanInterval: .seconds(120))
            gone = memory
            await clock.waitForSleepers(1)
        }
        await waitUntil { gone == nil }
        #expect(gone == nil)
    }

    @Test("The default configuration has the documented values")
    func defaultConfigurationHasDocumentedValues() {
        let config = MemoryStorage<Blob>.Config()
        #expect(config.totalCostLimit == MemoryBudget().bytes / 4)
        #expect(config.totalCostLimit > 0)
        #expect(config.countLimit == 0)
        #expect(config.expiration == .seconds(300))
        #expect(config.cleanInterval == .seconds(120))
        #expect(!config.keepWhenEnteringBackground)
    }

    @Test("Never, seconds, days, date and expired have their deadlines")
    func expirationsHaveTheirDeadlines() {
        let now: Int64 = 5_000_000
        #expect(StorageExpiration.never.deadline(from: now) == .max)
        #expect(StorageExpiration.seconds(1.5).deadline(from: now) == 6_500_000)
        #expect(StorageExpiration.days(2).deadline(from: now) == 5_000_000 + 172_800_000_000)
        #expect(StorageExpiration.date(Date(timeIntervalSince1970: 9)).deadline(from: now) == 9_000_000)
        #expect(StorageExpiration.expired.isPast(at: now))
        #expect(StorageExpiration.seconds(.infinity).deadline(from: now) == .max)
        #expect(StorageExpiration.seconds(-.infinity).isPast(at: now))
        #expect(StorageExpiration.seconds(.nan).isPast(at: now))
        #expect(StorageExpiration.days(.max).deadline(from: now) == .max)
        #expect(StorageExpiration.date(.distantFuture).isPast(at: now) == false)
    }

    @Test("A cleaning interval is at most a hundred years, which both tiers accept")
    func cleanIntervalIsAtMostAHundredYears() throws {
        let longest = Duration(secondsComponent: .max, attosecondsComponent: 0)
        #expect(longest.microseconds == 100 * 365_25 * 864 * 1_000_000)
        #expect(Duration(secondsComponent: .min, attosecondsComponent: 0).microseconds == 0)
        let memory = MemoryStorage<Blob>(config: .init(cleanInterval: longest))
        memory.store(value: Blob(), forKey: "a")
        let fixture = try DiskFixture()
        let disk = try fixture.open { $0.cleanInterval = longest }
        try disk.store(value: Data([1]), forKey: "a")
        #expect(memory.isCached(forKey: "a") && disk.isCached(forKey: "a"))
        try fixture.expectAgreement(disk)
    }

    @Test("Reading a value does not move an expiration date")
    func readingDoesNotMoveDate() {
        let memory = storage(.never)
        let end = Date(timeIntervalSince1970: Double(clock.now) / 1e6 + 10)
        memory.store(value: Blob(), forKey: "a", expiration: .date(end))
        clock.advance(by: 9)
        #expect(memory.value(forKey: "a") != nil)
        clock.advance(by: 1)
        #expect(memory.value(forKey: "a") == nil)
    }
}
