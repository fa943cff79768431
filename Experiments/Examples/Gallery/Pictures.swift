import Foundation
import Halcyon

/// What the gallery shows: pictures of four categories, drawn by a rule and the same each time.
struct Pictures {
    static let categories = ["sunsets", "forests", "lakes", "portraits"]
    static let perCategory = 6

    /// The files by their paths.
    let files: [String: Data]

    init() throws {
        var files: [String: Data] = [:]
        for (number, category) in Self.categories.enumerated() {
            for index in 0..<Self.perCategory {
                files["/\(category)/\(index).jpg"] = try ImageEncoder.jpeg(quality: 85)
                    .encode(try Self.picture(number * 60 + index * 9))
            }
        }
        self.files = files
    }

    /// The list of what there is, in the order of the gallery.
    static func list(at port: Int) -> [Resource] {
        categories.flatMap { category in
            (0..<perCategory).compactMap { index in
                URL(string: "http://127.0.0.1:\(port)/\(category)/\(index).jpg").map {
                    Resource($0, categories: [category], user: "visitor")
                }
            }
        }
    }

    private static func picture(_ shade: Int) throws -> Bitmap {
        let (width, height) = (640, 480)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 4)
        for y in 0..<height {
            for x in 0..<width {
                let wave = (x * x + y * y) >> 9
                pixels += [UInt8(x * 255 / width), UInt8(truncatingIfNeeded: shade + y / 4), UInt8(wave & 255), 255]
            }
        }
        guard let picture = Bitmap(width: width, height: height, pixels: pixels) else { throw ImageError.outOfMemory }
        return picture
    }
}
