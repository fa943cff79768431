import Foundation

/// One input of the fuzzer: decoded whole and small, within a limit that keeps an execution quick. Whatever is thrown must be an
/// `ImageError`, and whatever is decoded must have the size that the header says; anything else ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDecoding(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let bytes, count > 0 else { return 0 }
    let data = Data(bytes: bytes, count: count)
    decodeBothWays(data)
    if ImageFormat(of: data) == .png { decodeBothWays(repairedPNG(data)) }
    return 0
}

private func decodeBothWays(_ data: Data) {
    let decoder = ImageDecoder(pixelLimit: 40_000)
    do {
        let picture = try decoder.decode(data)
        guard try decoder.information(of: data).size == picture.size,
            picture.pixels.count == picture.width * picture.height * 4
        else { fatalError("the picture is not as large as its header says") }
        let small = try decoder.decode(data, covering: PixelSize(width: 7, height: 5))
        guard small.width <= picture.width, small.height <= picture.height else {
            fatalError("the smaller picture is larger")
        }
    } catch is ImageError {
        return
    } catch {
        fatalError("another error: \(error)")
    }
}
