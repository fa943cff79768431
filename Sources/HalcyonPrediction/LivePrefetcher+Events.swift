import Dispatch
import HalcyonAccessLog
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport
import Synchronization

/// The events that a prefetcher takes in.
extension LivePrefetcher {
    func process(_ event: PrefetcherEvent) {
        switch event {
        case .template(let template): templates.note(template)
        case .wanted(let resource, let processor):
            guard let object = learn(resource, processor) else { break }
            if catalogue[object].template == nil { catalogue[object].template = templates[processor] }
        case .announced(let resources, let template, let time, let isRanked):
            let longest = isRanked ? AnnouncedObject.longestList : resources.count
            var rank = 0
            for resource in resources.prefix(longest)
            where announce(resource, template, time, rank: isRanked ? rank : nil) { rank += 1 }
            statistics.unknownAnnouncements += max(resources.count - longest, 0)
        case .openings(let openings, let time): announce(openings, time)
        case .shown(let list, let template): show(list, template)
        case .hidden(let place, let user): hide(place, user)
        case .accessed(let access): handleAccess(access)
        case .removed(let type, let removal): handleRemoval(type, removal)
        case .conditions(let new): set(new)
        case .background:
            record(.background, for: driver.user)
            guard driver.policy.plansBetweenRequests, !driver.isStopped else { break }
            planAfterAccess()
            planLists()
            plan(at: .background, for: driver.user)
        }
    }

    func set(_ new: PrefetchConditions) {
        let (old, limiting) = (knownConditions, configuration.pausing.union(.meteredNetwork))
        knownConditions = new
        host.record(RecordedEvent(time: host.clock.now, kind: .conditions, conditions: Int(new.rawValue)))
        let isMetered = new.contains(.meteredNetwork)
        let deferred = driver.set(
            isHeldBack: !new.isDisjoint(with: configuration.pausing), isLimited: isMetered,
            budget: isMetered ? configuration.budget.limited(by: configuration.meteredBudget) : configuration.budget,
            hasEased: !old.intersection(limiting).subtracting(new).isEmpty)
        perform()
        guard let deferred else { return }
        planAfterAccess()
        plan(at: .connected, for: deferred)
    }

    /// Returns the object of a resource; `nil` if there are too many.
    func learn(_ resource: Resource, _ processor: String) -> UInt32? {
        let key = resource.cacheKey.computedKey(with: processor)
        guard let object = catalogue.intern(key, fileName: host.fileName) else { return nil }
        catalogue.set(resource, of: object)
        return object
    }

    /// Returns whether the resource is known now.
    func announce(_ announced: AnnouncedResource, _ template: LoadTemplate, _ time: Int64, rank: Int?) -> Bool {
        guard let object = learn(announced.resource, template.processor) else {
            statistics.unknownAnnouncements += 1
            return false
        }
        catalogue[object].template = template
        let names = announced.resource.categories
        catalogue[object].categories = catalogue.set(of: names, telling: driver.policy)
        if let bytes = announced.bytes { catalogue[object].bytes = bytes }
        catalogue.set(cost: announced.cost ?? 0, of: object)
        driver.policy.announce(
            AnnouncedObject(
                object: object, categories: catalogue[object].categories, size: catalogue.expectedCost(of: object),
                time: announced.since ?? time, rank: rank, count: announced.count.map { max($0, 0) }))
        return true
    }

    func announce(_ openings: [CategoryOpenings], _ time: Int64) {
        var rates = CategoryRates()
        for counts in openings.prefix(CategoryOpenings.most) {
            for category in catalogue.members(of: [counts.category], telling: driver.policy) {
                rates.note(shown: max(counts.shown, 0), opened: max(counts.opened, 0), of: category, at: time)
            }
        }
        driver.policy.announce(rates)
    }

