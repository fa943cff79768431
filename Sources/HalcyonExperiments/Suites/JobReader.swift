import HalcyonEviction
import HalcyonLearning
import HalcyonPrefetch
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// Reads the parts of a replay from YAML.
struct JobReader {
    /// The accepted policies.
    let catalogue: PolicyCatalogue

    /// Reads a kind of caches: `shared` or `per_user`.
    func mode(_ value: YAMLValue) throws(ReplayError) -> ReplayMode {
        let name = try value.text(as: "A mode")
        guard let mode = ReplayMode(rawValue: name) else {
            throw value.fault("'\(name.shortened)' is not a mode: write shared or per_user.")
        }
        return mode
    }

    /// Reads what the learners of per-user caches see: `device` or `server`.
    func knowledge(_ value: YAMLValue) throws(ReplayError) -> Knowledge {
        let name = try value.text(as: "The knowledge")
        guard let knowledge = Knowledge(rawValue: name) else {
            let accepted = Knowledge.allCases.map(\.rawValue).joined(separator: ", ")
            throw value.fault("'\(name.shortened)' is no knowledge: write one of \(accepted).")
        }
        return knowledge
    }

    /// Reads a policy as text: `s3-fifo(small=0.2)`.
    func policy(_ value: YAMLValue) throws(ReplayError) -> ConfiguredPolicy {
        let text = try value.text(as: "A policy")
        do { return try catalogue.policy(text) } catch { throw value.fault(error.description) }
    }

    /// Reads a capacity: `1%`, `64MB` or `20`.
    func capacity(_ value: YAMLValue) throws(ReplayError) -> CapacityRequest {
        let text = try value.text(as: "A capacity")
        do { return try CapacityRequest(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads capacities, each perhaps a range: `0.1%..20%:10`.
    func capacities(_ value: YAMLValue) throws(ReplayError) -> [CapacityRequest] {
        let text = try value.text(as: "A capacity")
        do { return try CapacityRequest.list(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads the requests that warm up a cache: `0.25`, `25%`, `60000` or `5d`.
    func warmup(_ value: YAMLValue) throws(ReplayError) -> Warmup {
        let text = try value.text(as: "A warm-up")
        do { return try Warmup(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads a prefetch policy with its limits.
    ///
    /// - Parameters:
    ///   - value: the name of the policy.
    ///   - budget: the prefetch budget; `nil` for 2 a request.
    ///   - latency: the duration of a prefetch; `nil` for that of the tiers, or ``FetchLatency/standard``.
    func prefetch(
        _ value: YAMLValue, budget: YAMLValue?, latency: YAMLValue?
    ) throws(ReplayError) -> PrefetchOptions {
        let name = try value.text(as: "A prefetch policy")
        let limits: PrefetchBudget
        let text = try budget?.text(as: "A budget") ?? "2/request"
        do { limits = try PrefetchBudget(parsing: text) } catch { throw (budget ?? value).fault("\(error)") }
        let duration = try latency.map { value throws(ReplayError) in FetchLatency.fixed(try span(value)) }
        do { return try PrefetchOptions(policy: name, budget: limits, latency: duration) } catch {
            throw value.fault("\(error)")
        }
    }

    /// Reads announcements: `popular(count=100, every=1h)`, or `none`.
    func announcements(_ value: YAMLValue) throws(ReplayError) -> AnnouncementOptions? {
        let text = try value.text(as: "Announcements")
        if text == "none" { return nil }
        do { return try AnnouncementOptions(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads the restarts of each device's app: `visits`.
    func restart(_ value: YAMLValue) throws(ReplayError) -> RestartOptions {
        let text = try value.text(as: "Restarts")
        do { return try RestartOptions(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads what models are trained on: `other-users`, names of traces with commas between them, or `none`.
    func pretraining(_ value: YAMLValue) throws(ReplayError) -> Pretraining? {
        let text = try value.text(as: "What models are trained on")
        if text == "none" { return nil }
        do { return try Pretraining(parsing: text) } catch { throw value.fault(error.description) }
    }

    /// Reads two tiers: `{memory: 64MB, disk: 1GB, memory_policy: lru, memory_lifetime: 300s, latency: "network=150"}`.
    func tiers(_ value: YAMLValue) throws(ReplayError) -> TierOptions {
        let fields = try value.fields(
            accepting: [
                "memory", "disk", "memory_policy", "disk_policy", "memory_lifetime", "disk_lifetime", "latency",
                "decoded_size_ratio",
            ],
            of: "Two tiers")
        var tiers = TierOptions(
            memory: try capacity(fields.required("memory")), disk: try capacity(fields.required("disk")))
        tiers.memoryPolicy = try fields["memory_policy"].map { value throws(ReplayError) in try policy(value) }
        tiers.diskPolicy = try fields["disk_policy"].map { value throws(ReplayError) in try policy(value) }
        tiers.memoryLifetime = try fields["memory_lifetime"].map { value throws(ReplayError) in try span(value) }
        tiers.diskLifetime = try fields["disk_lifetime"].map { value throws(ReplayError) in try span(value) }
        if let value = fields["latency"] {
            let text = try value.text(as: "Latencies")
            do { tiers.latency = try LatencyModel(parsing: text) } catch { throw value.fault(error.description) }
        }
        if let value = fields["decoded_size_ratio"] {
            tiers.decodedSizeRatio = try value.number(in: TierOptions.decodedSizeRatios, as: "a ratio of decoded sizes")
        }
        return tiers
    }

    /// Reads seeds: a number n of seeds stands for 1 to n, a list for its numbers.
    func seeds(_ value: YAMLValue) throws(ReplayError) -> [UInt64] {
        guard value.isList else {
            let count: Int = try value.whole(atLeast: 1, as: "a number of seeds")
            guard count <= 1_000 else { throw value.fault("\(count) seeds: give 1 to 1000.") }
            return (1...UInt64(count)).map { $0 }
        }
        var seeds: [UInt64] = []
        for item in try value.list(as: "Seeds") {
            let seed: UInt64 = try item.whole(atLeast: 0, as: "a seed")
            if seeds.contains(seed) { throw item.fault("the seed \(seed) is given twice; give it once.") }
            seeds.append(seed)
        }
        if seeds.isEmpty { throw value.fault("at least one seed is needed.") }
        return seeds
    }

    private func span(_ value: YAMLValue) throws(ReplayError) -> Int64 {
        let text = try value.text(as: "A duration")
        do { return try TimeSpan(parsing: text).microseconds } catch { throw value.fault(error.description) }
    }
}
