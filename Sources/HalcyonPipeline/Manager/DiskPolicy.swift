/// What of a load the disk keeps.
///
/// See `DiskPolicyTests.diskKeepsWhatPolicySays()`.
public enum DiskPolicy: String, Sendable, CaseIterable {
    /// The image that the load asks for: the result of its processor, or without one the loaded bytes. Another processor loads again.
    case automatic
    /// The results of processors alone. An image without a processor is kept in memory only.
    case variants
    /// The loaded bytes alone. Each processor makes its image of them, again whenever memory has not got it.
    case originals
    /// The loaded bytes and the results of processors.
    case both

    /// Whether the disk keeps the loaded bytes of a variant.
    var keepsOriginals: Bool { self == .originals || self == .both }

    /// Whether the disk keeps the image itself.
    func keeps(variant isVariant: Bool) -> Bool {
        switch self {
        case .automatic, .both: true
        case .variants: isVariant
        case .originals: !isVariant
        }
    }
}
