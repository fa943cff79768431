import HalcyonEviction

/// How a replay makes the caches it needs, and what they want to be told.
package struct CacheMaker {
    package let make: (PolicyContext) -> CacheRun
    package let traits: PolicyTraits
    /// Whether what one cache is told of category sets, all know.
    package var sharesModel = false
    /// Whether time matters beside the policy: entries expire.
    var usesTime = false
    /// The number of tiers of each cache; each tier has its own tables.
    package var tiers = 1
    /// What accesses cost in time, where there are tiers.
    var latency: LatencyModel?
    /// What the caches' times are collected by, where they are timed.
    package var timer: RunTimer?

    /// Caches of one tier.
    package init(_ policy: ConfiguredPolicy, timer: RunTimer? = nil) {
        make = { policy.makeCache($0, times: timer?.times) }
        traits = policy.card.traits
        self.timer = timer
    }

    /// Caches that `make` makes, which want to be told what these traits say.
    package init(traits: PolicyTraits, make: @escaping (PolicyContext) -> CacheRun) {
        self.make = make
        self.traits = traits
    }

    /// Caches that share a model; `nil` for a policy that has none, and where each is to have its own.
    package init?(
        sharingModelOf policy: ConfiguredPolicy, as models: FleetModels, fleet: PolicyContext, timer: RunTimer? = nil
    ) {
        guard models != .own, let make = policy.sharedModelCaches(fleet, times: timer?.times) else { return nil }
        self.make = { context in
            var context = context
            context.adaptsModel = models == .adapted
            return make(context)
        }
        traits = policy.card.traits
        sharesModel = true
        self.timer = timer
    }

    /// Caches of two tiers with these capacities in the unit of the trace.
    ///
    /// - Parameters:
    ///   - upper: makes the memories. Where they share a model, it is not that of the disks: a model learns from every access
    ///     to its tier once.
    ///   - lower: makes the disks, under the same policy.
    package init(
        memory upper: CacheMaker, disk lower: CacheMaker, tiers: TierOptions, memoryCapacity: Int, diskCapacity: Int,
        unit: CacheUnit
    ) {
        make = { context in
            var (memory, disk) = (context, context)
            memory.capacity = unit.capacity(memoryCapacity)
            memory.lifetime = tiers.memoryLifetime
            disk.capacity = unit.capacity(diskCapacity)
            disk.lifetime = tiers.diskLifetime
            return TieredCache(memory: upper.make(memory), disk: lower.make(disk)).asOne
        }
        traits = upper.traits
        sharesModel = upper.sharesModel
        self.tiers = 2
        usesTime = tiers.memoryLifetime != nil || tiers.diskLifetime != nil
        latency = tiers.latency
    }
}
