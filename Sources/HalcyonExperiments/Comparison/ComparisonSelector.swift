import Foundation
import HalcyonBoosting
import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport

/// One side of a comparison: which of the stored cells belong to it.
public enum ComparisonSelector: Sendable, Equatable, CustomStringConvertible {
    /// The cells of a policy with these parameters, and defaults otherwise: `learned(hidden=16)`.
    case policy(String)
    /// The cells that meet a condition: `labels=without`, `build=967d`.
    case condition(ResultCondition)
    /// All cells of another folder.
    case folder(String)

    /// Reads a side of a comparison: a policy as text, or `field=value`. Folders are for the caller to recognise.
    ///
    /// - Throws: `ReplayError.usage(_:)` for a field that cannot be compared.
    public init(parsing text: String) throws(ReplayError) {
        let field = text.prefix { $0 != "=" && $0 != "(" }
        guard field.count < text.count, text[field.endIndex] == "=" else {
            self = .policy(text.trimmingSpaces)
            return
        }
        let condition = try ResultCondition(parsing: text)
        switch condition.field {
        case "policy": self = .policy(condition.value)
        case "trace", "fingerprint", "hash", "suite", "warmup", "users":
            throw .usage(
                "'\(text.shortened)' cannot be a side of a comparison, because both sides must count the same requests: "
                    + "write a policy, or labels=…, prefetch=…, knowledge=…, pretrain=…, mode=…, capacity=…, seed=…, kernels=…, "
                    + "result_version=…, build=… or a parameter=…, and use --where to choose traces.")
        default: self = .condition(condition)
        }
    }

    /// The notation that ``init(parsing:)`` reads, or the path of the folder.
    public var description: String {
        switch self {
        case .policy(let text): text
        case .condition(let condition): condition.description
        case .folder(let path): path
        }
    }

    /// The parts of an identity that the sides may differ in, and are not compared further.
    var ignored: IgnoredParts {
        switch self {
        case .policy: .policies
        case .folder: IgnoredParts(names: ["result_version", "kernels"])
        case .condition(let condition):
            switch condition.field {
            case "label": .policies
            case "build", "result_version": IgnoredParts(names: ["result_version", "kernels"])
            case "mode", "prefetch":
                IgnoredParts(names: [condition.field], loose: ["knowledge", "announce", "pretrain"])
            case "knowledge": IgnoredParts(names: [condition.field], loose: ["pretrain"])
            case "seed": IgnoredParts()
            case _ where condition.isParameter:
                IgnoredParts(names: [ResultRow.prefix + condition.parameter], loose: ["kernels"])
            default: IgnoredParts(names: [condition.field])
            }
        }
    }

    /// Returns the cells of this side.
    ///
    /// A policy that the catalogue does not have, such as one of another program, is known by the name of its runs in
    /// tables: the policy with the parameters set by the user.
    ///
    /// - Parameter catalogue: the policies that a side may name.
    /// - Throws: `ReplayError.usage(_:)` for an unknown policy, parameter or value.
    func select(_ rows: [ResultRow], catalogue: PolicyCatalogue = .named) throws(ReplayError) -> [ResultRow] {
        switch self {
        case .folder: return rows
        case .condition(let condition): return rows.filter(try condition.test(for: rows, catalogue: catalogue))
        case .policy(let text):
            // A pair of policies of two tiers, and Kingfisher's, have no entry in the catalogue.
            let pairs = rows.filter { $0.cell.label == text && $0.cell.identity.tiers != nil }
            let policy: ConfiguredPolicy
            do { policy = try catalogue.policy(text) } catch {
                let known = pairs.isEmpty ? rows.filter { $0.cell.label == text } : pairs
                if known.isEmpty { throw .usage(error.description) }
                return known
            }
            let parameters = RunResult.parameters([policy])
            return rows.filter { row in
                let identity = row.cell.identity
                return identity.policy == policy.info.name && identity.parameters == parameters
                    || identity.tiers != nil && row.cell.label == text
            }
        }
    }
}

/// The parts of an identity in which the cells of a pair may differ.
struct IgnoredParts: Equatable {
    /// The names of parts that may differ.
    var names: Set<String> = []
    /// The names of parts that must be equal if both cells have them.
    var loose: Set<String> = []

    /// The parts in which cells of different policies may differ.
    static let policies = IgnoredParts(
        names: ["policy", "parameters", "tier_policies"],
        loose: ["knowledge", "pretrain", "kernels", "tiers", "tiered", "lifetimes"])

    func union(_ other: IgnoredParts) -> IgnoredParts {
        let names = names.union(other.names)
        return IgnoredParts(names: names, loose: loose.union(other.loose).subtracting(names))
    }
}

extension CellIdentity {
    /// The parts that decide the result, apart from the seed, as text. A part that is absent is left out.
    var parts: [String: String] {
        var parts = [
            "fingerprint": fingerprint, "labels": labels, "policy": policy, "mode": mode.rawValue, "warmup": warmup,
            "result_version": "\(resultVersion)",
        ]
        for (name, value) in parameters { parts[ResultRow.prefix + name] = value }
        parts["capacity"] = capacity ?? tiers?.disk
        if let tiers {
            parts["tiers"] = "\(tiers.memory) \(tiers.latency) \(tiers.decodedSizeRatio ?? "1")"
            parts["tier_policies"] = "\(tiers.memoryPolicy) \(tiers.diskPolicy)"
            // Kingfisher's policies have lifetimes of their own, and are compared with others of any lifetimes.
            let lifetimes = [tiers.memoryLifetimeUs, tiers.diskLifetimeUs].map { $0.map { "\($0)" } ?? "none" }
            parts["lifetimes"] = policy == "kingfisher" ? nil : lifetimes.joined(separator: " ")
        }
        // Kingfisher's two tiers are compared with one cache of the disk's capacity as well as with two tiers.
        parts["tiered"] = policy == "kingfisher" ? nil : tiers == nil ? "no" : "yes"
        parts["knowledge"] = knowledge?.rawValue
        parts["prefetch"] = prefetch.map { prefetch in
            let parameters = prefetch.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            return "\(prefetch.policy)(\(parameters.joined(separator: ","))) \(prefetch.budget) \(prefetch.latencyUs)"
        }
        parts["announce"] = announce
        parts["pretrain"] = pretrain.map { "\($0) \(pretrainRequests ?? "")" }
        parts["restart"] = restart
        parts["kernels"] = kernels
        parts["users"] = users
        return parts
    }
}
