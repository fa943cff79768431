import Foundation
import HalcyonCache
import HalcyonEviction
import HalcyonPipeline
import HalcyonPrefetch
import HalcyonSupport

/// The latest accesses to a cache as they are written to a file, the oldest first. Each name is listed once, and accesses
/// refer to it by its index.
struct KeptAccesses: Codable, Sendable, Equatable {
    /// The version of the format. A file with a higher one is of a later release; version 1 had names in clear only.
    static let version = 2
    /// The maximum number of accesses.
    static let most = 1 << 12
    /// The maximum UTF-8 bytes of all names of an access. An access with more is left out.
    static let mostText = 1 << 12
    /// The maximum number of categories of an access.
    static let mostCategories = 256
    /// The valid times, in microseconds since 1970: until 2255.
    static let times: ClosedRange<Int64> = 0...(1 << 53)
    /// The valid sizes in bytes.
    static let sizes = 0...(1 << 40)

    /// A requested object.
    struct Object: Codable, Sendable, Hashable {
        /// The cache key without its processor, or the computed key if the URL is unknown; `nil` if it is the URL. In a hashed
        /// file, the hash of the computed key.
        var key: String?
        /// The URL of the image; `nil` if it is unknown, or the image comes from no server, and in a hashed file.
        var url: String?
        /// The identifier of the processor; `nil` for the default processor and for an object without a URL.
        var processor: String?
        /// The bytes that come over the network; `nil` if unknown.
        var bytes: Int?

        /// The computed key; `nil` if it has none.
        var computedKey: String? { (key ?? url)?.computedKey(with: processor ?? "") }

        /// The resource; `nil` without a URL.
        var resource: Resource? { url.flatMap(URL.init(string:)).map { Resource($0, cacheKey: key) } }

        var isSound: Bool {
            guard (key ?? url) != nil, bytes.map(KeptAccesses.sizes.contains) ?? true else { return false }
            guard let url else { return true }
            return URL(string: url)?.scheme != nil
        }

        /// Whether it is sound in a hashed file.
        var isHashed: Bool { url == nil && processor == nil && key.map(NameHashKey.isHash) ?? false }
    }

    /// An access.
    struct Access: Codable, Sendable, Equatable {
        /// The index in ``KeptAccesses/objects``.
        var object: Int
        /// The index in ``KeptAccesses/users``; `nil` for an access without a user.
        var user: Int?
        /// The index in ``KeptAccesses/categorySets``; `nil` for none.
        var categories: Int?
        /// The wall time in microseconds.
        var time: Int64
        /// The size of the object in memory, in bytes; 0 if unknown.
        var cost: Int
        /// Whether the cache held the object.
        var isHit: Bool
    }

    var version = Self.version
    /// The ``NameHashKey/identifier`` of the key with which all names are hashed; `nil` if they are in clear.
    var hashKey: String?
    var users: [String] = []
    var categorySets: [[String]] = []
    var objects: [Object] = []
    var accesses: [Access] = []

    /// Whether all indices exist, all numbers are in their ranges, and names are hashes if they should be.
    var isSound: Bool {
        objects.allSatisfy(\.isSound) && categorySets.allSatisfy { $0.count <= Self.mostCategories }
            && (hashKey == nil || isHashed)
            && accesses.allSatisfy { access in
                objects.indices.contains(access.object)
                    && access.user.map(users.indices.contains) ?? true
                    && access.categories.map(categorySets.indices.contains) ?? true
                    && Self.times.contains(access.time) && Self.sizes.contains(access.cost)
            }
    }

    private var isHashed: Bool {
        objects.allSatisfy(\.isHashed) && users.allSatisfy(NameHashKey.isHash)
            && categorySets.allSatisfy { $0.allSatisfy(NameHashKey.isHash) }
    }

    /// Returns the accesses of all other users, and the names that these refer to. O(accesses).
    ///
    /// - Parameter user: as it is listed in ``users``.
    func without(user: String) -> KeptAccesses {
        var rest = self
        (rest.users, rest.categorySets, rest.objects, rest.accesses) = ([], [], [], [])
        var places: (users: [Int: Int], sets: [Int: Int], objects: [Int: Int]) = ([:], [:], [:])
        for access in accesses where access.user.map({ ByteName(users[$0]) }) != ByteName(user) {
            var access = access
            access.object = Self.place(of: access.object, in: &places.objects, objects[access.object], &rest.objects)
            access.user = access.user.map { Self.place(of: $0, in: &places.users, users[$0], &rest.users) }
            access.categories = access.categories.map {
                Self.place(of: $0, in: &places.sets, categorySets[$0], &rest.categorySets)
            }
            rest.accesses.append(access)
        }
        return rest
    }

    /// Returns the index of an item in a list, and appends a new item.
    static func place<Name: Hashable, Listed>(
        of name: Name, in places: inout [Name: Int], _ listed: @autoclosure () -> Listed, _ list: inout [Listed]
    ) -> Int {
        if let known = places[name] { return known }
        places[name] = list.count
        list.append(listed())
        return list.count - 1
    }
}

