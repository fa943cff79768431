import Foundation
import HalcyonEviction
import HalcyonPrefetch

/// The latest accesses that a ``Forecaster`` has heard of, from which it knows after a new start what it knew before.
///
/// At most ``KeptAccesses/most``, 48 bytes each beside the users' names; other names are the catalogue's. O(1) an access.
struct AccessMemory {
    private struct Remembered {
        var object: UInt32
        var categories: CategorySetID
        var user: String?
        var time: Int64
        var cost: Int
        var isHit: Bool
    }

    private var ring: [Remembered] = []
    /// Where the oldest is once the ring is full.
    private var oldest = 0
    /// How many the policy was told that were kept.
    private(set) var recalledCount = 0

    /// How many are remembered.
    var count: Int { ring.count }

    /// Remembers an access in place of the oldest.
    ///
    /// - Parameters:
    ///   - user: who asked.
    ///   - cost: what the object takes in memory; 0 if nobody knows.
    mutating func note(_ access: Access, user: String?, cost: Int, isHit: Bool) {
        let (times, sizes) = (KeptAccesses.times, KeptAccesses.sizes)
        let new = Remembered(
            object: access.object, categories: access.categories, user: user,
            time: min(max(access.time, times.lowerBound), times.upperBound),
            cost: min(max(cost, sizes.lowerBound), sizes.upperBound), isHit: isHit)
        if ring.count < KeptAccesses.most { return ring.append(new) }
        ring[oldest] = new
        oldest = (oldest + 1) % KeptAccesses.most
    }

    /// Forgets all of them.
    mutating func forget() { (ring, oldest) = ([], 0) }

    // MARK: - Keeping

    /// The latest of them as they are written down, the oldest first. O(count).
    func latest(_ count: Int, in catalogue: borrowing ForesightCatalogue) -> KeptAccesses {
        var kept = KeptAccesses()
        var objects: [UInt32: Int] = [:]
        var users: [String: Int] = [:]
        var sets: [CategorySetID: Int] = [:]
        for index in max(ring.count - count, 0)..<ring.count {
            let one = ring[(oldest + index) % ring.count]
            let names = catalogue.names(of: one.categories)
            guard let object = Self.object(one.object, in: catalogue) else { continue }
            let texts = [object.key, object.url, object.processor, one.user].compactMap { $0 } + names
            guard names.count <= KeptAccesses.mostCategories,
                texts.reduce(0, { $0 + $1.utf8.count }) <= KeptAccesses.mostText
            else { continue }
            kept.accesses.append(
                KeptAccesses.Access(
                    object: Self.place(of: one.object, in: &objects, object, &kept.objects),
                    user: one.user.map { Self.place(of: $0, in: &users, $0, &kept.users) },
                    categories: names.isEmpty
                        ? nil : Self.place(of: one.categories, in: &sets, names, &kept.categorySets),
                    time: one.time, cost: one.cost, isHit: one.isHit))
        }
        return kept
    }

    /// The place of something in a list, to which it is added if it is new.
    private static func place<Name: Hashable, Listed>(
        of name: Name, in places: inout [Name: Int], _ listed: Listed, _ list: inout [Listed]
    ) -> Int {
        if let known = places[name] { return known }
        places[name] = list.count
        list.append(listed)
        return list.count - 1
    }

    /// An object as it is written down; `nil` if its URL tells a name or a password.
    private static func object(_ number: UInt32, in catalogue: borrowing ForesightCatalogue) -> KeptAccesses.Object? {
        let known = catalogue[number]
        let bytes = known.bytes.flatMap { KeptAccesses.sizes.contains($0) ? $0 : nil }
        var plain = KeptAccesses.Object(key: catalogue.key(of: number), bytes: bytes)
        guard let resource = known.resource, let url = resource.source.url else { return plain }
        if url.user != nil || url.password != nil { return nil }
        let (text, key) = (url.absoluteString, resource.cacheKey)
        // What cannot be told from what is written is written as if nobody knew.
        guard URL(string: text)?.absoluteString == text, url.scheme != nil else { return plain }
        let processor = known.recipe?.processor ?? known.processor ?? ""
        (plain.key, plain.url) = (key == text ? nil : key, text)
        plain.processor = processor.isEmpty ? nil : processor
        return plain
    }

    // MARK: - Recalling

    /// Tells a policy, and the catalogue, what was kept, and remembers it.
    ///
    /// - Parameters:
    ///   - kept: is sound.
    ///   - now: the wall time, in microseconds; what was asked for later was asked for now: the clock was set back.
    mutating func recall(
        _ kept: KeptAccesses, into catalogue: inout ForesightCatalogue, telling policy: any PrefetchPolicy,
        now: Int64, fileName: (String) -> String?
    ) {
        for access in kept.accesses.suffix(KeptAccesses.most) {
            let names = access.categories.map { kept.categorySets[$0] } ?? []
            guard let object = Self.learn(kept.objects[access.object], names, into: &catalogue, fileName: fileName)
            else { continue }
            if !names.isEmpty { catalogue[object].categories = catalogue.set(of: names, telling: policy) }
            catalogue.set(cost: access.cost, of: object)
            let user = access.user.map { kept.users[$0] }
            let told = Access(
                entry: object, requestNumber: recalledCount, time: min(access.time, now),
                size: catalogue.expectedCost(of: object), categories: catalogue[object].categories,
                user: catalogue.user(user), object: object)
            recalledCount += 1
            policy.note(told, isHit: access.isHit)
            note(told, user: user, cost: catalogue[object].cost, isHit: access.isHit)
        }
    }

    /// The object that was written down; `nil` where there are too many.
    private static func learn(
        _ kept: KeptAccesses.Object, _ categories: [String], into catalogue: inout ForesightCatalogue,
        fileName: (String) -> String?
    ) -> UInt32? {
        guard let key = kept.computedKey, let object = catalogue.internAccessed(key, fileName: fileName)
        else { return nil }
        if let bytes = kept.bytes { catalogue[object].bytes = bytes }
        let earlier = catalogue[object].resource
        if earlier == nil || !categories.isEmpty, var resource = kept.resource {
            resource.categories = categories.isEmpty ? earlier?.categories ?? [] : categories
            catalogue.set(resource, of: object)
            catalogue[object].processor = kept.processor ?? ""
        }
        return object
    }
}
