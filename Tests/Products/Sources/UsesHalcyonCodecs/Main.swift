import Foundation
import HalcyonCodecs
import HalcyonImages

@main
struct Main {
    static func main() throws {
        guard let picture = Bitmap(width: 2, height: 1, pixels: [255, 0, 0, 255, 0, 255, 0, 255]),
            try ImageDecoder().decode(ImageEncoder.png().encode(picture)) == picture
        else { fatalError("Not the same.") }
    }
}
