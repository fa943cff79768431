/// What comes after something, as far as four bytes can tell: one object, and how much more often it came than others.
///
/// The object is that of a majority, if there is one (Boyer and Moore: MJRTY, a fast majority vote algorithm, 1981); what came
/// after it most often in a long time is found again after as many steps as it is ahead. O(1).
struct Follower: BitwiseCopyable {
    private static let objectBits: UInt32 = 22
    private static let unknown: UInt32 = 1 << objectBits - 1
    private static let most: UInt32 = .max >> objectBits

    private var bits = unknown

    /// The object; `UInt32.max` as long as none is known.
    var object: UInt32 {
        @inline(__always) get {
            let object = bits & Self.unknown
            return object == Self.unknown ? .max : object
        }
    }

    /// How many more times it came than others, less one; at most 1,023.
    var lead: UInt32 {
        @inline(__always) get { bits >> Self.objectBits }
    }

    /// An object with a number below ``PlannerObjects/bound`` came.
    @inline(__always)
    mutating func note(_ object: UInt32) {
        if object == self.object {
            if lead < Self.most { bits &+= 1 << Self.objectBits }
        } else if lead > 0 {
            bits &-= 1 << Self.objectBits
        } else {
            bits = object
        }
    }
}
