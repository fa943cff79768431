import Foundation

/// A rectangle with a circle's quarter at each corner, and how much of each pixel it covers.
struct RoundedRectangle {
    /// Its sides, in pixels from the picture's top left.
    let left: Double
    let top: Double
    let right: Double
    let bottom: Double
    /// Top left, top right, bottom right, bottom left. Where two would meet on a side, all are made smaller alike, as CSS has it.
    let radii: (Double, Double, Double, Double)

    init(size: PixelSize, inset: Double = 0, radii: (Double, Double, Double, Double)) {
        (left, top) = (inset, inset)
        (right, bottom) = (max(Double(size.width) - inset, inset), max(Double(size.height) - inset, inset))
        let (width, height) = (right - left, bottom - top)
        var factor = 1.0
        for (sum, side) in [
            (radii.0 + radii.1, width), (radii.2 + radii.3, width), (radii.0 + radii.3, height),
            (radii.1 + radii.2, height),
        ] where sum > side { factor = min(factor, side / sum) }
        self.radii = (radii.0 * factor, radii.1 * factor, radii.2 * factor, radii.3 * factor)
    }

    /// The columns that are inside at a height: empty above and below.
    private func span(at y: Double) -> (Double, Double) {
        guard y > top, y < bottom else { return (left, left) }
        /// How far a corner cuts in.
        func cut(_ radius: Double, _ distance: Double) -> Double {
            guard distance < radius else { return 0 }
            let away = radius - distance
            return radius - (radius * radius - away * away).squareRoot()
        }
        let leftCut = max(cut(radii.0, y - top), cut(radii.3, bottom - y))
        let rightCut = max(cut(radii.1, y - top), cut(radii.2, bottom - y))
        return (left + leftCut, right - rightCut)
    }

    /// Whether a row of pixels is covered from end to end.
    func covers(row: Int, width: Int) -> Bool {
        let (above, below) = (Double(row), Double(row + 1))
        return left <= 0 && right >= Double(width) && above >= top + max(radii.0, radii.1)
            && below <= bottom - max(radii.2, radii.3)
    }

    /// How much of each pixel of a row is inside, 0 to 255: exact across, by the mean of 16 lines down.
    ///
    /// Each line notes where it begins and ends; a running sum over the row makes shares of that. `steps` has two places more than
    /// `shares`. O(width).
    func coverage(row: Int, into shares: inout [UInt8], steps: inout [Float]) {
        let width = shares.count
        for x in 0..<width + 2 { steps[x] = 0 }
        for line in 0..<16 {
            let (from, to) = span(at: Double(row) + (Double(line) + 0.5) / 16)
            guard to > from else { continue }
            for (edge, sign) in [(from, Float(1) / 16), (to, Float(-1) / 16)] {
                let inside = max(0, min(Double(width), edge))
                let pixel = Int(inside)
                let share = Float(inside - Double(pixel))
                steps[pixel] += sign * (1 - share)
                steps[pixel + 1] += sign * share
            }
        }
        var sum: Float = 0
        for x in 0..<width {
            sum += steps[x]
            shares[x] = FloatRows.byte(sum * 255)
        }
    }
}
