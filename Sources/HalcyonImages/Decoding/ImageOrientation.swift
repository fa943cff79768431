/// The orientation of a stored picture, with the numbers of EXIF (tag 0x0112, CIPA DC-008).
public enum ImageOrientation: Int, Sendable, Hashable, CaseIterable {
    /// The picture is shown as it is stored.
    case up = 1
    /// The EXIF orientations 2 to 8.
    case upMirrored, down, downMirrored, leftMirrored, right, rightMirrored, left

    /// Whether width and height are exchanged.
    package var isTransposed: Bool { rawValue >= 5 }

    /// The steps in the stored picture when x and y of the shown picture increase by one.
    private var steps: (x: (Int, Int), y: (Int, Int)) {
        switch self {
        case .up: ((1, 0), (0, 1))
        case .upMirrored: ((-1, 0), (0, 1))
        case .down: ((-1, 0), (0, -1))
        case .downMirrored: ((1, 0), (0, -1))
        case .leftMirrored: ((0, 1), (1, 0))
        case .right: ((0, -1), (1, 0))
        case .rightMirrored: ((0, -1), (-1, 0))
        case .left: ((0, 1), (-1, 0))
        }
    }

    /// Returns the picture in its display orientation. O(pixels).
    public func applied(to picture: Bitmap) -> Bitmap {
        guard self != .up else { return picture }
        let steps = steps
        let shown = isTransposed ? picture.size.transposed : picture.size
        let stride = picture.width
        // The stored pixel that is shown at the top left. It is at the end of each axis that is read backwards.
        let backX = steps.x.0 < 0 || steps.y.0 < 0
        let backY = steps.x.1 < 0 || steps.y.1 < 0
        let first = (backY ? (picture.height - 1) * stride : 0) + (backX ? stride - 1 : 0)
        let (byX, byY) = (steps.x.0 + steps.x.1 * stride, steps.y.0 + steps.y.1 * stride)
        let pixels = PixelMemory.make(shown) { output in
            picture.pixels.withUnsafeBytes { input in
                let source = input.bindMemory(to: UInt32.self)
                let target = output.bindMemory(to: UInt32.self)
                var at = 0
                for y in 0..<shown.height {
                    var from = first + y * byY
                    for _ in 0..<shown.width {
                        target[at] = source[from]
                        at &+= 1
                        from &+= byX
                    }
                }
            }
        }
        return Bitmap(size: shown, pixels: pixels, isOpaque: picture.isOpaque, provenance: picture.provenance)
    }
}
