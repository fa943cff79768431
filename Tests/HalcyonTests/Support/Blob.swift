import Foundation
import Halcyon

/// A value of a given cost.
struct Blob: CacheCostCalculable, Sendable, Equatable {
    var name: String
    var cacheCost: Int

    init(_ name: String = "", cost: Int = 1) {
        self.name = name
        cacheCost = cost
    }
}

extension MemoryStorageConfig {
    /// A configuration without expiration and sweeping.
    static func lasting(cost: Int, count: Int = 0, rules: [String: CategoryRule] = [:]) -> Self {
        Self(totalCostLimit: cost, countLimit: count, expiration: .never, cleanInterval: .zero, categoryRules: rules)
    }
}
