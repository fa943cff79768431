import Foundation
import HalcyonEviction
import HalcyonPrefetch

/// The latest accesses that a ``Forecaster`` has observed, from which the next start continues.
///
/// At most ``KeptAccesses/most``, 48 bytes each beside the users' names; other names are in the catalogue. O(1) an access.
struct AccessMemory {
    private struct Remembered {
        var object: UInt32
        var categories: CategorySetID
        /// The name of the user in the catalogue.
        var user: String?
        var time: Int64
        var cost: Int
        var isHit: Bool
    }

    private var ring: [Remembered] = []
    /// The index of the oldest access once the ring is full.
    private var oldest = 0
    /// The number of accesses of earlier starts that the policy received.
    private(set) var recalledCount = 0

    /// The number of remembered accesses.
    var count: Int { ring.count }

    /// Adds an access; if the ring is full, in place of the oldest.
    ///
    /// - Parameters:
    ///   - user: the name of the user in the catalogue.
    ///   - cost: the size of the object in memory, in bytes; 0 if unknown.
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

    /// Removes all accesses.
    mutating func forget() { (ring, oldest) = ([], 0) }

    /// Removes the accesses of a user, by the name in the catalogue. O(count).
    mutating func forget(user: String) {
        ring = (ring[oldest...] + ring[..<oldest]).filter { $0.user != user }
        oldest = 0
    }

    // MARK: - Keeping

    /// Returns the latest accesses in the form of the file, the oldest first. O(count).
    func latest(_ count: Int, in catalogue: borrowing ForesightCatalogue) -> KeptAccesses {
        let hashed = catalogue.hashed
        var kept = KeptAccesses()
        kept.hashKey = hashed.key?.identifier
        var objects: [UInt32: Int] = [:]
        var users: [String: Int] = [:]
        var sets: [CategorySetID: Int] = [:]
        for index in max(ring.count - count, 0)..<ring.count {
            let one = ring[(oldest + index) % ring.count]
            let names = catalogue.names(of: one.categories)
            guard let clear = Self.object(one.object, in: catalogue) else { continue }
            let texts = [clear.key, clear.url, clear.processor, one.user].compactMap { $0 } + names
            guard names.count <= KeptAccesses.mostCategories,
                texts.reduce(0, { $0 + $1.utf8.count }) <= KeptAccesses.mostText
            else { continue }
            let key = catalogue.key(of: one.object)
            let object = KeptAccesses.place(
                of: one.object, in: &objects,
                hashed.key == nil ? clear : KeptAccesses.Object(key: hashed.kept(key, .key), bytes: clear.bytes),
                &kept.objects)
            let user = one.user.map { name in
                KeptAccesses.place(of: name, in: &users, hashed.kept(name, .user), &kept.users)
            }
            let categories: Int? =
                names.isEmpty
                ? nil
                : KeptAccesses.place(
                    of: one.categories, in: &sets, names.map { hashed.kept($0, .category) }, &kept.categorySets)
            kept.accesses.append(
                KeptAccesses.Access(
                    object: object, user: user, categories: categories, time: one.time, cost: one.cost,
                    isHit: one.isHit))
        }
        return kept
    }

    /// Returns an object in the form of a file in clear; `nil` if its URL contains a user name or a password.
    private static func object(_ number: UInt32, in catalogue: borrowing ForesightCatalogue) -> KeptAccesses.Object? {
        let known = catalogue[number]
        let bytes = known.bytes.flatMap { KeptAccesses.sizes.contains($0) ? $0 : nil }
        var plain = KeptAccesses.Object(key: catalogue.key(of: number), bytes: bytes)
        guard let resource = known.resource, let url = resource.source.url else { return plain }
        if url.user != nil || url.password != nil { return nil }
        let (text, key) = (url.absoluteString, resource.cacheKey)
        // A URL that does not survive writing and reading is written as unknown.
        guard URL(string: text)?.absoluteString == text, url.scheme != nil else { return plain }
        let processor = known.recipe?.processor ?? known.processor ?? ""
        (plain.key, plain.url) = (key == text ? nil : key, text)
        plain.processor = processor.isEmpty ? nil : processor
        return plain
    }

    // MARK: - Recalling

    /// Adds the accesses of a file to the catalogue, to a policy and to this memory.
    ///
    /// - Parameters:
    ///   - kept: sound accesses. If they are hashed, the catalogue has the key.
    ///   - now: the wall time, in microseconds. It replaces later times, because the clock was set back.
    mutating func recall(
        _ kept: KeptAccesses, into catalogue: inout ForesightCatalogue, telling policy: any PrefetchPolicy,
        now: Int64, fileName: (String) -> String?
    ) {
        var (users, sets) = (kept.users, kept.categorySets)
        if kept.hashKey != nil {
            users = users.map { catalogue.hashed.add($0, .user) }
            sets = sets.map { $0.map { catalogue.hashed.add($0, .category) } }
        }
        for access in kept.accesses.suffix(KeptAccesses.most) {
            let names = access.categories.map { sets[$0] } ?? []
            let from = kept.objects[access.object]
            let number =
                kept.hashKey == nil
                ? Self.learn(from, names, into: &catalogue, fileName: fileName)
                : Self.learn(hashed: from, into: &catalogue)
            guard let object = number else { continue }
            if !names.isEmpty { catalogue[object].categories = catalogue.set(of: names, telling: policy) }
            catalogue.set(cost: access.cost, of: object)
            let user = access.user.map { users[$0] }
            let told = Access(
                entry: object, requestNumber: recalledCount, time: min(access.time, now),
                size: catalogue.expectedCost(of: object), categories: catalogue[object].categories,
                user: catalogue.number(ofUser: user), object: object)
            recalledCount += 1
            policy.note(told, isHit: access.isHit)
            note(told, user: user, cost: catalogue[object].cost, isHit: access.isHit)
        }
    }

    /// Returns the number of an object in clear; `nil` if there are too many.
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

    /// Returns the number of an object that is known by its hash; `nil` if there are too many.
    private static func learn(
        hashed kept: KeptAccesses.Object, into catalogue: inout ForesightCatalogue
    ) -> UInt32? {
        guard let hash = kept.key, let object = catalogue.intern(hash: hash) else { return nil }
        if let bytes = kept.bytes { catalogue[object].bytes = bytes }
        return object
    }
}
