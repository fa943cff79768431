import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The set of permutations from which the permutations of labels are drawn.
///
/// A uniform permutation separates labels from everything that they go with: from popularity, age and size, too. A
/// permutation within strata keeps each label among objects that are alike in these properties, so a difference to it
/// is not due to them.
package enum PermutationScheme: Sendable, Hashable, Codable, CustomStringConvertible {
    /// A property of an object that strata keep.
    package enum Property: String, Sendable, CaseIterable, Codable {
        /// The number of requests for the object in the whole trace; among objects that are only shown, the number of showings.
        case popularity
        /// The position of the object's first request, or of its first list if it is only shown.
        case age
        /// The size of the object.
        case size

        /// The share of the logarithm of the number of strata: popularity has most effect on hits and is most skewed,
        /// so it has twice that of the others.
        var weight: Double { self == .popularity ? 2 : 1 }
    }

    /// All permutations of the objects.
    case uniform
    /// The permutations within strata of objects that are alike in these properties, in the order of `Property`.
    case within([Property])

    /// The schemes that the test runs by default; the first one decides.
    package static let standard: [PermutationScheme] = [.within(Property.allCases), .uniform]

    /// Creates a scheme from text: `uniform`, or `within=` and one or several of popularity, age and size.
    ///
    /// - Throws: `ReplayError.usage(_:)` for other text.
    package init(parsing text: String) throws(ReplayError) {
        let accepted = "give uniform, or within= and one or several of popularity, age and size, such as "
        if text == "uniform" {
            self = .uniform
            return
        }
        guard text.hasPrefix("within=") else {
            throw .usage("'\(text)' is not a way to permute labels: \(accepted)within=popularity,age.")
        }
        var named: Set<Property> = []
        for name in text.dropFirst("within=".count).split(separator: ",", omittingEmptySubsequences: false) {
            guard let property = Property(rawValue: String(name)) else {
                throw .usage("'\(name)' in '\(text)' is not a property of objects: \(accepted)within=popularity,age.")
            }
            guard named.insert(property).inserted else {
                throw .usage("'\(text)' names \(name) twice: name each property once.")
            }
        }
        self = .within(Property.allCases.filter { named.contains($0) })
    }

    /// The notation that ``init(parsing:)`` reads.
    package var description: String {
        switch self {
        case .uniform: "uniform"
        case .within(let properties): "within=" + properties.map(\.rawValue).joined(separator: ",")
        }
    }

    /// The scheme in words: `permuted uniformly`, `permuted within popularity, age and size`.
    var words: String {
        guard case .within(let properties) = self else { return "permuted uniformly" }
        let names = properties.map(\.rawValue)
        let list =
            names.count < 2
            ? names.joined() : names.dropLast().joined(separator: ", ") + " and " + (names.last ?? "")
        return "permuted within " + list
    }

    /// Creates a scheme from ``description``.
    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = try Self(parsing: text)
    }

    /// Encodes ``description``.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The strata of a trace's objects: groups of objects that are alike in some properties.
///
/// Strata are nested quantiles of the whole trace. Objects are sorted by their number of requests and divided into
/// bins of equal numbers of objects. Each bin is divided by the first request, and each of these by size. There are as
/// many strata as leave at least ``fewestObjects`` in each. With S = objects / 20, a property of weight w has
/// S^(w / sum of weights) bins, rounded down. Properties that are equal for all objects are left out.
///
/// The strata use the whole trace, requests after a decision included. This is sound for a control: they decide only
/// which labels the control permutes, and no policy sees them.
struct LabelStrata: Sendable {
    /// The minimum number of objects in a stratum, unless the trace has fewer.
    static let fewestObjects = 20

    /// The scheme, without properties that are equal for all objects.
    let scheme: PermutationScheme
    /// The objects of each stratum.
    let members: [[UInt32]]

    /// Creates the strata of a scheme. O(requests + objects · log objects).
    ///
    /// - Throws: `ReplayError.data(_:)` if all objects are equal in every property of the scheme.
    init(_ scheme: PermutationScheme, of trace: Trace) throws(ReplayError) {
        let objects = Array(0..<UInt32(trace.allObjectCount))
        guard case .within(let properties) = scheme else {
            self.scheme = scheme
            members = [objects]
            return
        }
        let columns = properties.map { (property: $0, values: Self.values($0, of: trace)) }
            .filter { column in column.values.contains { $0 != column.values[0] } }
        guard !columns.isEmpty else {
            throw .data(
                "All objects are equal in \(properties.map(\.rawValue).joined(separator: " and ")), so there are no "
                    + "strata: give --permute uniform.")
        }
        self.scheme = .within(columns.map(\.property))
        let strata = max(1, objects.count / Self.fewestObjects)
        let weights = columns.reduce(0) { $0 + $1.property.weight }
        var groups = [objects]
        for (property, values) in columns {
            let bins = Self.bins(strata, property.weight / weights)
            groups = groups.flatMap { group in
                // Equal values keep the order of the first request.
                let sorted = group.sorted { (values[Int($0)], $0) < (values[Int($1)], $1) }
                return (0..<bins).map { Array(sorted[$0 * group.count / bins..<($0 + 1) * group.count / bins]) }
            }
        }
        members = groups.filter { !$0.isEmpty }
    }

    /// The number of objects in the smallest stratum.
    var fewest: Int { members.map(\.count).min() ?? 0 }

    /// Returns the largest whole number b with b^(1 / share) at most `strata`.
    private static func bins(_ strata: Int, _ share: Double) -> Int {
        // The small addition keeps whole roots, such as 100^(1/2), from being rounded down.
        max(1, Int(PortableMath.pow(Double(strata), share) + 1e-9))
    }

    private static func values(_ property: PermutationScheme.Property, of trace: Trace) -> [UInt64] {
        switch property {
        case .size: return trace.objectSizes + (trace.lists?.shownOnlySizes ?? [])
        case .popularity:
            // Every object that is only shown is below every one that is requested.
            var counts = [UInt64](repeating: 0, count: trace.allObjectCount)
            for object in trace.entries { counts[Int(object)] += 1 << 32 }
            for object in trace.lists?.objects ?? [] where Int(object) >= trace.objectCount { counts[Int(object)] += 1 }
            return counts
        case .age:
            var first = [UInt64](repeating: UInt64(trace.count), count: trace.allObjectCount)
            for (position, object) in trace.entries.enumerated().reversed() { first[Int(object)] = UInt64(position) }
            guard let lists = trace.lists else { return first }
            for list in (0..<lists.count).reversed() {
                for object in lists.objects[lists.items(of: list)] where Int(object) >= trace.objectCount {
                    first[Int(object)] = UInt64(lists.positions[list])
                }
            }
            return first
        }
    }
}
