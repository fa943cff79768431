/// A box of odd, whole length with a share of one more pixel at either end, so that any variance can be had
/// (Gwosdek, Grewenig, Bruhn, Weickert: Theoretical Foundations of Gaussian Convolution by Extended Box Filtering, 2011).
struct ExtendedBox {
    /// The pixels on either side of the middle that count in full.
    let radius: Int
    /// The weight of a pixel that counts in full, and of the two ends; `(2 * radius + 1) * inner + 2 * edge` is 1.
    let inner: Float
    let edge: Float

    /// The box that, applied `passes` times, has the variance `sigma * sigma`.
    init(sigma: Double, passes: Int) {
        let variance = sigma * sigma / Double(passes)
        let length = (12 * variance + 1).squareRoot()
        let radius = ((length - 1) / 2).rounded(.down)
        let share =
            (2 * radius + 1) * (radius * (radius + 1) - 3 * variance)
            / (6 * (variance - (radius + 1) * (radius + 1)))
        let inner = 1 / (2 * radius + 1 + 2 * share)
        self.radius = Int(radius)
        self.inner = Float(inner)
        edge = Float(share * inner)
    }
}
