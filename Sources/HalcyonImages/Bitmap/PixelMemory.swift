/// The allocation of the bytes of new pictures, which processors and decoders write by address.
///
/// Processors work on raw rows for speed, by these rules:
///
/// - A pointer never leaves the closure that receives it.
/// - Sizes come from a ``Bitmap``, whose initializers guarantee `width * height * 4` bytes.
/// - Every byte of a new picture is written.
package enum PixelMemory {
    /// Returns the bytes of a new picture. `fill` must write all of them.
    package static func make(_ size: PixelSize, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
        let count = size.pixelCount * 4
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
            initialized = count
        }
    }

    /// Returns the bytes of a new picture. If `fill` throws, its bytes are discarded.
    package static func attempt(
        _ size: PixelSize, _ fill: (UnsafeMutablePointer<UInt8>) throws(ImageError) -> Void
    ) throws(ImageError) -> [UInt8] {
        let count = size.pixelCount * 4
        var failure: ImageError?
        let pixels = [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            guard let base = buffer.baseAddress else { return }
            do throws(ImageError) {
                try fill(base)
                initialized = count
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return pixels
    }
}
