import Foundation
import HalcyonImages

/// A GIF file (GIF89a specification, CompuServe 1990). It is decoded without a library.
///
/// The picture is the first frame on the logical screen, whose other pixels are transparent. ``GIFFrames`` has all frames.
///
/// Files that violate the specification are shown as in browsers (Chromium's decoder, google/wuffs `std/gif`):
///
/// - The screen is enlarged to hold the first frame. Later frames are clipped to the screen.
/// - Colours that no table has are black.
/// - Zero bytes between blocks are skipped. Any other byte that begins no block ends the file, as the trailer does.
/// - A disposal of 4 is that of 3.
struct GIFImage: CodedImage {
    static let format = ImageFormat.gif
    let size: PixelSize
    let orientation = ImageOrientation.up
    let declaresAlpha = true
    /// The number of repetitions; `nil` if the file has none.
    let loops: Int?
    private let bytes: ByteView
    private let globalColors: Range<Int>?
    /// The offset of the first block.
    private let blocks: Int
    private let end: End
    private let first: Frame?

    init(_ bytes: ByteView) throws(ImageError) {
        guard let width = bytes.little(6, 2), let height = bytes.little(8, 2), let flags = bytes[10],
            let (globalColors, blocks) = Self.colors(bytes, 13, flags)
        else { throw .truncated(.gif) }
        self.bytes = bytes
        (self.globalColors, self.blocks) = (globalColors, blocks)
        var first: Frame?
        (end, loops) = try Self.walk(bytes, from: blocks, globalColors) { first = first ?? $0 }
        self.first = first
        size = PixelSize(
            width: max(width, first.map { $0.x + $0.size.width } ?? 0),
            height: max(height, first.map { $0.y + $0.size.height } ?? 0))
        guard size.pixelCount > 0 else {
            if end == .truncated { throw .truncated(.gif) }
            throw .damaged(.gif, reason: "its screen is \(size)")
        }
    }

    /// Returns the range of the colour table that `flags` announce at an offset, and the offset behind it; `nil` if
    /// the file ends before.
    private static func colors(_ bytes: ByteView, _ at: Int, _ flags: UInt8) -> (Range<Int>?, Int)? {
        guard flags & 0x80 != 0 else { return (nil, at) }
        let length = 3 << (Int(flags & 7) + 1)
        return bytes.slice(at, length).map { _ in (at..<at + length, at + length) }
    }

    /// Returns the offset behind a chain of sub-blocks; `nil` if the file ends before.
    private static func end(_ bytes: ByteView, ofChain start: Int) -> Int? {
        var at = start
        while let length = bytes[at] {
            at += 1 + Int(length)
            if length == 0 { return at }
        }
        return nil
    }

    /// A frame, by its descriptor.
    struct Frame {
        var x: Int
        var y: Int
        var size: PixelSize
        var isInterlaced: Bool
        var colors: Range<Int>?
        var control: Control
        /// The offset of the minimum code size, which is before the data.
        var data: Int
    }

    /// A graphic control extension, which applies to the next frame.
    struct Control {
        var transparent: UInt8?
        var disposal = AnimationFrame.Disposal.keep
        /// In hundredths of a second.
        var delay = 0
    }

    /// The completeness of a file.
    private enum End {
        /// The file has its trailer.
        case whole
        /// The file has whole frames and no trailer.
        case unterminated
        /// The file ends inside a block, or before a frame.
        case truncated
    }

    /// Walks over the blocks without decoding, and returns the completeness of the file and the number of repetitions.
    /// O(blocks).
    private static func walk(
        _ bytes: ByteView, from start: Int, _ globalColors: Range<Int>?, _ visit: (Frame) -> Void
    ) throws(ImageError) -> (End, loops: Int?) {
        var at = start
        var (control, loops, hasFrame) = (Control(), Int?.none, false)
        while let kind = bytes[at] {
            switch kind {
            case 0: at += 1
            case 0x21:
                guard let label = bytes[at + 1], let end = end(bytes, ofChain: at + 2) else {
                    return (.truncated, loops)
                }
                if label == 0xF9, let read = Self.control(bytes, at + 2) { control = read }
                if label == 0xFF, let count = repetitions(bytes, at + 2) { loops = count }
                at = end
            case 0x2C:
                guard let x = bytes.little(at + 1, 2), let y = bytes.little(at + 3, 2),
                    let width = bytes.little(at + 5, 2), let height = bytes.little(at + 7, 2),
                    let flags = bytes[at + 9],
                    let (local, data) = colors(bytes, at + 10, flags)
                else { return (.truncated, loops) }
                visit(
                    Frame(
                        x: x, y: y, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
                        colors: local ?? globalColors, control: control, data: data))
                (hasFrame, control) = (true, Control())
                guard let end = end(bytes, ofChain: data + 1) else { return (.truncated, loops) }
                at = end
            case 0x3B: return (.whole, loops)
            default:
                guard hasFrame else { throw .damaged(.gif, reason: "a block of unknown kind \(kind)") }
                return (.whole, loops)
            }
        }
        return (hasFrame ? .unterminated : .truncated, loops)
    }

