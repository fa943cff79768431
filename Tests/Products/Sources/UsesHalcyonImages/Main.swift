import Foundation
import HalcyonImages

/// Pictures without codecs: processors, and a registry that refuses what no decoder of it knows.
@main
struct Main {
    static func main() throws {
        guard let picture = Bitmap(width: 2, height: 1, pixels: [255, 0, 0, 255, 0, 255, 0, 255]) else {
            fatalError("No picture.")
        }
        let codecs = ImageCodecs(decoders: [], encoders: [])
        let grey = try BlackWhiteImageProcessor().process(picture)
        guard grey.width == 2 else { fatalError("Not the size.") }
        do {
            _ = try ImageDecoder(codecs: codecs).decode(Data("GIF89a".utf8))
            fatalError("No decoder can read this.")
        } catch is ImageError {}
    }
}
