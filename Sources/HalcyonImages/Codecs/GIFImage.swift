/// A GIF file, decoded here: the first frame on its screen, the rest of which stays transparent (GIF89a specification, CompuServe 1990).
struct GIFImage: CodedImage {
    static let format = ImageFormat.gif
    let size: PixelSize
    let orientation = ImageOrientation.up
    let declaresAlpha = true
    private let bytes: ByteView
    private let globalColors: ByteView?
    /// Where the first block begins.
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

    /// The colour table that `flags` announce at a place, and where it ends.
    private static func colors(_ bytes: ByteView, _ at: Int, _ flags: UInt8) throws(ImageError) -> (ByteView?, Int) {
        guard flags & 0x80 != 0 else { return (nil, at) }
        let length = 3 << (Int(flags & 7) + 1)
        guard let table = bytes.slice(at, length) else { throw .truncated(.gif) }
        return (table, at + length)
    }

    /// Where a chain of sub-blocks ends.
    private func end(ofChain start: Int) throws(ImageError) -> Int {
        var at = start
        while let length = bytes[at] {
            at += 1 + Int(length)
            if length == 0 { return at }
        }
        throw .truncated(.gif)
    }

    /// A frame as its descriptor says it.
    private struct Frame {
        var x: Int
        var y: Int
        var size: PixelSize
        var isInterlaced: Bool
        var colors: ByteView
        var transparent: UInt8?
        /// Where the least code size stands, before the data.
        var data: Int
    }

    /// Walks the blocks, as far as `visit` wants; `false` ends the walk.
    private func walk(_ visit: (Frame) throws(ImageError) -> Bool) throws(ImageError) {
        var at = blocks
        var transparent: UInt8?
        while let kind = bytes[at] {
            switch kind {
            case 0x3B: return
            case 0x21:
                guard let label = bytes[at + 1] else { throw .truncated(.gif) }
                if label == 0xF9, let flags = bytes[at + 3] { transparent = flags & 1 != 0 ? bytes[at + 6] : nil }
                at = try end(ofChain: at + 2)
            case 0x2C:
                guard let x = bytes.little(at + 1, 2), let y = bytes.little(at + 3, 2),
                    let width = bytes.little(at + 5, 2), let height = bytes.little(at + 7, 2), let flags = bytes[at + 9]
                else { throw .truncated(.gif) }
                let (local, data) = try Self.colors(bytes, at + 10, flags)
                guard let colors = local ?? globalColors else { throw .damaged(.gif, reason: "it has no colours") }
                let frame = Frame(
                    x: x, y: y, size: PixelSize(width: width, height: height), isInterlaced: flags & 0x40 != 0,
                    colors: colors, transparent: transparent, data: data)
                guard try visit(frame) else { return }
                transparent = nil
                at = try end(ofChain: data + 1)
            default: throw .damaged(.gif, reason: "a block of unknown kind \(kind)")
            }
        }
        throw .truncated(.gif)
    }

    /// Every frame must be there, and the trailer behind the last.
    func checkComplete() throws(ImageError) {
        try walk { _ in true }
    }

    func pixels(at wanted: PixelSize) throws(ImageError) -> Bitmap {
        var first: Frame?
        try walk { frame in
            first = frame
            return false
        }
        guard let frame = first else { throw .damaged(.gif, reason: "it has no picture") }
        guard frame.size.pixelCount > 0, frame.x + frame.size.width <= size.width,
            frame.y + frame.size.height <= size.height
        else { throw .damaged(.gif, reason: "a frame is not inside of the screen") }
        guard let codeSize = bytes[frame.data] else { throw .truncated(.gif) }
        let indices = try LZW.indices(
            bytes, chain: frame.data + 1, codeSize: Int(codeSize), count: frame.size.pixelCount)
        return Bitmap(size: frame.size, pixels: try expand(indices, frame), isOpaque: nil)
            .placed(on: size, x: frame.x, y: frame.y)
    }

    /// Colours in place of their numbers, rows in their order.
    private func expand(_ indices: [UInt8], _ frame: Frame) throws(ImageError) -> [UInt8] {
        var palette = [UInt32](repeating: 0, count: 256)
        for index in 0..<frame.colors.count / 3 {
            guard let color = frame.colors.little(index * 3, 3) else { throw .truncated(.gif) }
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

    /// The rows in the order in which they are stored: every eighth, those between, and so on.
    private static func interlacedRows(_ height: Int) -> [Int] {
        [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }
}
