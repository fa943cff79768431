import HalcyonBoosting
import HalcyonEviction
import HalcyonSimulation
import HalcyonSupport

/// A condition on stored cells: `field=value`, as in `--where trace=shop`.
///
/// A field is one of `fields`, or a parameter of a policy by its name, such as `small=0.1`.
public struct ResultCondition: Sendable, Equatable, CustomStringConvertible {
    /// The name of the field.
    package let field: String
    /// The value as the user wrote it.
    package let value: String

    /// The fields besides the parameters of policies.
    package static let fields = [
        "trace", "policy", "label", "capacity", "mode", "knowledge", "prefetch", "announce", "pretrain", "restart",
        "labels", "seed", "warmup", "build", "result_version", "kernels", "suite", "users", "fingerprint", "hash",
    ]

    /// Reads `field=value`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    public init(parsing text: String) throws(ReplayError) {
        guard let equals = text.firstIndex(of: "=") else {
            throw .usage("'\(text.shortened)' is not a condition: write field=value, such as trace=shop.")
        }
        field = text[..<equals].trimmingSpaces
        value = text[text.index(after: equals)...].trimmingSpaces
        guard !field.isEmpty, !value.isEmpty else {
            throw .usage("'\(text.shortened)' is not a condition: write field=value, such as trace=shop.")
        }
    }

    /// Reads several conditions with commas between them. A comma within parentheses, and one before a part without
    /// `=`, belongs to the value: `labels=permuted within=popularity,age,mode=shared`.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    package static func list(parsing text: String) throws(ReplayError) -> [ResultCondition] {
        var parts: [String] = []
        for part in PolicySpec.split(text) {
            if let last = parts.indices.last, !part.contains("=") {
                parts[last] += "," + part
            } else {
                parts.append(part)
            }
        }
        var conditions: [ResultCondition] = []
        for part in parts { conditions.append(try ResultCondition(parsing: part)) }
        return conditions
    }

    /// The notation that ``init(parsing:)`` reads.
    public var description: String { "\(field)=\(value)" }

    /// Returns the rows that meet all conditions.
    ///
    /// - Parameter catalogue: the policies that `policy=…` may name with parameters.
    /// - Throws: `ReplayError.usage(_:)` for a field that is unknown and no parameter of any row, or a value that the
    ///   field cannot have; `ReplayError.data(_:)` if no row has the value of a condition.
    public static func filter(
        _ rows: [ResultRow], by conditions: [ResultCondition], catalogue: PolicyCatalogue = .named
    ) throws(ReplayError) -> [ResultRow] {
        var kept = rows
        for condition in conditions {
            let test = try condition.test(for: rows, catalogue: catalogue)
            guard rows.contains(where: test) else {
                throw .data("No cell has \(condition): \(condition.accepted(in: rows)).")
            }
            kept = kept.filter(test)
        }
        return kept
    }

    /// Returns whether the field is a parameter of a policy, rather than one of `fields`.
    var isParameter: Bool { !Self.fields.contains(field) }

    /// The name of the parameter, if the field is one.
    var parameter: String {
        field.hasPrefix(ResultRow.prefix) ? String(field.dropFirst(ResultRow.prefix.count)) : field
    }

    /// Returns the test of a row.
    ///
    /// - Parameters:
    ///   - rows: all rows, which decide what a parameter is.
    ///   - catalogue: the policies that the condition may name.
    /// - Throws: `ReplayError.usage(_:)` for an unknown field or a value that it cannot have.
    func test(for rows: [ResultRow], catalogue: PolicyCatalogue) throws(ReplayError) -> (ResultRow) -> Bool {
        let value = value
        switch field {
        case "policy": return try policyTest(catalogue)
        case "labels":
            return { $0.cell.identity.labels == value || $0.cell.identity.labelControl == value }
        case "build": return { $0.provenance?.buildId.hasPrefix(value) == true }
        case "hash": return { $0.hash.hasPrefix(value) }
        case "capacity":
            let capacity: CapacityRequest
            do { capacity = try CapacityRequest(parsing: value) } catch { throw .usage(error.description) }
            return { $0.cell.identity.capacity == capacity.description || $0.cell.identity.capacity == value }
        case _ where !isParameter:
            let column = field == "users" ? "users_part" : field
            return { row in (row[column]?.text).map { Self.areEqual($0, value) } ?? (value == "none") }
        default:
            let column = ResultRow.prefix + parameter
            guard rows.contains(where: { $0[column] != nil }) else {
                throw .usage(
                    "'\(field.shortened)' is neither a field of a cell nor a parameter of a stored policy: fields are "
                        + "\(Self.fields.joined(separator: ", ")).")
            }
            return { row in (row[column]?.text).map { Self.areEqual($0, value) } ?? false }
        }
    }

    /// Returns the test of a policy: by its name, and by those parameters that are given.
    private func policyTest(_ catalogue: PolicyCatalogue) throws(ReplayError) -> (ResultRow) -> Bool {
        guard value.contains("(") else {
            let name = catalogue.aliases[value] ?? value
            return { $0.cell.identity.policy == name }
        }
        let policy: ConfiguredPolicy
        do { policy = try catalogue.policy(value) } catch { throw .usage(error.description) }
        let names = Set(policy.settings.map(\.name))
        let settings = policy.parameters.filter { names.contains($0.name) }
        return { row in
            row.cell.identity.policy == policy.info.name
                && settings.allSatisfy { row.cell.identity.parameters[$0.name] == $0.value }
        }
    }

    /// Returns what the field can be in some rows, as the end of a sentence.
    private func accepted(in rows: [ResultRow]) -> String {
        let column =
            field == "users" ? "users_part" : field == "build" ? "build_id" : isParameter ? "p_\(parameter)" : field
        let values = Set(rows.map { $0[column]?.text ?? "none" }).sorted()
        if values.isEmpty { return "the folder has no cells" }
        let shown = values.prefix(12).map { $0.shortened(to: 40) }.joined(separator: ", ")
        return "\(field) is \(values.count > 1 ? "one of " : "")\(shown)\(values.count > 12 ? ", …" : "")"
    }

    /// Returns whether two values are the same text or the same number.
    private static func areEqual(_ one: String, _ other: String) -> Bool {
        if one == other { return true }
        guard let left = Double(one), let right = Double(other) else { return false }
        return left == right
    }
}
