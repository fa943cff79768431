import Foundation
import HalcyonEviction
import HalcyonSupport

/// What the policy of a tier has learned, as it is written to a file.
///
/// These are the calls that its cache has received (``HalcyonEviction/CacheCalls``), and what the numbers in them stand
/// for. All names are keyed hashes (``NameHashKey``).
struct KeptCalls: Codable, Equatable {
    /// The version of the format. A file with a higher one is of a later release.
    static let version = 1
    /// The most numbers of entries and category sets, categories, and users. A tier with more keeps its model alone.
    static let most = (entries: 1 << 18, sets: 1 << 14, users: 1 << 12)

    var version = Self.version
    /// The result version of the build that trained ``model``.
    var resultVersion = Halcyon.resultVersion
    /// The ``NameHashKey/identifier`` of the key of the names.
    var hashKey = ""
    /// The number of requests so far.
    var requests = 0
    /// By default none, which are not all.
    var calls = Data([0])
    /// A number above those of all entries.
    var entryBound = 0
    /// The keys with their numbers: 8 hexadecimal digits of the number and 32 of the hash for each.
    var keys = ""
    /// The numbers that no key has, the last of which is assigned next, if ``calls`` are all calls.
    var released: [EntryID] = []
    /// The numbers that wait to be released, in order.
    var awaiting: [EntryID] = []
    var categories: [String] = []
    /// The category sets from number 1, by indices of ``categories``.
    var sets: [[UInt32]] = []
    /// The users by number; `nil` for one that was forgotten.
    var users: [String?] = []
    /// The model of the policy, if ``calls`` are not all calls.
    var model: Data?

    /// Whether there is nothing to continue with.
    var isEmpty: Bool { model == nil && CacheCalls(Array(calls))?.count ?? 0 == 0 }

    /// The keys with their numbers; `nil` if these are none, or a number occurs twice.
    var numberedKeys: [(number: EntryID, hash: String)]? {
        let digits = Array(keys.utf8)
        guard digits.count % 40 == 0 else { return nil }
        var (result, known): ([(EntryID, String)], Set<EntryID>) = ([], [])
        for start in stride(from: 0, to: digits.count, by: 40) {
            let hash = String(decoding: digits[start + 8..<start + 40], as: UTF8.self)
            guard let number = EntryID(String(decoding: digits[start..<start + 8], as: UTF8.self), radix: 16),
                number < entryBound, NameHashKey.isHash(hash), known.insert(number).inserted
            else { return nil }
            result.append((number, hash))
        }
        return result
    }

    /// The calls; `nil` if a number is out of range.
    var cacheCalls: CacheCalls? {
        CacheCalls(Array(calls), entries: entryBound, sets: sets.count + 1, users: users.count)
    }

    /// Whether all numbers are in their ranges and all names are hashes.
    var isSound: Bool {
        let numbers = released + awaiting
        return (0...Self.most.entries).contains(entryBound) && requests >= 0 && numbers.allSatisfy { $0 < entryBound }
            && Set(numbers).count == numbers.count && categories.count <= Self.most.sets
            && sets.count <= Self.most.sets && users.count <= Self.most.users
            && (categories + users.compactMap { $0 }).allSatisfy(NameHashKey.isHash)
            && Set(categories).count == categories.count
            && sets.allSatisfy { set in
                !set.isEmpty && Set(set).count == set.count && set.allSatisfy { $0 < categories.count }
            } && numberedKeys != nil && cacheCalls != nil
    }
}

