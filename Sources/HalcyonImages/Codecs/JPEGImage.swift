import CImageCodecs

/// A JPEG file: its segments are walked here, its pixels decoded by TurboJPEG.
struct JPEGImage: CodedImage {
    static let format = ImageFormat.jpeg
    let size: PixelSize
    let orientation: ImageOrientation
    let declaresAlpha = false
    private let bytes: ByteView
    private let isCMYK: Bool
    /// Where the first scan begins.
    private let scan: Int

    init(_ bytes: ByteView) throws(ImageError) {
        var orientation: ImageOrientation?
        var frame: (size: PixelSize, components: Int)?
        var at = 2
        segments: while true {
            guard let (marker, content) = Self.marker(bytes, after: at) else { throw .truncated(.jpeg) }
            if Self.standsAlone(marker) {
                guard marker != 0xD9 else { throw .damaged(.jpeg, reason: "it ends before its picture begins") }
                at = content
                continue
            }
            guard let length = bytes.big(content, 2) else { throw .truncated(.jpeg) }
            guard length >= 2 else { throw .damaged(.jpeg, reason: "a segment is shorter than its own length") }
            guard let segment = bytes.slice(content + 2, length - 2) else { throw .truncated(.jpeg) }
            at = content + length
            switch marker {
            case 0xC0...0xCF where marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
                guard frame == nil else { throw .damaged(.jpeg, reason: "it has two frames") }
                frame = try Self.frame(marker, segment)
            case 0xE1 where orientation == nil && segment.starts(with: "Exif\0\0".utf8):
                orientation = segment.slice(6, segment.count - 6).map(EXIF.orientation)
            case 0xDA: break segments
            default: break
            }
        }
        guard let frame else { throw .damaged(.jpeg, reason: "a scan stands before the frame") }
        self.bytes = bytes
        size = frame.size
        isCMYK = frame.components == 4
        self.orientation = orientation ?? .up
        scan = at
    }

    /// The next marker at or after a place: its code and where its content begins. Bytes between segments are passed over.
    private static func marker(_ bytes: ByteView, after start: Int) -> (code: UInt8, content: Int)? {
        var at = start
        while let found = bytes.first(0xFF, from: at) {
            guard let code = bytes[found + 1] else { return nil }
            // 0xFF00 is data; 0xFFFF is a filler before a marker.
            if code != 0, code != 0xFF { return (code, found + 2) }
            at = code == 0 ? found + 2 : found + 1
        }
        return nil
    }

    /// Whether a marker has no length: start, end, restarts, TEM.
    private static func standsAlone(_ marker: UInt8) -> Bool {
        (0xD0...0xD9).contains(marker) || marker == 0x01
    }

    /// What a frame header says.
    private static func frame(_ marker: UInt8, _ segment: ByteView) throws(ImageError) -> (PixelSize, Int) {
        guard let precision = segment[0], let height = segment.big(1, 2), let width = segment.big(3, 2),
            let components = segment[5]
        else { throw .damaged(.jpeg, reason: "its frame header is too short") }
        guard [0xC0, 0xC1, 0xC2, 0xC9, 0xCA].contains(marker) else {
            throw .unsupported(.jpeg, feature: "lossless or hierarchical coding")
        }
        guard precision == 8 else { throw .unsupported(.jpeg, feature: "\(precision) bits a channel") }
        guard [1, 3, 4].contains(components) else { throw .unsupported(.jpeg, feature: "\(components) channels") }
        guard width > 0 else { throw .damaged(.jpeg, reason: "its width is 0") }
        guard height > 0 else { throw .unsupported(.jpeg, feature: "a height that follows the picture") }
        return (PixelSize(width: width, height: height), Int(components))
    }

    /// More scans than any encoder makes (ten are usual) would only cost time: each goes over the whole picture.
    static let scanLimit = 100

    /// The end marker must follow the scans. In their data 0xFF stands before 0x00 or a restart only.
    func checkComplete() throws(ImageError) {
        var at = scan
        var scans = 1
        while let (marker, content) = Self.marker(bytes, after: at) {
            if marker == 0xD9 { return }
            guard !Self.standsAlone(marker) else {
                at = content
                continue
            }
            guard let length = bytes.big(content, 2) else { throw .truncated(.jpeg) }
            guard length >= 2 else { throw .damaged(.jpeg, reason: "a segment is shorter than its own length") }
            at = content + length
            if marker == 0xDA { scans += 1 }
            guard scans <= Self.scanLimit else {
                throw .damaged(.jpeg, reason: "it has more than \(Self.scanLimit) scans")
            }
        }
        throw .truncated(.jpeg)
    }

    /// The codec's factors are eighths.
    func size(covering wanted: PixelSize) -> PixelSize {
        for eighths in 1..<8 {
            let scaled = scaled(Int32(eighths))
            if scaled.width >= wanted.width, scaled.height >= wanted.height { return scaled }
        }
        return size
    }

    private func scaled(_ eighths: Int32) -> PixelSize {
        PixelSize(
            width: Int(codec_jpeg_scaled(Int32(size.width), eighths)),
            height: Int(codec_jpeg_scaled(Int32(size.height), eighths)))
    }

    func pixels(at wanted: PixelSize) throws(ImageError) -> Bitmap {
        guard let file = bytes.pointer else { throw .truncated(.jpeg) }
        let eighths = (1...8).first { scaled($0) == wanted } ?? 8
        let pixels = try PixelMemory.attempt(scaled(eighths)) { output throws(ImageError) in
            try check(
                codec_jpeg_decode(
                    file, bytes.count, Int32(size.width), Int32(size.height), isCMYK ? 1 : 0, eighths, output))
        }
        return Bitmap(size: scaled(eighths), pixels: pixels, isOpaque: true)
    }
}
