/// What is read of EXIF: the orientation, nothing else.
package enum EXIF {
    /// The orientation that a TIFF header and its first directory name; `.up` if they name none or are no such thing.
    package static func orientation(_ tiff: ByteView) -> ImageOrientation {
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
            // Type 3: a 16-bit number, held in the entry itself.
            if tag == 0x0112, number(at + 2, 2) == 3, number(at + 4, 4) == 1, let value = number(at + 8, 2) {
                return ImageOrientation(rawValue: value) ?? .up
            }
        }
        return .up
    }
}
