import Foundation
import HalcyonSupport
import Synchronization

/// What is known of an access beside its key: policies learn from it, and rules refer to it.
///
/// A caller states the categories and the user. An ``ImageCache`` adds what it has resolved for both tiers of what a call
/// asks for (``CacheOptions``).
public struct AccessContext: Sendable, Equatable {
    /// The categories of the object. Where only one category can count, the first does. Empty on a load: the
    /// categories of the store.
    ///
    /// A category is a kind of objects, such as `shoes`, and not the identifier of an object or a user. A cache remembers
    /// each category and each set of categories of a store until it is released, and of those that only look-ups name
    /// the first 16,384.
    public var categories: [String]
    /// The id of the user or the profile that sends the request.
    public var user: String?
    /// The number of earlier requests, if several tiers serve the same requests; `nil` if the storage counts.
    var requestNumber: Int?
    /// Whether the entry is prefetched: stored, or promoted to memory, before any request for it.
    var isPrefetch = false
    /// Whether the store comes from an ``ImageCache``. A value that memory does not keep then counts as a request,
    /// too, so that both tiers count alike.
    var isTiered = false
    /// The source of a stored value, if the key alone does not tell it.
    var origin: EntryOrigin?

    /// Creates a context, by default without categories and user.
    public init(categories: [String] = [], user: String? = nil) {
        self.categories = categories
        self.user = user
    }
}