    /// Reads a graphic control extension; `nil` if it is shorter than its four bytes.
    private static func control(_ bytes: ByteView, _ at: Int) -> Control? {
        guard let length = bytes[at], length >= 4, let flags = bytes[at + 1], let delay = bytes.little(at + 2, 2) else {
            return nil
        }
        let disposal: AnimationFrame.Disposal =
            switch flags >> 2 & 7 {
            case 2: .background
            case 3, 4: .previous
            default: .keep
            }
        return Control(transparent: flags & 1 != 0 ? bytes[at + 4] : nil, disposal: disposal, delay: delay)
    }

    /// Returns the number of repetitions in an application extension of Netscape, also under its second name; `nil`
    /// for others.
    private static func repetitions(_ bytes: ByteView, _ at: Int) -> Int? {
        guard bytes[at] == 11,
            bytes.holds("NETSCAPE2.0".utf8, at: at + 1) || bytes.holds("ANIMEXTS1.0".utf8, at: at + 1),
            let length = bytes[at + 12], length >= 3, bytes[at + 13] == 1
        else { return nil }
        return bytes.little(at + 14, 2)
    }

    /// Throws if the file is truncated and the options do not show such a file.
    private func checkEnd(_ options: ImageDecodingOptions) throws(ImageError) {
        switch end {
        case .whole: return
        case .unterminated where options.showsUnterminated || options.showsTruncated: return
        case .truncated where options.showsTruncated && first != nil: return
        case .unterminated, .truncated: throw .truncated(.gif)
        }
    }

    /// Returns the first frame. What a truncated file lacks of it is transparent.
    func pixels(
        at wanted: PixelSize, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isComplete: Bool) {
        try checkEnd(options)
        guard let frame = first else { throw .damaged(.gif, reason: "it has no picture") }
        guard frame.size.pixelCount > 0 else { return (.transparent(size), isComplete: end != .truncated) }
        let picture = try Self.pixels(bytes, frame, in: frame.size)
        return (picture.placed(on: size, x: frame.x, y: frame.y), isComplete: end != .truncated)
    }

    /// Returns all frames, without decoding them.
    func frames(_ options: ImageDecodingOptions) throws(ImageError) -> [Frame] {
        try checkEnd(options)
        var frames: [Frame] = []
        _ = try Self.walk(bytes, from: blocks, globalColors) { frames.append($0) }
        return frames
    }

    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
        try GIFFrames(data, options)
    }

    /// Returns the pixels of a frame that lie in `visible`, a size from its top left corner. Those behind the end of a
    /// truncated file are transparent.
    static func pixels(_ bytes: ByteView, _ frame: Frame, in visible: PixelSize) throws(ImageError) -> Bitmap {
        guard let codeSize = bytes[frame.data] else { throw .truncated(.gif) }
        let (indices, read) = try LZW.indices(
            bytes, chain: frame.data + 1, codeSize: Int(codeSize), count: frame.size.pixelCount)
        var palette = [UInt32](repeating: 0xFF00_0000, count: 256)
        for (index, at) in (frame.colors ?? 0..<0).enumerated() where index % 3 == 0 {
            palette[index / 3] = UInt32(bytes.little(at, 3) ?? 0) | 0xFF00_0000
        }
        if let transparent = frame.control.transparent { palette[Int(transparent)] = 0 }
        let (width, height) = (frame.size.width, frame.size.height)
        let order = frame.isInterlaced ? interlacedRows(height) : Array(0..<height)
        let pixels = PixelMemory.make(visible) { output in
            let words = output.bindMemory(to: UInt32.self)
            for (stored, row) in order.enumerated() where row < visible.height {
                for x in 0..<visible.width {
                    let at = stored &* width &+ x
                    words[row &* visible.width &+ x] = at < read ? palette[Int(indices[at])].littleEndian : 0
                }
            }
        }
        return Bitmap(size: visible, pixels: pixels, isOpaque: nil)
    }

    /// Returns the rows of an interlaced frame in the order in which they are stored.
    private static func interlacedRows(_ height: Int) -> [Int] {
        [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }
}
