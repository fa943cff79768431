/// Admits objects below a size. As libCacheSim's `size` admission.
///
/// O(1), no memory.
public struct SizeAdmission: AdmissionFilter {
    private let below: Int

    public init(_ parameters: AdmissionParameters, context: PolicyContext) { below = parameters.below }

    public mutating func admit(_ access: Access) -> Bool { access.size < below }
}
