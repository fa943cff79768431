import Foundation
import HalcyonImages

/// A GIF file (GIF89a specification, CompuServe 1990). It is decoded without a library.
///
/// The picture is the first frame on the logical screen, whose other pixels are transparent. ``GIFFrames`` has all frames.
struct GIFImage: CodedImage {
    static let format = ImageFormat.gif
    let size: PixelSize
    let orientation = ImageOrientation.up
    let declaresAlpha = true
    private let bytes: ByteView
    private let globalColors: Range<Int>?
    /// The offset of the first block.
    private let blocks: Int

    init(_ bytes: ByteView) throws(ImageError) {
        guard let width = bytes.little(6, 2), let height = bytes.little(8, 2), let flags = bytes[10] else {
            throw .truncated(.gif)
        }
        guard width > 0, height > 0 else { throw .damaged(.gif, reason: "its screen is \(width)x\(height)") }
        size = PixelSize(width: width, height: height)
        self.bytes = bytes
        (globalColors, blocks) = try Self.colors(bytes, 13, flags)
    }

    /// Returns the range of the colour table that `flags` announce at an offset, and the offset behind it.
    private static func colors(_ bytes: ByteView, _ at: Int, _ flags: UInt8) throws(ImageError) -> (Range<Int>?, Int) {
        guard flags & 0x80 != 0 else { return (nil, at) }
        let length = 3 << (Int(flags & 7) + 1)
        guard bytes.slice(at, length) != nil else { throw .truncated(.gif) }
        return (at..<at + length, at + length)
    }

    /// Returns the offset behind a chain of sub-blocks.
    private func end(ofChain start: Int) throws(ImageError) -> Int {
        var at = start
        while let length = bytes[at] {
            at += 1 + Int(length)
            if length == 0 { return at }
        }
        throw .truncated(.gif)
    }

    /// A frame, by its descriptor.
    struct Frame {
        var x: Int
        var y: Int
        var size: PixelSize
        var isInterlaced: Bool
        var colors: Range<Int>
        var transparent: UInt8?
        var disposal = AnimationFrame.Disposal.keep
        /// In hundredths of a second.
        var delay = 0
        /// The offset of the minimum code size, which is before the data.
        var data: Int
    }

    /// A graphic control extension, which applies to the next frame.
    private struct Control {
        var transparent: UInt8?
        var disposal = AnimationFrame.Disposal.keep
        var delay = 0
    }

    /// Walks the blocks to the trailer, or until `visit` returns `false`. `loops` receives the number of repetitions.
    private func walk(
        loops: (Int) -> Void = { _ in }, _ visit: (Frame) throws(ImageError) -> Bool
    ) throws(ImageError) {
        var at = blocks
        var control = Control()
        while let kind = bytes[at] {
            switch kind {
            case 0x3B: return
            case 0x21:
                guard let label = bytes[at + 1] else { throw .truncated(.gif) }
                if label == 0xF9, let flags = bytes[at + 3] {
                    control.transparent = flags & 1 != 0 ? bytes[at + 6] : nil
                    control.delay = bytes.little(at + 4, 2) ?? 0
                    switch flags >> 2 & 7 {
                    case 2: control.disposal = .background
                    case 3: control.disposal = .previous
                    default: control.disposal = .keep
                    }
                }
                if label == 0xFF, bytes.holds("NETSCAPE2.0".utf8, at: at + 3), bytes[at + 15] == 1,
                    let count = bytes.little(at + 16, 2)
                {
                    loops(count)
                }
                at = try end(ofChain: at + 2)
            case 0x2C:
                guard let x = bytes.little(at + 1, 2), let y = bytes.little(at + 3, 2),
                    let width = bytes.little(at + 5, 2), let height = bytes.little(at + 7, 2), let flags = bytes[at + 9]
                else { throw .truncated(.gif) }
                let (local, data) = try Self.colors(bytes, at + 10, flags)
                guard let colors = local ?? globalColors else { throw .damaged(.gif, reason: "it has no colours") }
                let frame = Frame(
                    x: x, y: y, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
                    colors: colors, transparent: control.transparent, disposal: control.disposal, delay: control.delay,
                    data: data)
                guard try visit(frame) else { return }
                control = Control()
                at = try end(ofChain: data + 1)
            default: throw .damaged(.gif, reason: "a block of unknown kind \(kind)")
            }
        }
        throw .truncated(.gif)
    }

    /// Returns the first frame. All frames and the trailer must be present.
    func pixels(
        at wanted: PixelSize, _ options: ImageDecodingOptions
    ) throws(ImageError) -> (Bitmap, isComplete: Bool) {
        var first: Frame?
        try walk { frame in
            if first == nil { first = frame }
            return true
        }
        guard let frame = first else { throw .damaged(.gif, reason: "it has no picture") }
        return (try pixels(of: frame).placed(on: size, x: frame.x, y: frame.y), true)
    }

    /// Returns all frames, without decoding them, and the number of repetitions; `nil` if the file has none.
    func frames() throws(ImageError) -> (frames: [Frame], loops: Int?) {
        var (frames, loops): ([Frame], Int?) = ([], nil)
        try walk(loops: { loops = $0 }) { frame throws(ImageError) in
            try check(frame)
            frames.append(frame)
            return true
        }
        return (frames, loops)
    }

    private func check(_ frame: Frame) throws(ImageError) {
        guard frame.size.pixelCount > 0, frame.x + frame.size.width <= size.width,
            frame.y + frame.size.height <= size.height
        else { throw .damaged(.gif, reason: "a frame is not inside of the screen") }
    }

    /// Returns the pixels of one frame.
    func pixels(of frame: Frame) throws(ImageError) -> Bitmap {
        try check(frame)
        guard let codeSize = bytes[frame.data] else { throw .truncated(.gif) }
        let indices = try LZW.indices(
            bytes, chain: frame.data + 1, codeSize: Int(codeSize), count: frame.size.pixelCount)
        return Bitmap(size: frame.size, pixels: try expand(indices, frame), isOpaque: nil)
    }

    static func animation(of data: Data, _ options: ImageDecodingOptions) throws -> (any AnimatedImageSource)? {
        try GIFFrames(data, options)
    }

    /// Converts palette indices to colours, and reorders interlaced rows.
    private func expand(_ indices: [UInt8], _ frame: Frame) throws(ImageError) -> [UInt8] {
        var palette = [UInt32](repeating: 0, count: 256)
        for index in 0..<frame.colors.count / 3 {
            guard let color = bytes.little(frame.colors.lowerBound + index * 3, 3) else { throw .truncated(.gif) }
            palette[index] = UInt32(color) | 0xFF00_0000
        }
        if let transparent = frame.transparent { palette[Int(transparent)] = 0 }
        guard indices.allSatisfy({ Int($0) < frame.colors.count / 3 || $0 == frame.transparent }) else {
            throw .damaged(.gif, reason: "a pixel's colour is not in the table")
        }
        let order = frame.isInterlaced ? Self.interlacedRows(frame.size.height) : Array(0..<frame.size.height)
        let width = frame.size.width
        return PixelMemory.make(frame.size) { output in
            let words = output.bindMemory(to: UInt32.self)
            for (stored, row) in order.enumerated() {
                for x in 0..<width { words[row * width + x] = palette[Int(indices[stored * width + x])].littleEndian }
            }
        }
    }

    /// Returns the rows of an interlaced frame in the order in which they are stored.
    private static func interlacedRows(_ height: Int) -> [Int] {
        [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }
}