    func handleAccess(_ heard: RecordedAccess) {
        // The model knows an image by its source, also where each user has an image of its own.
        let key = EntryOrigin.sharedKey(of: heard.key, user: heard.user)
        guard let object = catalogue.internAccessed(key, fileName: host.fileName) else {
            statistics.unknownAccesses += 1
            return
        }
        if !heard.categories.isEmpty {
            catalogue[object].categories = catalogue.set(of: heard.categories, telling: driver.policy)
        }
        catalogue.set(cost: heard.cost, of: object)
        let name = catalogue.user(heard.user)
        let user = catalogue.number(ofUser: name)
        planAtMoments(before: heard.time, of: user)
        isMemoryOnly = templates.template(of: catalogue[object])?.isMemoryOnly ?? templates.usual.isMemoryOnly
        let access = Access(
            entry: object, requestNumber: memory.recalledCount + statistics.accesses, time: heard.time,
            size: catalogue.expectedCost(of: object), categories: catalogue[object].categories, user: user,
            object: object)
        statistics.accesses += 1
        let isHit = heard.outcome != .network && heard.outcome != .miss
        if let setback = setbacks[object], heard.outcome != .miss {
            // The image is available, but the cache may have refused it.
            if !setback.isRefusal || heldKey(object, heard.user) != nil { setbacks[object] = nil }
        }
        if shownPlaces.opened(object, by: heard.user) {
            statistics.lists.opened += 1
            planLists()
        }
        if driver.access(access, by: heard.user, isHit: isHit) != nil {
            // A removal would have been processed first: on a miss, the fetch ended while the request waited for it.
            if isHit { statistics.used += 1 } else { statistics.usedLate += 1 }
            if fetchedForLists.remove(object) != nil { statistics.lists.used += 1 }
        }
        if configuration.remembersAccesses {
            memory.note(access, user: name, cost: catalogue[object].cost, isHit: isHit)
        }
    }

    func handleRemoval(_ type: CacheType, _ removal: Removal) {
        let user = driver.served
        let object =
            type == .disk
            ? catalogue.object(inFile: removal.key)
            : catalogue.object(forKey: EntryOrigin.sharedKey(of: removal.key, user: user.name))
        guard let object, heldKey(object, user.name) == nil else { return }
        let left = driver.removed(object, of: user.number, isEvicted: removal.reason == .evicted)
        if let left { drop(object, left.bytes) }
    }

    func drop(_ object: UInt32, _ bytes: Int) {
        statistics.dropped += 1
        statistics.droppedBytes += bytes
        if fetchedForLists.remove(object) != nil { statistics.lists.wasted += 1 }
    }

    /// Plans at the moments that were due before an access or a list of a user. At those of the same user, the policy only learns.
    private func planAtMoments(before time: Int64, of user: UInt32) {
        guard driver.policy.plansBetweenRequests else { return }
        for (moment, due) in driver.dueMoments(by: time) { plan(at: moment, for: due, isOvertaken: due.number == user) }
    }

    // MARK: - Lists

    /// Learns the images of a list. It is planned in the next pause, or before one of them is opened, so that its fetches do not
    /// start before the loads of what has become visible.
    func show(_ list: ListInPlace, _ template: LoadTemplate) {
        statistics.lists.lists += 1
        statistics.lists.ignored += list.ignored
        var items: [ShownList.Item] = []
        for resource in list.resources {
            guard let object = learn(resource, template.processor) else {
                statistics.lists.ignored += 1
                continue
            }
            catalogue[object].template = template
            if !resource.categories.isEmpty {
                catalogue[object].categories = catalogue.set(of: resource.categories, telling: driver.policy)
            }
            items.append(
                ShownList.Item(
                    object: object, categories: catalogue[object].categories, size: catalogue.expectedCost(of: object)))
        }
        statistics.lists.shown += items.count
        shownPlaces.show(items.map(\.object), in: list.place, to: list.user, isAppended: list.isAppended)
        guard driver.policy.plansOnLists, !driver.isStopped else { return }
        let number = catalogue.number(ofUser: catalogue.user(list.user))
        pendingLists.append(
            PendingList(
                list: ShownList(user: number, time: list.time, items: items), place: list.place,
                user: PrefetchUser(number: number, name: list.user), isMemoryOnly: template.isMemoryOnly))
    }

