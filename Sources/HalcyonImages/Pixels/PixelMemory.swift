/// Where pixels are written by address: the one place that makes the bytes of a new picture.
///
/// Everything in this folder works on raw rows for speed. Its rules: a pointer never leaves the closure that it was given to; sizes
/// come from a ``Bitmap``, whose initializers guarantee `width * height * 4` bytes; every byte of a new picture is written.
package enum PixelMemory {
    /// The bytes of a picture that `fill` writes, all of them.
    package static func make(_ size: PixelSize, _ fill: (UnsafeMutableRawBufferPointer) -> Void) -> [UInt8] {
        let count = size.pixelCount * 4
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
            fill(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]))
            initialized = count
        }
    }

    /// The same, where writing them can fail; bytes of a failure are never seen.
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
