/// Where an instant stands in a period, without a jump: two waves in the form of triangles, a quarter of the period apart.
@usableFromInline
struct Phase: BitwiseCopyable {
    @usableFromInline private(set) var direct: Float = 0
    @usableFromInline private(set) var quadrature: Float = 0

    init() {}

    init(_ second: UInt32, of period: UInt32) {
        let phase = Float(second % period) / Float(period)
        direct = abs(2 * phase - 1)
        let shifted = phase < 0.75 ? phase + 0.25 : phase - 0.75
        quadrature = abs(2 * shifted - 1)
    }
}
