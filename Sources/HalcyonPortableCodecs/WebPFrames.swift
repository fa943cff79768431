import Foundation
import HalcyonImages

/// The frames of an animated WebP (RFC 9649, section 2.7.1.1).
///
/// They are drawn as by libwebp's own decoder of animations: the background colour is ignored, and disposal makes pixels transparent.
struct WebPFrames: AnimatedImageSource {
    let size: PixelSize
    let frames: [AnimationFrame]
    let plays: Int?
    private let data: Data
    /// The ranges of the chunks of each frame.
    private let chunks: [Range<Int>]
    private let conversion: ColorConversion?

    /// Reads the frames; `nil` for a still picture.
    init?(_ data: Data, _ options: ImageDecodingOptions) throws {
        var (frames, chunks): ([AnimationFrame], [Range<Int>]) = ([], [])
        var loops = 0
        let (size, conversion) = try data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws in
            let bytes = ByteView(raw)
            let image = try WebPImage(bytes)
            guard let length = bytes.little(4, 4), length + 8 <= bytes.count else { throw ImageError.truncated(.webp) }
            var at = 12
            while at < length + 8, let count = bytes.little(at + 4, 4) {
                if bytes.holds("ANIM".utf8, at: at) { loops = bytes.little(at + 12, 2) ?? 0 }
                if bytes.holds("ANMF".utf8, at: at), let frame = bytes.slice(at + 8, count).flatMap(WebPImage.frame) {
                    guard frame.x + frame.size.width <= image.size.width,
                        frame.y + frame.size.height <= image.size.height
                    else { throw ImageError.damaged(.webp, reason: "a frame is not inside of the canvas") }
                    chunks.append(at + 24..<at + 24 + frame.chunks.count)
                    frames.append(
                        AnimationFrame(
                            x: frame.x, y: frame.y, size: frame.size, duration: .milliseconds(frame.duration),
                            disposal: frame.flags & 1 != 0 ? .background : .keep,
                            blend: frame.flags & 2 != 0 ? .source : .overAsLibwebp))
                }
                at += 8 + count + count % 2
            }
            return (image.size, image.conversion(options))
        }
        guard !frames.isEmpty else { return nil }
        try options.check(stored: size, allocated: size.pixelCount)
        (self.data, self.size, self.frames, self.chunks, self.conversion) = (data, size, frames, chunks, conversion)
        plays = loops == 0 ? nil : loops
    }

    func pixels(ofFrame index: Int) throws -> Bitmap {
        let picture = try data.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws in
            guard let part = ByteView(raw).slice(chunks[index].lowerBound, chunks[index].count) else {
                throw ImageError.truncated(.webp)
            }
            return try WebPImage.decode(part, frames[index].size, scaledTo: frames[index].size)
        }
        return picture.converted(by: conversion)
    }
}
