import CImageCodecs
import Foundation
import HalcyonImages

/// A JPEG file. Its segments are parsed here, and libjpeg decodes its pixels.
struct JPEGImage: CodedImage {
    static let format = ImageFormat.jpeg
    let size: PixelSize
    let orientation: ImageOrientation
    let declaresAlpha = false
    private let bytes: ByteView
    private let frame: Frame
    /// The offset of the data of the first scan.
    private let scan: Int
    private let firstScan: Scan?
    /// The parts of the colour profile: their numbers and ranges.
    private let profileParts: [(number: UInt8, count: UInt8, bytes: ByteView)]

    /// The contents of a frame header.
    private struct Frame {
        var size: PixelSize
        var isProgressive: Bool
        /// The identifier and the sampling factors of each component.
        var components: [(id: UInt8, across: Int, down: Int)]
    }

    /// The contents of a scan header.
    private struct Scan {
        var components: [UInt8]
        var coefficients: ClosedRange<Int>
        /// The number of bits of these coefficients that later scans send.
        var bitsLeft: UInt8
    }

    init(_ bytes: ByteView) throws(ImageError) {
        var orientation: ImageOrientation?
        var frame: Frame?
        var parts: [(number: UInt8, count: UInt8, bytes: ByteView)] = []
        var firstScan: Scan?
        var at = 2
        segments: while true {
            guard let (marker, content) = JPEGSegments.marker(bytes, after: at) else { throw .truncated(.jpeg) }
            if JPEGSegments.standsAlone(marker) {
                guard marker != 0xD9 else { throw .damaged(.jpeg, reason: "it ends before its picture begins") }
                at = content
                continue
            }
            guard let length = JPEGSegments.length(bytes, content) else { throw .truncated(.jpeg) }
            guard let segment = bytes.slice(content + 2, length - 2) else { throw .truncated(.jpeg) }
            at = content + length
            switch marker {
            case 0xC0...0xCF where marker != 0xC4 && marker != 0xC8 && marker != 0xCC:
                guard frame == nil else { throw .damaged(.jpeg, reason: "it has two frames") }
                frame = try Self.frame(marker, segment)
            case 0xE1 where orientation == nil && segment.starts(with: "Exif\0\0".utf8):
                orientation = segment.slice(6, segment.count - 6).map(EXIF.orientation)
            case 0xE2 where segment.starts(with: "ICC_PROFILE\0".utf8):
                if let number = segment[12], let count = segment[13],
                    let bytes = segment.slice(14, segment.count - 14)
                {
                    parts.append((number, count, bytes))
                }
            case 0xDA:
                firstScan = Self.scan(segment)
                break segments
            default: break
            }
        }
        guard let frame else { throw .damaged(.jpeg, reason: "a scan stands before the frame") }
        self.bytes = bytes
        size = frame.size
        self.frame = frame
        self.firstScan = firstScan
        profileParts = parts
        self.orientation = orientation ?? .up
        scan = at
    }

    /// Reads a frame header.
    private static func frame(_ marker: UInt8, _ segment: ByteView) throws(ImageError) -> Frame {
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
        var parts: [(id: UInt8, across: Int, down: Int)] = []
        for at in stride(from: 6, to: 6 + 3 * Int(components), by: 3) {
            guard let id = segment[at], let factors = segment[at + 1] else {
                throw .damaged(.jpeg, reason: "its frame header is too short")
            }
            parts.append((id, Int(factors >> 4), Int(factors & 15)))
        }
        return Frame(
            size: PixelSize(width: width, height: height), isProgressive: marker == 0xC2 || marker == 0xCA,
            components: parts)
    }

    /// Reads a scan header; `nil` if it is too short.
    private static func scan(_ segment: ByteView) -> Scan? {
        guard let count = segment[0].map(Int.init), let start = segment[1 + 2 * count],
            let end = segment[2 + 2 * count],
            let bits = segment[3 + 2 * count], start <= end
        else { return nil }
        return Scan(
            components: (0..<count).compactMap { segment[1 + 2 * $0] }, coefficients: Int(start)...Int(end),
            bitsLeft: bits & 15)
    }

    private var isCMYK: Bool { frame.components.count == 4 }

    var profileSpace: ColorProfile.Space? {
        switch frame.components.count {
        case 1: .grey
        case 3: .rgb
        default: nil
        }
    }

    /// Returns the profile: the concatenation of its parts in the order of their numbers, from 1.
    func profile() -> [UInt8]? {
        guard let count = profileParts.first?.count else { return nil }
        let parts = profileParts.sorted { $0.number < $1.number }
        guard parts.map(\.number).elementsEqual((0..<UInt8(clamping: parts.count)).map { $0 + 1 }),
            parts.count == Int(count)
        else { return [] }
        return parts.flatMap(\.bytes.bytes)
    }

