import HalcyonImages

/// A reader of EXIF metadata. It reads the orientation and ignores all other tags.
enum EXIF {
    /// Returns the orientation in the first directory of a TIFF structure; `.up` if it has none or is malformed.
    static func orientation(_ tiff: ByteView) -> ImageOrientation {
        let isLittle: Bool
        if tiff.starts(with: [0x49, 0x49, 42, 0]) {
            isLittle = true
        } else if tiff.starts(with: [0x4D, 0x4D, 0, 42]) {
            isLittle = false
        } else {
            return .up
        }
        func number(_ at: Int, _ bytes: Int) -> Int? { isLittle ? tiff.little(at, bytes) : tiff.big(at, bytes) }
        guard let directory = number(4, 4), let entries = number(directory, 2) else { return .up }
        for entry in 0..<entries {
            let at = directory + 2 + entry * 12
            guard let tag = number(at, 2) else { return .up }
            // Type 3 is a 16-bit number and type 4, which some programs write, a 32-bit one. Both are in the entry
            // itself.
            if tag == 0x0112, let type = number(at + 2, 2), type == 3 || type == 4, number(at + 4, 4) == 1,
                let value = number(at + 8, type == 3 ? 2 : 4)
            {
                return ImageOrientation(rawValue: value) ?? .up
            }
        }
        return .up
    }
}