/// What ``KeptCalls`` are made of. It is copied under the lock of a tier, and the names are hashed afterwards.
package struct CallsSource: Sendable {
    let calls: CacheCalls
    let requests: Int
    let model: [UInt8]?
    /// The keys by number, of which those that no key has are ``released``, and what is known of hashes.
    let keys: [String]
    let released: [EntryID]
    let awaiting: [EntryID]
    let categories: [String]
    let sets: [[UInt32]]
    let users: [String?]
    var hashed: (keys: HashedNames, categories: HashedNames, users: HashedNames)

    /// Returns these calls with hashed names. O(calls + numbers).
    func kept(_ key: NameHashKey) -> KeptCalls {
        var hashed = hashed
        (hashed.keys.key, hashed.categories.key, hashed.users.key) = (key, key, key)
        var kept = KeptCalls(hashKey: key.identifier, requests: requests, model: model.map { Data($0) })
        guard keys.count <= KeptCalls.most.entries, users.count <= KeptCalls.most.users,
            max(categories.count, sets.count) <= KeptCalls.most.sets
        else { return kept }
        kept.calls = Data(calls.bytes)
        kept.entryBound = keys.count
        var isNamed = [Bool](repeating: false, count: keys.count)
        calls.forEach { if $0.access.entry != .none, $0.kind != .remove { isNamed[Int($0.access.entry)] = true } }
        for number in released { isNamed[Int(number)] = false }
        for (number, key) in keys.enumerated() where isNamed[number] {
            let digits = String(number, radix: 16)
            kept.keys += String(repeating: "0", count: 8 - digits.count) + digits + hashed.keys.kept(key, .key)
        }
        if calls.isWhole { (kept.released, kept.awaiting) = (released, awaiting) }
        kept.categories = categories.map { hashed.categories.kept($0, .category) }
        kept.sets = Array(sets.dropFirst())
        kept.users = users.map { $0.map { hashed.users.kept($0, .user) } }
        return kept
    }
}

/// The file in a cache's hidden folder with what the policy of a tier has learned, and the file with the key of its
/// names' hashes.
struct KeptCallsFile: Sendable {
    /// A fault of the file, in one sentence.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The maximum bytes of the file. A tier whose calls would take more keeps its model alone.
    static let mostBytes = 4 << 20

    /// The hidden folder within the cache's folder, where listing does not find the file.
    let folder: URL
    let tier: CacheType

    var url: URL { folder.appendingPathComponent("policy-\(tier == .memory ? "memory" : "disk").json") }
    /// The file of the key, which both tiers share.
    var keyURL: URL { folder.appendingPathComponent("policy.key") }

    /// Reads what was kept; `nil` if there is no file. O(bytes).
    func read() throws(Fault) -> (calls: KeptCalls, key: NameHashKey)? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes,
            let data = try? Data(contentsOf: url)
        else { throw fault("This is no file of at most \(Self.mostBytes) bytes, as what a policy has learned takes.") }
        struct Versioned: Decodable { let version: Int }
        if let found = try? JSONDecoder().decode(Versioned.self, from: data), found.version > KeptCalls.version {
            throw fault("What the policy had learned was written by a later release of Halcyon, and is not used.")
        }
        guard let kept = try? JSONDecoder().decode(KeptCalls.self, from: data), kept.version == KeptCalls.version,
            kept.isSound
        else { throw fault("The file of what the policy had learned is damaged, and is not used.") }
        guard let key = readKey(), key.identifier == kept.hashKey else {
            throw fault("The key of the names in this file is lost, so that it is not used.")
        }
        return (kept, key)
    }

    /// Reads the key of the hashes; `nil` if there is none.
    func readKey() -> NameHashKey? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: keyURL.path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            (attributes[.size] as? NSNumber)?.intValue == NameHashKey.count
        else { return nil }
        return (try? Data(contentsOf: keyURL)).flatMap { NameHashKey($0) }
    }

    /// Writes the file, whole or not at all. If that fails, the previous file is still there. Nothing to continue
    /// with removes it.
    func write(_ source: CallsSource) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            let known = readKey()
            let key = known ?? NameHashKey()
            let kept = source.kept(key)
            if kept.isEmpty { return try remove() }
            if known == nil { try key.bytes.write(to: keyURL, options: .atomic) }
            let data = try encoder.encode(kept)
            guard data.count <= Self.mostBytes else {
                return try encoder.encode(KeptCalls(hashKey: kept.hashKey, requests: kept.requests, model: kept.model))
                    .write(to: url, options: .atomic)
            }
            try data.write(to: url, options: .atomic)
        } catch { throw fault("What the policy has learned cannot be written.") }
    }

    /// Removes the file.
    func remove() throws(Fault) {
        do { try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile {} catch {
            throw fault("What the policy had learned cannot be removed.")
        }
    }

    func fault(_ sentence: String) -> Fault { Fault(description: "\(url.path): \(sentence)") }
}
