import Foundation
import HalcyonPipeline

/// The latest accesses to a cache as they are written down, the oldest first: names are listed once, and accesses refer to them.
struct KeptAccesses: Codable, Sendable, Equatable {
    /// What is written; a file that says more is of a later release.
    static let version = 1
    /// The most accesses.
    static let most = 1 << 12
    /// The most UTF-8 bytes that all names of one access have; it is not written down otherwise.
    static let mostText = 1 << 12
    /// The most categories that it has.
    static let mostCategories = 256
    /// The times that are believed, in microseconds since 1970: until 2255.
    static let times: ClosedRange<Int64> = 0...(1 << 53)
    /// The bytes that are believed.
    static let sizes = 0...(1 << 40)

    /// Something that was asked for.
    struct Object: Codable, Sendable, Hashable {
        /// What it is kept under, without its processor where its URL is known; `nil`: its URL.
        var key: String?
        /// Where it comes from; `nil` if nobody knows, or it comes from no server.
        var url: String?
        /// What makes it; `nil` for the default processor and for what comes from nobody knows where.
        var processor: String?
        /// What comes over the network; `nil` if nobody knows.
        var bytes: Int?

        /// The computed key; `nil` if it has none.
        var computedKey: String? { (key ?? url)?.computedKey(with: processor ?? "") }

        /// Where it comes from; `nil` if that is not written down.
        var resource: Resource? { url.flatMap(URL.init(string:)).map { Resource($0, cacheKey: key) } }

        var isSound: Bool {
            guard (key ?? url) != nil, bytes.map(KeptAccesses.sizes.contains) ?? true else { return false }
            guard let url else { return true }
            return URL(string: url)?.scheme != nil
        }
    }

    /// An access.
    struct Access: Codable, Sendable, Equatable {
        /// Its place in ``KeptAccesses/objects``.
        var object: Int
        /// Its place in ``KeptAccesses/users``; `nil` for nobody.
        var user: Int?
        /// Its place in ``KeptAccesses/categorySets``; `nil` for none.
        var categories: Int?
        /// The wall time in microseconds.
        var time: Int64
        /// What the object takes in memory; 0 if nobody knows.
        var cost: Int
        /// Whether the cache held it.
        var isHit: Bool
    }

    var version = Self.version
    var users: [String] = []
    var categorySets: [[String]] = []
    var objects: [Object] = []
    var accesses: [Access] = []

    /// Whether everything that is referred to is there, and all numbers can be calculated with.
    var isSound: Bool {
        objects.allSatisfy(\.isSound) && categorySets.allSatisfy { $0.count <= Self.mostCategories }
            && accesses.allSatisfy { access in
                objects.indices.contains(access.object)
                    && access.user.map(users.indices.contains) ?? true
                    && access.categories.map(categorySets.indices.contains) ?? true
                    && Self.times.contains(access.time) && Self.sizes.contains(access.cost)
            }
    }
}
