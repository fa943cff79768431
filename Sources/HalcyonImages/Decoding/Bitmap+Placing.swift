extension Bitmap {
    /// The picture on a larger, transparent one, its top left at `x`, `y`; it must lie inside.
    package func placed(on canvas: PixelSize, x: Int, y: Int) -> Bitmap {
        guard canvas != size else { return self }
        var all = [UInt8](repeating: 0, count: canvas.pixelCount * 4)
        for row in 0..<height {
            let to = ((y + row) * canvas.width + x) * 4
            all.replaceSubrange(to..<to + width * 4, with: pixels[row * width * 4..<(row + 1) * width * 4])
        }
        return Bitmap(size: canvas, pixels: all, isOpaque: false)
    }
}
