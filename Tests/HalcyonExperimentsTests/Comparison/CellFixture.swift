import Foundation
import HalcyonEviction
import HalcyonLearning
import HalcyonSimulation
import HalcyonTestSupport

@testable import HalcyonExperiments

/// Stored cells with counts made by hand.
struct CellFixture {
    var trace = "shop"
    var fingerprint = "00000000000000aa"
    var policy = "lru"
    /// The parameters that differ from their defaults.
    var settings: [String: String] = [:]
    var capacity = "1%"
    var mode = "shared"
    var knowledge: String?
    var labels = "given"
    var seed: UInt64?
    var version = 2
    var kernels: String?
    var users: String?
    var kind = "users"
    /// The lifetimes in memory and on disk of two tiers, in microseconds; an empty list for tiers without. Nil for one
    /// cache.
    var lifetimes: [Int64]?
    var sizesMatter = false

    private var parameters: [String: String] {
        let known = (try? PolicyCatalogue.standard.policy(policy)).map { RunResult.parameters([$0]) } ?? [:]
        return known.merging(settings, uniquingKeysWith: { $1 })
    }

    private var label: String {
        settings.isEmpty
            ? policy
            : policy + "(" + settings.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: ",") + ")"
    }

    /// Returns a cell with these counts by unit.
    func cell(
        requests: [Int], hits: [Int], sizes: [Int]? = nil, hitSizes: [Int]? = nil, evictions: Int = 5
    ) throws -> StoredCell {
        var identity: [String: Any] = [
            "fingerprint": fingerprint, "labels": labels, "policy": policy, "parameters": parameters,
            "capacity": capacity, "mode": mode, "warmup": "0.25", "result_version": version,
        ]
        identity["knowledge"] = knowledge
        identity["seed"] = seed
        identity["kernels"] = kernels
        identity["users"] = users
        if let lifetimes {
            identity["capacity"] = nil
            var tiers: [String: Any] = [
                "memory": "1%", "disk": "16%", "memory_policy": policy, "disk_policy": policy, "latency": "network=150",
            ]
            if lifetimes.count == 2 {
                (tiers["memory_lifetime_us"], tiers["disk_lifetime_us"]) = (lifetimes[0], lifetimes[1])
            }
            identity["tiers"] = tiers
        }
        var units: [String: Any] = ["kind": kind, "requests": requests, "hits": hits]
        units["sizes"] = sizes
        units["hit_sizes"] = hitSizes
        let (all, found) = (requests.reduce(0, +), hits.reduce(0, +))
        let document: [String: Any] = [
            "schema": "halcyon.cell/1", "identity": identity, "label": label, "capacity": 100,
            "trace": [
                "name": trace, "requests": 400, "objects": 90, "users": 40, "categories": 3, "distinct_size": 90,
                "size_unit": sizes == nil ? "objects" : "bytes",
            ],
            "counts": [
                "requests": all, "hits": found, "size": sizes?.reduce(0, +) ?? all,
                "hit_size": hitSizes?.reduce(0, +) ?? found, "evictions": evictions, "refused": 1,
                "refused_too_large": 0,
                "stale": 0, "warmup_requests": 100,
            ],
            "units": units, "series": ["window": 30, "hits": [found / 2, found - found / 2]],
        ]
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(StoredCell.self, from: JSONSerialization.data(withJSONObject: document))
    }

    /// Returns a row with these counts by unit.
    func row(
        requests: [Int], hits: [Int], sizes: [Int]? = nil, hitSizes: [Int]? = nil, build: String? = nil
    ) throws -> ResultRow {
        let cell = try cell(requests: requests, hits: hits, sizes: sizes, hitSizes: hitSizes)
        return ResultRow(
            cell, hash: cell.identity.hash,
            provenance: try build.map { try Self.provenance(of: cell.identity.hash, build: $0) })
    }

    /// Returns how a cell was run.
    static func provenance(
        of hash: String, build: String, finishedAt: String = "2026-01-01T00:00:00Z", seconds: Double = 2
    ) throws -> CellProvenance {
        let document: [String: Any] = [
            "schema": "halcyon.provenance/1", "cell": hash, "halcyon_version": "0.1.0", "build_id": build,
            "is_optimised": true, "host": "host-\(build)", "system": "Linux", "cores": 2, "kernels": ["portable: sse2"],
            "suite": "demo", "finished_at": finishedAt, "seconds": seconds, "requests_per_second": 100,
            "metadata_bytes": 1_000,
        ]
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(CellProvenance.self, from: JSONSerialization.data(withJSONObject: document))
    }
}

/// Returns whether two numbers agree to a relative error.
func isNear(_ one: Double?, _ other: Double, to error: Double = 1e-9) -> Bool {
    guard let one else { return false }
    return abs(one - other) <= error * max(1, abs(other))
}