    /// Plans on the lists that are not planned yet, in their order.
    func planLists() {
        while !pendingLists.isEmpty {
            let next = pendingLists.removeFirst()
            planAtMoments(before: next.list.time, of: next.user.number)
            isMemoryOnly = next.isMemoryOnly
            let user = next.user
            let limit = driver.plan(
                on: next.list, for: user, outlook: user.isNamed ? outlook(for: user) : nil,
                isHeld: { isHeld($0, user.name) })
            perform(for: user)
            count(limit: limit, isIdle: true, isReady: driver.policy.isReady)
            plannedList = (next.place, user.name)
        }
    }

    func hide(_ place: String, _ user: String?) {
        planLists()
        shownPlaces.hide(place, of: user)
        guard let planned = plannedList, ByteName(planned.place) == place,
            user.map({ name in planned.user.map { ByteName($0) == name } ?? false }) ?? true
        else { return }
        plannedList = nil
        driver.endList()
    }
}

extension LivePrefetcher: RequestObserver {
    package nonisolated func requested(_ resource: Resource, _ options: ImageOptions?) {
        inbox.want(resource, options, defaults: self.options)
    }

    package nonisolated func shown(_ list: ListInPlace, _ options: ImageOptions?) {
        if inbox.put(.shown(list, LoadTemplate(options, defaults: self.options))) { waitForPause() }
    }

    package nonisolated func hidden(_ place: String, user: String?) {
        inbox.put(.hidden(place: place, user: user))
        processEventsLater()
    }

    package nonisolated func accessed(_ access: RecordedAccess) {
        if inbox.put(.accessed(access)) { waitForPause() }
    }

    package nonisolated var stateForSuccessor: any Sendable { conditions }

    package nonisolated func enteredBackground(done: @escaping @Sendable () -> Void) {
        inbox.put(.background)
        Task {
            await save()
            done()
        }
    }

    package nonisolated func removed(_ type: CacheType, _ removals: [Removal]) {
        for removal in removals { inbox.put(.removed(type, removal)) }
    }

    /// Cancels the fetches in flight, starts no more, processes the pending events and saves the state.
    package func stop() async {
        pauseTimer.withLock { $0?.cancel() }
        momentTimer?.task.cancel()
        isStopped = true
        if isPrepared {
            driver.isStopped = true
            driver.cancelFetches()
            perform()
        }
        await save()
        await waitUntilIdle()
    }

    /// Removes the accesses until now from memory and file. The policy keeps what it has learnt from them.
    package func forgetAccesses() async {
        await processEvents()
        memory.forget()
        do { try host.folder.map(KeptAccessesFile.init)?.remove() } catch { note(fault: error) }
    }

    /// Forgets a user: cancels the fetches for it, and removes its lists and its accesses here and in the file. Returns when the fetches
    /// have ended.
    ///
    /// What the policy has learnt from the accesses stays, under a number that no name leads to.
    ///
    /// - Throws: an error with one sentence if the file of accesses can neither be written nor removed.
    package func forget(user: String) async throws {
        await processEvents()
        guard let name = catalogue.user(user) else { return }
        driver.forget(user, number: catalogue.number(ofUser: name))
        memory.forget(user: name)
        catalogue.forget(user: name)
        shownPlaces.forget(user: user)
        pendingLists.removeAll { $0.user.isNamed(user) }
        let fetches = perform()
        if let file = host.folder.map(KeptAccessesFile.init) {
            if configuration.remembersAccesses, memory.count > 0 {
                do { try write(to: file) } catch { try file.remove() }
            } else {
                try file.remove()
            }
        }
        for fetch in fetches { await fetch.value }
    }
}

/// A list that is shown and not planned yet.
struct PendingList {
    let list: ShownList
    let place: String
    let user: PrefetchUser
    /// Whether its images are kept in memory alone.
    let isMemoryOnly: Bool
}
