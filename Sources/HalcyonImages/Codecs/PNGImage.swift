import CImageCodecs

/// A PNG file: its chunks are walked here, its pixels decoded by libpng. Of an animation the picture that every decoder shows.
struct PNGImage: CodedImage {
    static let format = ImageFormat.png
    let size: PixelSize
    let orientation: ImageOrientation
    let declaresAlpha: Bool
    private let bytes: ByteView
    private let hasEnd: Bool

    init(_ bytes: ByteView) throws(ImageError) {
        guard let width = bytes.big(16, 4), let height = bytes.big(20, 4), let color = bytes[25] else {
            throw .truncated(.png)
        }
        guard bytes.holds("IHDR".utf8, at: 12) else {
            throw .damaged(.png, reason: "its header is not its first chunk")
        }
        guard width > 0, height > 0, width < 1 << 31, height < 1 << 31 else {
            throw .damaged(.png, reason: "its size is \(width)x\(height)")
        }
        var (orientation, hasEnd, hasKey) = (ImageOrientation.up, false, false)
        var at = 8
        while !hasEnd, let length = bytes.big(at, 4), bytes.slice(at + 8, length + 4) != nil {
            if bytes.holds("IEND".utf8, at: at + 4) { hasEnd = true }
            if bytes.holds("tRNS".utf8, at: at + 4) { hasKey = true }
            if bytes.holds("eXIf".utf8, at: at + 4), let content = bytes.slice(at + 8, length) {
                orientation = EXIF.orientation(content)
            }
            at += 12 + length
        }
        self.bytes = bytes
        size = PixelSize(width: width, height: height)
        self.orientation = orientation
        self.hasEnd = hasEnd
        declaresAlpha = color & 4 != 0 || hasKey
    }

    func checkComplete() throws(ImageError) {
        if !hasEnd { throw .truncated(.png) }
    }

    func pixels(at wanted: PixelSize) throws(ImageError) -> Bitmap {
        guard let file = bytes.pointer else { throw .truncated(.png) }
        let pixels = try PixelMemory.attempt(size) { output throws(ImageError) in
            try check(codec_png_decode(file, bytes.count, Int32(size.width), Int32(size.height), output))
        }
        return Bitmap(size: size, pixels: pixels, isOpaque: declaresAlpha ? nil : true)
    }
}
