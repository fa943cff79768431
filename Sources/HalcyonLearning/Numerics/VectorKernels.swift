import CPortableBLAS

/// Loops over vectors for the widest registers of the processor; see ``PortableKernels``.
///
/// They have the bits of the same loops in Swift, which is compiled for every processor of an architecture and has registers
/// of four numbers on x86-64.
package struct VectorKernels: BitwiseCopyable {
    /// The routines of one instruction set, which are constants of the program.
    let routines: UnsafePointer<halcyon_vectors>

    /// Selects an instruction set; `nil` for the one in force.
    package init(level: String? = nil) { routines = PortableKernels.vectors(at: level) }

    /// Converts a row of bytes to inputs around 0, (byte − 64) / 64; the constant becomes 1.
    @inline(__always)
    func decode(_ bytes: UnsafePointer<UInt8>, into row: UnsafeMutablePointer<Float>) {
        halcyon_decode(routines, bytes, row, Feature.width)
        row[Feature.one] = 1
    }

    /// Multiplies each number by 2 to the power of minus its time times `rate`.
    @inline(__always)
    func decay(_ numbers: UnsafeMutablePointer<Float>, by times: UnsafePointer<Float>, rate: Float, count: Int) {
        halcyon_decay(routines, numbers, times, rate, count)
    }

    /// Replaces priorities above the clock by ``GreedyDual/level(_:)``.
    @inline(__always)
    func octaves(_ excesses: UnsafeMutablePointer<Float>, count: Int) { halcyon_octaves(routines, excesses, count) }
}
