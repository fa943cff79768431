extension Bitmap {
    /// Another picture made of this one: its file's format is remembered, and that it is no longer what the file shows.
    func derived(_ size: PixelSize? = nil, isOpaque: Bool?, pixels: [UInt8]) -> Bitmap {
        var provenance = provenance
        provenance?.isUnaltered = false
        return Bitmap(size: size ?? self.size, pixels: pixels, isOpaque: isOpaque, provenance: provenance)
    }
}