/// The source and the owner of an entry, as fingerprints: a source's variants and a user's private entries are removed by them.
///
/// The key of a private entry is the source's key, U+001F, and the owner's name. If request fields have selected it, `%V` and 16
/// hexadecimal digits follow. Neither the source's key (``sourceKey(_:)``) nor the name can contain a separator, so that
/// no two of them give the same key. See `EntryOriginTests.differentOwnersAndKeysShareNoEntry()`.
package struct EntryOrigin: Sendable, Equatable {
    /// Stands between a key and the user who owns the entry. No URL contains it.
    private static let mark = "\u{1F}"
    /// Stands between the owner and the digest of the selecting fields. No escaped name contains it.
    private static let variantMark = "%V"

    /// The fingerprint of the source's key; ``Fingerprints/unknown`` if it is not known.
    var source = Fingerprints.unknown
    /// The fingerprint of the owner; ``Fingerprints/unknown`` for an entry of all users.
    var owner = Fingerprints.unknown

    /// Whether the entry is private to its owner.
    var isPrivate: Bool { owner != Fingerprints.unknown }

    /// Whether nothing is known, as of a file whose row was lost.
    var isUnknown: Bool { source == Fingerprints.unknown }

    /// The origin of an entry whose source is not known.
    static let unknown = EntryOrigin(source: Fingerprints.unknown, owner: Fingerprints.unknown)

    init(source: UInt64, owner: UInt64) { (self.source, self.owner) = (source, owner) }

    /// Creates the origin of a key without a processor. O(length).
    init(key: String) {
        let (source, rest) = Self.split(key)
        self.source = Fingerprints.fingerprint(String(source))
        owner = rest.map { Fingerprints.fingerprint(String(Self.owner(in: $0))) } ?? Fingerprints.unknown
    }

    /// Whether a key without a processor is that of a private entry. O(length).
    static func isPrivate(_ key: String) -> Bool {
        ByteName(key).withBytes { bytes in bytes.baseAddress.map { memchr($0, 0x1F, bytes.count) != nil } ?? false }
    }

    /// Returns the fingerprint of the owner of a user's private entries. O(length).
    static func owner(of user: String) -> UInt64 { Fingerprints.fingerprint(escaped(user)) }

    /// Returns the key of a source for the key that an app has given it. U+001F and U+001E are escaped, so that it cannot be the key of a
    /// private entry. Different keys stay different. O(length).
    package static func sourceKey(_ key: String) -> String {
        guard key.utf8.contains(where: { $0 == 0x1F || $0 == 0x1E }) else { return key }
        var escaped = String.UnicodeScalarView()
        for scalar in key.unicodeScalars {
            switch scalar {
            case "\u{1E}": escaped.append(contentsOf: "\u{1E}0".unicodeScalars)
            case "\u{1F}": escaped.append(contentsOf: "\u{1E}1".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Returns the key of the entry that is private to a user, or with an empty name to all loads without a user. The name is escaped
    /// (`%`, `@` and U+001F as in a URL), so that it cannot end like the identifier of a processor. O(length).
    ///
    /// - Parameters:
    ///   - key: of the source (``sourceKey(_:)``).
    ///   - variant: the digest of the request fields that have selected it, 16 hexadecimal digits; `nil` if none has.
    package static func privateKey(_ key: String, of user: String, variant: String? = nil) -> String {
        key + mark + escaped(user) + (variant.map { variantMark + $0 } ?? "")
    }

    /// Returns the computed key of the entry that is private to a user, beside that of the shared entry.
    package static func privateKey(computed: String, ofSource source: String, for user: String) -> String {
        guard computed.utf8.starts(with: source.utf8) else { return computed }
        return source + mark + escaped(user) + String(Substring(computed.utf8.dropFirst(source.utf8.count)))
    }

    /// Returns the computed key of the shared entry for that of an entry which may be private to a user. O(length).
    package static func sharedKey(of computed: String, user: String?) -> String {
        let (source, rest) = split(computed)
        guard let rest, owner(in: rest).utf8.elementsEqual(escaped(user ?? "").utf8) else { return computed }
        return String(source) + rest[end(ofOwnerIn: rest)...]
    }

    /// Whether a computed key is a source's, or that of one of its variants, whoever owns it. A source whose key is the other's with
    /// `@` and more behind it cannot be told from a variant.
    static func isKey(_ computed: String, ofSource key: String) -> Bool {
        guard computed.utf8.starts(with: key.utf8) else { return false }
        let next = computed.utf8.dropFirst(key.utf8.count).first
        return next == nil || next == UInt8(ascii: "@") || next == 0x1F
    }

    /// Whether a computed key is that of an entry which is private to a user.
    static func isKey(_ computed: String, ofOwner user: String) -> Bool {
        split(computed).rest.map { owner(in: $0).utf8.elementsEqual(escaped(user).utf8) } ?? false
    }

    /// Returns a name without `@` and U+001F, which end it in a key. Different names stay different. O(length).
    private static func escaped(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 == 0x25 || $0 == 0x40 || $0 == 0x1F }) else { return name }
        var escaped = String.UnicodeScalarView()
        for scalar in name.unicodeScalars {
            switch scalar {
            case "%": escaped.append(contentsOf: "%25".unicodeScalars)
            case "@": escaped.append(contentsOf: "%40".unicodeScalars)
            case "\u{1F}": escaped.append(contentsOf: "%1F".unicodeScalars)
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Returns what stands before the first separator, and behind it; compared by bytes, since a name may begin with a combining mark.
    private static func split(_ key: String) -> (source: Substring, rest: Substring?) {
        guard isPrivate(key), let place = key.utf8.firstIndex(of: 0x1F) else { return (key[...], nil) }
        return (key[..<place], key[key.utf8.index(after: place)...])
    }

    /// Returns the escaped name of the owner, without the digest and the identifier of a processor.
    private static func owner(in rest: Substring) -> Substring {
        let name = rest.utf8.prefix { $0 != UInt8(ascii: "@") }
        var place = name.startIndex
        while let percent = name[place...].firstIndex(of: UInt8(ascii: "%")) {
            place = name.index(after: percent)
            if place < name.endIndex, name[place] == UInt8(ascii: "V") { return rest[rest.startIndex..<percent] }
        }
        return rest[rest.startIndex..<name.endIndex]
    }

    /// Returns where the identifier of a processor begins, or the end.
    private static func end(ofOwnerIn rest: Substring) -> Substring.Index {
        rest.utf8.firstIndex(of: UInt8(ascii: "@")) ?? rest.endIndex
    }
}

/// Whether a cache can have entries that are private to a user. Where it has none, a look-up asks for the shared entry alone.
package final class PrivateEntries: Sendable {
    private enum Knowledge: UInt8, AtomicRepresentable { case notListed, none, some }

    private let knowledge = Atomic(Knowledge.notListed)

    /// Whether there can be any: one was stored, a file on disk is one or of unknown origin, or the folder was not listed yet.
    package var mayExist: Bool { knowledge.load(ordering: .acquiring) != .none }

    /// Notes that a private entry is about to be stored.
    func stored() { knowledge.store(.some, ordering: .releasing) }

    /// Notes that a disk is about to be opened, and then listed.
    func opens() {
        _ = knowledge.compareExchange(expected: .none, desired: .notListed, ordering: .acquiringAndReleasing)
    }

    /// Notes whether any can be on disk.
    func listed(hasAny: Bool) {
        if hasAny { return stored() }
        _ = knowledge.compareExchange(expected: .notListed, desired: .none, ordering: .acquiringAndReleasing)
    }
}

/// The kind of a look-up in memory: it selects the counts that the look-up changes.
@usableFromInline
package enum LookUpKind: UInt8 {
    /// The look-up counts in the storage.
    case storage
    /// The look-up counts in the storage and as a hit of the ``ImageCache`` that sent it.
    case tier
    /// Like ``tier``, but a miss is not counted, because the caller repeats the look-up in memory and on disk.
    case probe

    /// Whether the request comes from an ``ImageCache``.
    @inline(__always)
    var isTiered: Bool { self != .storage }
}

/// Assigns numbers to users in the order of their first requests, for all tiers of a cache. O(length of the name).
///
/// Requests of users beyond the first ``most`` count as requests without a user, so that policies learn nothing from
/// them.
package final class UserNumbers: Sendable {
    /// The maximum number of users that are distinguished.
    package static let most = 1 << 16

    private struct State {
        var numbers: [ByteName: UInt32] = [:]
        var next: UInt32 = 0
        /// The names of earlier starts; see ``HashedNames``.
        var hashed = HashedNames()

        mutating func known(_ user: String) -> UInt32? {
            if let known = numbers[user] { return known }
            guard let standIn = hashed.standIn(for: user, .user), let number = numbers.removeValue(forKey: standIn)
            else { return nil }
            hashed.remove(standIn, .user)
            numbers[user] = number
            return number
        }
    }

    private let state = Mutex(State())

    package init() {}

    /// Returns the number of a user, and assigns one to a new user; `UInt32.max` for no user, and if ``most`` numbers
    /// were assigned already.
    package func number(of user: String?) -> UInt32 {
        guard let user else { return .max }
        return state.withLock { state in
            if let known = state.known(user) { return known }
            if state.next >= Self.most { return .max }
            let number = state.next
            state.next += 1
            state.numbers[user] = number
            return number
        }
    }

    /// Forgets which number a user has. The number is not assigned again.
    package func forget(_ user: String) {
        state.withLock { state in
            _ = state.known(user)
            state.numbers.removeValue(forKey: user)
        }
    }

    /// Returns the number of a user; `nil` if there is none.
    func known(_ user: String) -> UInt32? { state.withLock { $0.known(user) } }

    /// The names by number, without those of forgotten users, and the stand-ins among them. O(users).
    var all: (names: [String?], hashed: HashedNames) {
        state.withLock { state in
            var names = [String?](repeating: nil, count: Int(state.next))
            for (name, number) in state.numbers { names[Int(number)] = name.text }
            return (names, state.hashed)
        }
    }

    /// Adds the users of earlier starts and returns their numbers.
    ///
    /// - Parameter hashes: their hashes in the order of their numbers; `nil` for a user that was forgotten.
    func restore(_ hashes: [String?], _ key: NameHashKey) -> [UInt32] {
        state.withLock { state in
            state.hashed.key = key
            // Users that have made requests in this start, or are known from the other tier's file.
            var known: [ByteName: UInt32] = [:]
            for (name, number) in state.numbers { known[state.hashed.kept(name.text, .user)] = number }
            return hashes.map { hash in
                if let hash, let number = known[hash] { return number }
                guard state.next < Self.most else { return .max }
                defer { state.next += 1 }
                if let hash { state.numbers[state.hashed.add(hash, .user)] = state.next }
                return state.next
            }
        }
    }
}
