/// The segments of a JPEG file (ISO/IEC 10918-1, B.1).
package enum JPEGSegments {
    /// Returns the next marker at or after an offset: its code and the offset of its contents. Bytes between segments are skipped.
    package static func marker(_ bytes: ByteView, after start: Int) -> (code: UInt8, content: Int)? {
        var at = start
        while let found = bytes.first(0xFF, from: at) {
            guard let code = bytes[found + 1] else { return nil }
            // 0xFF00 is data, and 0xFFFF is fill before a marker.
            if code != 0, code != 0xFF { return (code, found + 2) }
            at = code == 0 ? found + 2 : found + 1
        }
        return nil
    }

    /// Returns the length of a segment, with the two bytes of the length itself. A lower number counts as 2, as in libjpeg.
    package static func length(_ bytes: ByteView, _ content: Int) -> Int? { bytes.big(content, 2).map { max($0, 2) } }

    /// Returns whether a marker has no length: start, end, restarts, TEM.
    package static func standsAlone(_ marker: UInt8) -> Bool { (0xD0...0xD9).contains(marker) || marker == 0x01 }

    /// Returns the number of scans of a progressive JPEG, but for the last one, of which all data are in its first bytes, and the offset
    /// behind them. There are 0 as long as it is not known to be one; `nil` if it is none. O(bytes).
    package static func wholeScans(_ bytes: ByteView) -> (count: Int, end: Int)? {
        if bytes.count >= 2, !bytes.starts(with: [0xFF, 0xD8]) { return nil }
        var (at, begun, isProgressive) = (2, 0, false)
        var whole = (count: 0, end: 0)
        while let (marker, content) = marker(bytes, after: at) {
            at = content
            if marker == 0xD9 { return whole }
            if standsAlone(marker) { continue }
            // What follows the data of a scan shows that they are whole.
            if begun > whole.count { whole = (begun, content - 2) }
            switch marker {
            case 0xC2, 0xCA: isProgressive = true
            case 0xC0...0xCF where marker != 0xC4 && marker != 0xC8 && marker != 0xCC: return nil
            case 0xDA where !isProgressive: return nil
            default: break
            }
            guard let length = length(bytes, content), content + length <= bytes.count else { return whole }
            at = content + length
            if marker == 0xDA { begun += 1 }
        }
        return whole
    }
}
