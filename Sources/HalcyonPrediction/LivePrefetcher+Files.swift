import Dispatch
import HalcyonAccessLog
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport
import Synchronization

/// What a prefetcher keeps across starts, and its preparation from that.
extension LivePrefetcher {
    /// Writes the spending, the latest accesses, and the planner's model if it has learnt enough.
    func write() {
        keepAccount()
        guard configuration.keepsModel, let folder = host.folder else { return }
        if configuration.remembersAccesses, memory.count > 0 {
            let file = KeptAccessesFile(folder: folder)
            do { try write(to: file) } catch { note(fault: error) }
        }
        guard let planner = driver.policy as? PrefetchPlanner else { return }
        do { try planner.snapshot(producer: Halcyon.version)?.keep(in: folder) } catch { note(fault: error) }
    }

    /// Writes the latest accesses.
    func write(to file: KeptAccessesFile) throws {
        if !configuration.keepsURLs, catalogue.hashed.key == nil {
            catalogue.hashed.key = file.readKey() ?? NameHashKey()
        }
        try file.write(key: catalogue.hashed.key) { memory.latest($0, in: catalogue) }
    }

    /// Writes the spending, if it has changed.
    func keepAccount() {
        let account = driver.spending.account
        guard account != keptAccount, statistics.accesses + statistics.plans > 0, let folder = host.folder else {
            return
        }
        do {
            try PrefetchAccountFile(folder: folder).write(account)
            keptAccount = account
        } catch { note(fault: error) }
    }

    /// Waits for the previous prefetcher, then reads the kept accesses and the spending.
    func prepare() async {
        await ending?.value
        if isPrepared { return }
        isPrepared = true
        recall()
        let account = host.folder.map(PrefetchAccountFile.init)?.read()
        driver.resume(account, at: host.clock.now)
        if let account {
            sizes = FetchSizes(after: driver.spending)
            keptAccount = account
        }
        if let start { (driver.policy as? PrefetchPlanner)?.adoptVisits(of: start) }
    }

    /// Reads the kept accesses, or removes their file.
    func recall() {
        guard let file = host.folder.map(KeptAccessesFile.init) else { return }
        do {
            guard configuration.remembersAccesses else { return try file.remove() }
            let key = configuration.keepsURLs ? nil : file.readKey() ?? NameHashKey()
            catalogue.hashed.key = key
            guard let kept = try file.read() else { return }
            // Names in clear that should not be kept so, hashes of a lost key, and hashes where names are wanted.
            guard kept.hashKey == key?.identifier else { return try file.remove() }
            let driver = driver
            memory.recall(
                kept, into: &catalogue, telling: driver.policy, now: host.clock.now, fileName: host.fileName
            ) { driver.prepare(recalled: $0, by: $1) }
        } catch { note(fault: error) }
    }

    func makeDriver() -> PrefetchDriver {
        let context = configuration.context
        let driver = PrefetchDriver(
            makePolicy(context), budget: configuration.budget, idleTime: context.idleTime,
            timers: VisitTimers(idleTime: context.idleTime, timesUnknownUsers: configuration.servesOneUser),
            maxTimedUsers: Self.maxTimedUsers, maxConcurrent: configuration.maxConcurrent,
            servesOneUser: configuration.servesOneUser)
        driver.isStopped = isStopped
        return driver
    }

    func makePolicy(_ context: PrefetchContext) -> any PrefetchPolicy {
        if let make = configuration.policy { return make(context) }
        if configuration.keepsModel {
            do { start = try host.folder.flatMap(PretrainedPlanner.kept) } catch { note(fault: error) }
        }
        start = start ?? configuration.pretrained
        guard let start else { return PrefetchPlanner(configuration.planner, context: context) }
        return PrefetchPlanner(start, parameters: configuration.planner, context: context)
    }

    func note(fault: any Error) {
        statistics.modelFaults += 1
        modelFault = "\(fault)"
    }
}
