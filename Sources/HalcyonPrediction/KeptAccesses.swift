import Foundation
import HalcyonPipeline

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
        for access in accesses where access.user.map({ users[$0] }) != user {
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
