import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache

@Suite("Keys of private entries", .timeLimit(.minutes(20)))
struct EntryOriginTests {
    private static let users = [
        "", "ann", "ann@mail.org", "ann@halcyon.blackwhite", "ann%40mail.org", "ann%", "ann\u{1F}bob", "ann%1Fbob",
        "bob", "@",
        "%40", "a\u{301}nn",
    ]

    @Test("No two users share a private key, and each key gives back the shared one")
    func usersDoNotSharePrivateKeys() {
        var owners: [String: String] = [:]
        for user in Self.users {
            for identifier in ["", "halcyon.blackwhite", "mail.org", "x@y"] {
                let key = EntryOrigin.privateKey("https://h/a", of: user).computedKey(with: identifier)
                #expect(owners.updateValue(user, forKey: key) == nil, "\(key)")
                let shared = "https://h/a".computedKey(with: identifier)
                #expect(EntryOrigin.privateKey(computed: shared, ofSource: "https://h/a", for: user) == key)
                #expect(EntryOrigin.sharedKey(of: key, user: user) == shared)
                for other in Self.users {
                    #expect(EntryOrigin.isKey(key, ofOwner: other) == (other == user), "\(key): \(other)")
                }
                #expect(EntryOrigin.isKey(key, ofSource: "https://h/a"))
            }
            #expect(
                EntryOrigin(key: EntryOrigin.privateKey("https://h/a", of: user)).owner == EntryOrigin.owner(of: user))
        }
        #expect(EntryOrigin.sharedKey(of: "a\u{1F}anna", user: "ann") == "a\u{1F}anna")
    }

    @Test("No two keys, owners and selecting fields share an entry, whatever characters they have")
    func differentOwnersAndKeysShareNoEntry() {
        let letters = ["a", "@", "%", "V", "\u{1E}", "\u{1F}", "1", "0", "\u{301}"]
        let names = [""] + letters + letters.flatMap { first in letters.map { first + $0 } }
        // Compared as bytes: canonically equal strings are different keys.
        var keys: Set<[UInt8]> = []
        func isNew(_ key: String) -> Bool { keys.insert(Array(key.utf8)).inserted }
        for name in names {
            let source = EntryOrigin.sourceKey(name)
            #expect(isNew(source), "\(name.debugDescription)")
            #expect(source.utf8.contains(0x1F) == false)
            for user in names {
                for variant in [nil, "0123456789abcdef"] {
                    let key = EntryOrigin.privateKey(source, of: user, variant: variant)
                    #expect(isNew(key), "\(name.debugDescription) \(user.debugDescription)")
                    for identifier in ["", "p", "x\u{1F}bob"] {
                        let computed = key.computedKey(with: identifier)
                        #expect(
                            EntryOrigin.isKey(computed, ofOwner: user) && EntryOrigin.isKey(computed, ofSource: source))
                        #expect(!EntryOrigin.isKey(computed, ofOwner: user + "b"))
                        let shared = EntryOrigin.sharedKey(of: computed, user: user)
                        #expect(shared.utf8.elementsEqual(source.computedKey(with: identifier).utf8))
                    }
                    #expect(EntryOrigin(key: key).owner == EntryOrigin.owner(of: user))
                    #expect(EntryOrigin(key: key).source == EntryOrigin(key: source).source)
                }
            }
        }
        #expect(EntryOrigin(key: "a".computedKey(with: "x\u{1F}bob")).isPrivate == false)
    }

    @Test("Removing a user keeps the entries of users whose names begin alike")
    func removingUserKeepsSimilarNames() async throws {
        let fixture = try CacheFixture()
        for user in ["ann", "ann@mail.org"] {
            await fixture.cache.store(Blob("a"), forKey: EntryOrigin.privateKey("a", of: user))
        }
        await fixture.cache.removePrivate(ofUser: "ann")
        for round in 0..<2 {
            #expect(!fixture.cache.isCached(forKey: EntryOrigin.privateKey("a", of: "ann")))
            #expect(
                fixture.cache.imageCachedType(forKey: EntryOrigin.privateKey("a", of: "ann@mail.org"))
                    == (round == 0 ? .memory : .disk))
            if round == 0 { fixture.cache.clearMemoryCache() }
        }
        await fixture.cache.removePrivate(ofUser: "ann@mail.org")
        #expect(!fixture.cache.isCached(forKey: EntryOrigin.privateKey("a", of: "ann@mail.org")))
    }
}