    /// A picture with several scans is decoded from a buffer of all coefficients, two bytes each.
    func allocatedPixels(at wanted: PixelSize) -> Int {
        let isBuffered = frame.isProgressive || firstScan.map { $0.components.count < frame.components.count } ?? false
        guard isBuffered else { return wanted.pixelCount }
        let across = frame.components.map(\.across).max() ?? 1
        let down = frame.components.map(\.down).max() ?? 1
        let share = frame.components.reduce(0) { $0 + $1.across * $1.down }
        let coefficients = size.pixelCount / max(1, across * down) * share
        return max(wanted.pixelCount, coefficients / 2)
    }

    /// The limit of scans. Each takes time for the whole picture, and encoders usually make ten.
    static let scanLimit = 100

    /// The completeness of a file.
    private enum End {
        /// The file has its end marker.
        case whole
        /// The file has the start of all necessary scans, but no end marker.
        case unterminated
        /// Scans are missing, or the file ends inside a header.
        case truncated
    }

    /// Finds the end marker behind the scans. In the data of scans, 0xFF is followed only by 0x00 or a restart marker.
    private func end() throws(ImageError) -> End {
        var at = scan
        var headers = [firstScan]
        while let (marker, content) = JPEGSegments.marker(bytes, after: at) {
            if marker == 0xD9 { return .whole }
            guard !JPEGSegments.standsAlone(marker) else {
                at = content
                continue
            }
            guard let length = JPEGSegments.length(bytes, content) else { return .truncated }
            at = content + length
            if marker == 0xDA { headers.append(bytes.slice(content + 2, length - 2).flatMap(Self.scan)) }
            guard headers.count <= Self.scanLimit else {
                throw .damaged(.jpeg, reason: "it has more than \(Self.scanLimit) scans")
            }
        }
        return hasAllScans(headers) && at <= bytes.count ? .unterminated : .truncated
    }

    /// Returns whether every bit of every coefficient of each component was sent.
    private func hasAllScans(_ headers: [Scan?]) -> Bool {
        var bitsLeft = [UInt8: [UInt8]](
            frame.components.map { ($0.id, [UInt8](repeating: .max, count: 64)) }, uniquingKeysWith: { one, _ in one })
        for header in headers {
            guard let header, header.coefficients.upperBound < 64 else { return false }
            for id in header.components {
                let range = frame.isProgressive ? header.coefficients : 0...63
                for at in range { bitsLeft[id]?[at] = frame.isProgressive ? header.bitsLeft : 0 }
            }
        }
        return bitsLeft.values.allSatisfy { $0.allSatisfy { $0 == 0 } }
    }

    /// Returns the smallest size in eighths of the stored one that covers `wanted`.
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

    func pixels(
        at wanted: PixelSize, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isComplete: Bool) {
        let end = try end()
        switch end {
        case .whole: break
        case .unterminated where options.showsUnterminated || options.showsTruncated: break
        case .truncated where options.showsTruncated: break
        case .unterminated, .truncated: throw .truncated(.jpeg)
        }
        guard end != .whole else { return (try decode(bytes, wanted, isCut: false, options).0, true) }
        // An appended end marker makes libjpeg report whether data are missing before it.
        var ended = bytes.bytes
        ended += [0xFF, 0xD9]
        var result: Result<(Bitmap, isComplete: Bool), ImageError> = .failure(.outOfMemory)
        ended.withUnsafeBytes { raw in
            do throws(ImageError) {
                let (picture, isWhole) = try decode(ByteView(raw), wanted, isCut: true, options)
                result = .success((picture, isWhole && end == .unterminated))
            } catch {
                result = .failure(error)
            }
        }
        return try result.get()
    }

    /// Decodes at one of the codec's scales.
    private func decode(
        _ bytes: ByteView, _ wanted: PixelSize, isCut: Bool, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isWhole: Bool) {
        guard let file = bytes.pointer else { throw .truncated(.jpeg) }
        // Small pictures have the same size at several scales.
        let eighths = (1...8).last { scaled($0) == wanted } ?? 8
        var isWhole = true
        let pixels = try PixelMemory.attempt(scaled(eighths)) { output throws(ImageError) in
            let result = codec_jpeg_decode(
                file, bytes.count, Int32(size.width), Int32(size.height), isCMYK ? 1 : 0, eighths, isCut ? 1 : 0, output
            )
            // libjpeg has continued to the end, and filled in the missing part.
            isWhole = !(options.showsTruncated && result.status == codec_partial)
            if isWhole { try check(result) }
        }
        return (Bitmap(size: scaled(eighths), pixels: pixels, isOpaque: true), isWhole)
    }

    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? { nil }
}
