import CImageCodecs
import Foundation
import HalcyonImages

/// The frames of an animated PNG (PNG, third edition, section 11.3.6), each passed to libpng as a separate PNG file.
struct APNGFrames: AnimatedImageSource {
    let size: PixelSize
    let frames: [AnimationFrame]
    let plays: Int?
    private let data: Data
    /// The bytes of the header behind width and height.
    private let depth: [UInt8]
    /// The chunks before the data that affect colours, for example the palette and keyed transparency.
    private let shared: [Range<Int>]
    /// The ranges of the compressed data of each frame.
    private let parts: [[Range<Int>]]
    private let conversion: ColorConversion?
    private let declaresAlpha: Bool

    /// Reads the frames; `nil` for a still picture, and for one whose chunks of an animation are damaged: browsers
    /// show its still picture.
    init?(_ data: Data, _ options: ImageDecodingOptions) throws {
        let walk = try data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws in
            let image = try PNGImage(ByteView(raw))
            return try Walk(ByteView(raw), image, options)
        }
        guard walk.isAnimated else { return nil }
        try options.check(stored: walk.size, allocated: walk.size.pixelCount)
        (size, frames, plays) = (walk.size, walk.frames, walk.plays == 0 ? nil : walk.plays)
        (self.data, depth, shared, parts) = (data, walk.depth, walk.shared, walk.parts)
        (conversion, declaresAlpha) = (walk.conversion, walk.declaresAlpha)
    }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        let size = frames[index].size
        let picture = try data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws in
            let source = ByteView(raw)
            var file = PNGFile()
            file.append("IHDR", PNGFile.big(size.width) + PNGFile.big(size.height) + depth)
            for range in shared {
                guard let chunk = source.slice(range.lowerBound, range.count) else { throw ImageError.truncated(.png) }
                file.bytes += chunk.bytes
            }
            for range in parts[index] {
                guard let part = source.slice(range.lowerBound, range.count) else { throw ImageError.truncated(.png) }
                file.append("IDAT", part.bytes)
            }
            file.append("IEND", [])
            let pixels = try PixelMemory.attempt(size) { output throws(ImageError) in
                try codec_png_decode(file.bytes, file.bytes.count, Int32(size.width), Int32(size.height), output)
                    .check(.png)
            }
            return Bitmap(size: size, pixels: pixels, isOpaque: declaresAlpha ? nil : true)
        }
        return picture.converted(by: conversion)
    }

    /// The state of a single pass over the chunks. One whose animation is damaged is not animated.
    private struct Walk {
        let size: PixelSize
        let depth: [UInt8]
        let conversion: ColorConversion?
        let declaresAlpha: Bool
        var isAnimated = false
        var plays = 0
        var frames: [AnimationFrame] = []
        var parts: [[Range<Int>]] = []
        var shared: [Range<Int>] = []

        init(_ bytes: ByteView, _ image: PNGImage, _ options: ImageDecodingOptions) throws(ImageError) {
            guard let depth = bytes.slice(24, 5) else { throw ImageError.truncated(.png) }
            (size, self.depth) = (image.size, depth.bytes)
            (conversion, declaresAlpha) = (image.conversion(options), image.declaresAlpha)
            var at = 8
            var (announced, sequence, hasData, isWhole, isDamaged) = (0, 0, false, false, false)
            while !isWhole, let length = bytes.big(at, 4), bytes.slice(at + 8, length + 4) != nil {
                func isKind(_ name: String) -> Bool { bytes.holds(name.utf8, at: at + 4) }
                if isKind("acTL"), !hasData, let count = bytes.big(at + 8, 4), let plays = bytes.big(at + 12, 4) {
                    (isAnimated, announced, self.plays) = (true, count, plays)
                } else if isKind("PLTE") || isKind("tRNS"), !hasData {
                    shared.append(at..<at + 12 + length)
                } else if isKind("fcTL"), isAnimated {
                    if bytes.big(at + 8, 4) == sequence, length == 26, let frame = frame(bytes, at + 8) {
                        frames.append(frame)
                        parts.append([])
                    } else {
                        isDamaged = true
                    }
                    sequence += 1
                } else if isKind("IDAT") {
                    hasData = true
                    // A picture without a control chunk before it is not part of the animation.
                    if !frames.isEmpty { parts[frames.count - 1].append(at + 8..<at + 8 + length) }
                } else if isKind("fdAT"), isAnimated {
                    if bytes.big(at + 8, 4) == sequence, length >= 4, !frames.isEmpty {
                        parts[frames.count - 1].append(at + 12..<at + 8 + length)
                    } else {
                        isDamaged = true
                    }
                    sequence += 1
                } else if isKind("IEND") {
                    isWhole = true
                }
                at += 12 + length
            }
            guard isWhole else { throw ImageError.truncated(.png) }
            isAnimated =
                isAnimated && !isDamaged && !frames.isEmpty && frames.count == announced
                && parts.allSatisfy { !$0.isEmpty }
        }

        /// Reads a control chunk; `nil` if its frame is not inside the picture.
        private func frame(_ bytes: ByteView, _ at: Int) -> AnimationFrame? {
            guard let width = bytes.big(at + 4, 4), let height = bytes.big(at + 8, 4), let x = bytes.big(at + 12, 4),
                let y = bytes.big(at + 16, 4), let delay = bytes.big(at + 20, 2), let unit = bytes.big(at + 22, 2),
                let disposal = bytes[at + 24], let blend = bytes[at + 25],
                width > 0, height > 0, x + width <= size.width, y + height <= size.height
            else { return nil }
            let milliseconds = Double(delay) * 1_000 / Double(unit == 0 ? 100 : unit)
            return AnimationFrame(
                x: x, y: y, size: PixelSize(width: width, height: height),
                duration: .microseconds(Int64((milliseconds * 1_000).rounded())),
                disposal: disposal == 1 ? .background : disposal == 2 ? .previous : .keep,
                blend: blend == 0 ? .source : .over)
        }
    }
}

/// A PNG file that is assembled from chunks.
private struct PNGFile {
    var bytes: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    mutating func append(_ kind: String, _ content: [UInt8]) {
        let body = Array(kind.utf8) + content
        bytes += Self.big(content.count) + body + Self.big(Int(codec_crc32(body, body.count)))
    }

    static func big(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