/// The latest accesses that a ``LivePrefetcher`` has observed, from which the next start continues.
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
        ring = (ring[oldest...] + ring[..<oldest]).filter { $0.user.map(ByteName.init) != ByteName(user) }
        oldest = 0
    }

    // MARK: - Keeping

    /// Returns the latest accesses in the form of the file, the oldest first. O(count).
    func latest(_ count: Int, in catalogue: borrowing ObjectCatalogue) -> KeptAccesses {
        let hashed = catalogue.hashed
        var kept = KeptAccesses()
        kept.hashKey = hashed.key?.identifier
        var objects: [UInt32: Int] = [:]
        var users: [ByteName: Int] = [:]
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
                KeptAccesses.place(of: ByteName(name), in: &users, hashed.kept(name, .user), &kept.users)
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
    private static func object(_ number: UInt32, in catalogue: borrowing ObjectCatalogue) -> KeptAccesses.Object? {
        let known = catalogue[number]
        let bytes = known.bytes.flatMap { KeptAccesses.sizes.contains($0) ? $0 : nil }
        var plain = KeptAccesses.Object(key: catalogue.key(of: number), bytes: bytes)
        guard let resource = known.resource, let url = resource.source.url else { return plain }
        if url.user != nil || url.password != nil { return nil }
        let (text, key) = (url.absoluteString, resource.cacheKey)
        // A URL that does not survive writing and reading is written as unknown.
        guard URL(string: text)?.absoluteString == text, url.scheme != nil else { return plain }
        let processor = known.template?.processor ?? known.processor ?? ""
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
    ///   - prepare: called with each access and the name of its user in the catalogue, before the policy receives the access.
    mutating func recall(
        _ kept: KeptAccesses, into catalogue: inout ObjectCatalogue, telling policy: any PrefetchPolicy,
        now: Int64, fileName: (String) -> String?, prepare: (Access, String?) -> Void = { _, _ in }
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
            prepare(told, user)
            policy.note(told, isHit: access.isHit)
            note(told, user: user, cost: catalogue[object].cost, isHit: access.isHit)
        }
    }

    /// Returns the number of an object in clear; `nil` if there are too many.
    private static func learn(
        _ kept: KeptAccesses.Object, _ categories: [String], into catalogue: inout ObjectCatalogue,
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
        hashed kept: KeptAccesses.Object, into catalogue: inout ObjectCatalogue
    ) -> UInt32? {
        guard let hash = kept.key, let object = catalogue.intern(hash: hash) else { return nil }
        if let bytes = kept.bytes { catalogue[object].bytes = bytes }
        return object
    }
}

/// The file in a cache's folder with its latest accesses, and the file with the key of their names' hashes.
struct KeptAccessesFile: Sendable {
    /// A fault of the file, in one sentence.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The maximum bytes of the file. If there are more, the oldest accesses are left out.
    static let mostBytes = 4 << 20

    /// The hidden folder within the cache's folder, where listing does not find the file.
    let folder: URL

    var url: URL { folder.appendingPathComponent(ObserverSlot.accessesFile) }
    /// The file of the key. A copy of the accesses without it cannot be compared with guessed names.
    var keyURL: URL { folder.appendingPathComponent(ObserverSlot.accessesKeyFile) }

    /// Reads the accesses; `nil` if there is no file. O(bytes).
    func read() throws(Fault) -> KeptAccesses? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes
        else { throw fault("This is no file of at most \(Self.mostBytes) bytes, as the latest accesses take.") }
        guard let data = try? Data(contentsOf: url) else { throw fault("The latest accesses cannot be read.") }
        struct Versioned: Decodable { let version: Int }
        if let found = try? JSONDecoder().decode(Versioned.self, from: data), found.version > KeptAccesses.version {
            throw fault("These accesses were written by a later release of Halcyon.")
        }
        guard let kept = try? JSONDecoder().decode(KeptAccesses.self, from: data),
            (1...KeptAccesses.version).contains(kept.version), kept.isSound
        else { throw fault("The file of the latest accesses is damaged.") }
        return kept
    }

    /// Reads the key of the hashes; `nil` if there is none.
    func readKey() -> NameHashKey? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: keyURL.path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            (attributes[.size] as? NSNumber)?.intValue == NameHashKey.count
        else { return nil }
        return (try? Data(contentsOf: keyURL)).flatMap { NameHashKey($0) }
    }

    /// Writes the accesses, whole or not at all. If that fails, the previous file is still there.
    ///
    /// - Parameters:
    ///   - key: the key of the hashes, which is written before them; `nil` for names in clear.
    ///   - latest: returns the latest accesses, at most so many.
    func write(key: NameHashKey? = nil, _ latest: (_ count: Int) -> KeptAccesses) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var count = KeptAccesses.most
        do {
            if let key, readKey() != key { try key.bytes.write(to: keyURL, options: .atomic) }
            var data = try encoder.encode(latest(count))
            while data.count > Self.mostBytes, count > 0 {
                count /= 2
                data = try encoder.encode(latest(count))
            }
            try data.write(to: url, options: .atomic)
        } catch { throw fault("The latest accesses cannot be written.") }
    }

    /// Removes the accesses of a user. If the file cannot be read or written, it is removed as a whole.
    func forget(user: String) throws(Fault) {
        let kept: KeptAccesses?
        do { kept = try read() } catch { return try remove() }
        guard let kept else { return }
        let key = kept.hashKey == nil ? nil : readKey()
        guard key?.identifier == kept.hashKey else { return try remove() }
        let rest = kept.without(user: key?.hash(user, .user) ?? user)
        if rest.accesses.count == kept.accesses.count { return }
        if rest.accesses.isEmpty { return try remove() }
        do { try write { _ in rest } } catch { try remove() }
    }

    /// Removes both files.
    func remove() throws(Fault) {
        for url in [url, keyURL] {
            do { try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile {} catch {
                throw fault("The latest accesses cannot be removed.")
            }
        }
    }

    private func fault(_ sentence: String) -> Fault { Fault(description: "\(url.path): \(sentence)") }
}
