/// How one cache is used, as numbers that mean the same in every app: shares of requests, octaves relative to the residents.
///
/// A model that was trained on other users needs them to tell what it serves. In a grocer's app an object returns after weeks,
/// in a feed after minutes, and the same age then says the opposite. Within one cache they are the same for all objects at an
/// instant. A model that learns from one cache alone gains nothing by them, and the group is off there.
///
/// Means are moving: over the last ``memory`` requests, and over half as many returns. At first they begin with numbers
/// between those of real traces, which weigh as ``experience`` requests. O(1) a request.
struct WorkloadStatistics: BitwiseCopyable {
    /// The requests after which older ones weigh less.
    private static let memory = 200
    /// The requests that the first numbers stand for.
    private static let experience = 20
    /// The longest time between two accesses that counts as near.
    private static let nearest = 4

    /// The names of the features, in the order of ``write(into:)``.
    static let names = [
        "return_share", "return_gap", "hit_share", "return_accesses", "near_share", "residents", "requests",
    ]

    private var returnShare: Float = 0.3
    /// The binary logarithm of the time since the last access, less that of the residents.
    private var returnGap: Float = 0
    private var hitShare: Float = 0.2
    private var returnAccesses: Float = 1
    private var nearShare: Float = 0.2
    private var residents: Float = 0
    private var requests = 0
    private var returns = 0

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - gap: the requests since the object's last access; `nil` if that is not remembered.
    ///   - accesses: the object's accesses before.
    ///   - residents: the residents of the cache.
    @inline(never)
    mutating func note(isMiss: Bool, gap: Int?, accesses: UInt16, residents: Int) {
        requests &+= 1
        self.residents = FastMath.log2(Float(residents + 1))
        let share = 1 / Float(min(requests + Self.experience, Self.memory))
        returnShare += ((gap == nil ? 0 : 1) - returnShare) * share
        hitShare += ((isMiss ? 0 : 1) - hitShare) * share
        guard let gap else { return }
        returns &+= 1
        let part = 1 / Float(min(returns + Self.experience / 2, Self.memory / 2))
        returnGap += (FastMath.log2(Float(max(gap, 1))) - self.residents - returnGap) * part
        returnAccesses += (FastMath.log2(Float(max(accesses, 1))) - returnAccesses) * part
        nearShare += ((gap <= Self.nearest ? 1 : 0) - nearShare) * part
    }

    /// Writes the features as the numbers of bytes.
    func write(into row: UnsafeMutablePointer<Float>) {
        row[0] = returnShare * 255
        row[1] = (returnGap + 8) * 16
        row[2] = hitShare * 255
        row[3] = returnAccesses * 32
        row[4] = nearShare * 255
        row[5] = residents * 16
        row[6] = FastMath.log2(Float(max(requests, 1))) * 16
        for place in 0..<Feature.workload.count { row[place] = min(max(row[place], 0), 255) }
    }
}
