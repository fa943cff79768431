/// Where the samples of a user that wait for their label begin and end.
struct SampleChain: BitwiseCopyable {
    var first = UInt32.max
    var last = UInt32.max
}

/// Candidates that wait for their label: the user asks for the object, or the horizon passes.
///
/// A ring in order of time; the samples of a user are chained, oldest first. One that is pushed out of the ring has waited so
/// long that the user has left: nobody asked. O(samples of the user) an access. Bytes: 24 and a row of features each.
struct PlannerSamples: ~Copyable {
    static let bound = 8_192

    struct Slot: BitwiseCopyable {
        var object = UInt32.max
        var user: UInt32 = 0
        /// The user's request at which it was taken.
        var request: UInt32 = 0
        var next = UInt32.max
        var logit: Float = 0
        var isSettled = true
        /// Whether it was among the best and worth its price.
        var isChosen = false
        /// Whether it was drawn to be learnt from.
        var isDrawn = true
    }

    private var slots = HeapArray(repeating: Slot(), count: bound)
    private var rows = HeapArray<Float>(repeating: 0, count: bound * PlannerInput.width)
    private var next: UInt32 = 0
    /// The samples that the last ``settle(_:object:request:horizon:)`` settled.
    private var settled = HeapArray<Settled>(repeating: Settled(), count: 64)

    /// A sample whose label is known.
    struct Settled: BitwiseCopyable {
        var place: UInt32 = 0
        var logit: Float = 0
        var isPositive = false
        var isChosen = false
        var isDrawn = true
    }

    var byteCount: Int { slots.byteCount + rows.byteCount + settled.byteCount }

    /// The row of features of a settled sample, until the next one is added.
    @inline(__always)
    func row(_ settled: Settled) -> UnsafePointer<Float> {
        UnsafePointer(rows.base + Int(settled.place) * PlannerInput.width)
    }

    /// The `index`-th of those that the last ``settle(_:object:request:horizon:)`` settled.
    subscript(index: Int) -> Settled {
        @inline(__always) get { settled[index] }
    }

    /// The sample that has to leave before the next can be added, if it has no label yet. Nobody asked.
    var expiring: (Settled, user: UInt32)? {
        let place = Int(next) % Self.bound
        guard !slots[place].isSettled else { return nil }
        let slot = slots[place]
        return (
            Settled(
                place: UInt32(place), logit: slot.logit, isPositive: false, isChosen: slot.isChosen,
                isDrawn: slot.isDrawn), slot.user
        )
    }

    /// Takes ``expiring`` off the chain of its user, of which it is the first.
    mutating func expire(from chain: UnsafeMutablePointer<SampleChain>) {
        let place = Int(next) % Self.bound
        chain.pointee.first = slots[place].next
        if slots[place].next == .max { chain.pointee.last = .max }
        slots[place].isSettled = true
    }

    /// Adds a sample at the end of its user's chain and returns where its row belongs. Nothing may be ``expiring``.
    mutating func add(_ slot: Slot, to chain: UnsafeMutablePointer<SampleChain>) -> UnsafeMutablePointer<Float> {
        let place = Int(next) % Self.bound
        slots[place] = slot
        slots[place].next = .max
        slots[place].isSettled = false
        if chain.pointee.last == .max {
            chain.pointee.first = next
        } else {
            slots[Int(chain.pointee.last) % Self.bound].next = next
        }
        chain.pointee.last = next
        next &+= 1
        return rows.base + place * PlannerInput.width
    }

    /// Settles the samples of a user of which the label is known at the user's request `request` for `object`, and returns how
    /// many they are.
    mutating func settle(
        _ chain: UnsafeMutablePointer<SampleChain>, object: UInt32, request: UInt32, horizon: UInt32
    ) -> Int {
        var (before, number, count) = (UInt32.max, chain.pointee.first, 0)
        while number != .max {
            let place = Int(number) % Self.bound
            let slot = slots[place]
            let isWanted = slot.object == object
            if isWanted || request &- slot.request >= horizon {
                slots[place].isSettled = true
                if before == .max {
                    chain.pointee.first = slot.next
                } else {
                    slots[Int(before) % Self.bound].next = slot.next
                }
                if slot.next == .max { chain.pointee.last = before }
                if count == settled.count { settled.grow(to: count * 2, filling: Settled()) }
                settled[count] = Settled(
                    place: UInt32(place), logit: slot.logit, isPositive: isWanted, isChosen: slot.isChosen,
                    isDrawn: slot.isDrawn)
                count += 1
            } else {
                before = number
            }
            number = slot.next
        }
        return count
    }
}
