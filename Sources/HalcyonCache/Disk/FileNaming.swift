import Foundation
import HalcyonSupport

/// The rule that maps keys to file names.
struct FileNaming {
    var isHashed: Bool
    var pathExtension: String?
    var takesKeyExtension: Bool

    /// Returns the file name of an entry: one path component, different for keys of different bytes.
    ///
    /// With SHA-256 off, a key is its own name after escaping: each upper-case letter `X` becomes `^x`, and each `^`
    /// becomes `^^`. Two keys therefore never share a file on file systems that ignore case.
    ///
    /// A key cannot be a name if it is empty, starts with `.` or `%`, or is longer than 200 bytes after escaping. It
    /// cannot be one either if it contains `/` or bytes other than visible ASCII and space. The name of such a key is
    /// `%` and its SHA-256. All names are therefore ASCII, so that file systems that normalise Unicode do not merge
    /// two of them.
    ///
    /// With a forced extension, the name of such a key is `%`, its SHA-256 and the extension, too, unless all names have an
    /// extension (``pathExtension``). Otherwise the key `a` with the extension `jpg` would share the file of the key
    /// `a.jpg`.
    ///
    /// Files of earlier versions that had other names by these rules are not found by their keys. They still count and
    /// expire while the index database contains them.
    func name(of entry: some EntryNaming) -> String {
        let (entry, key) = (entry.entryKey, entry.entryKey.computed)
        let stem: String
        var isEscapedKey = false
        let forced = entry.forcedExtension.flatMap { Self.isExtension($0) ? $0 : nil }
        if isHashed {
            stem = Self.sha256(key)
        } else if forced == nil || allHaveExtensions, Self.canName(key), Self.isPlain(key),
            key.utf8.first != UInt8(ascii: "%"), case let escaped = Self.escaped(key), escaped.utf8.count <= 200
        {
            (stem, isEscapedKey) = (escaped, true)
        } else {
            stem = "%" + Self.sha256(key)
        }
        let own = takesKeyExtension ? Self.fileExtension(of: key) : nil
        guard let wanted = forced ?? pathExtension ?? own, Self.isExtension(wanted) else { return stem }
        // A key that is its own name and ends with its extension needs no other.
        if isEscapedKey, forced == nil, pathExtension == nil, !key.utf8.contains(where: Self.endsName) {
            return stem
        }
        return "\(stem).\(wanted)"
    }

    /// Whether each name ends with an extension behind the stem.
    private var allHaveExtensions: Bool { pathExtension.map(Self.isExtension) == true }

    /// Returns the key without upper-case letters, different for different keys.
    private static func escaped(_ key: String) -> String {
        let mark = UInt8(ascii: "^")
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        if !key.utf8.contains(where: { $0 == mark || letters.contains($0) }) { return key }
        var bytes: [UInt8] = []
        for byte in key.utf8 {
            if byte == mark || letters.contains(byte) { bytes.append(mark) }
            bytes.append(letters.contains(byte) ? byte | 0x20 : byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns whether the rule can give this name.
    ///
    /// With hashed names, this requires 64 hexadecimal digits and optionally an extension. Otherwise it also holds for
    /// the names of plain keys, such as `notes.txt`. It does not hold for `README.txt`, because names contain no upper-case
    /// letters.
    func isOwn(_ name: String) -> Bool {
        guard Self.isPlain(name) else { return false }
        if isHashed { return Self.isHash(name) }
        if name.utf8.first == UInt8(ascii: "%") { return Self.isHash(name.dropFirst()) }
        guard Self.canName(name) else { return false }
        if !allHaveExtensions, Self.isEscaped(name) { return true }
        guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")),
            Self.isExtension(String(name[name.utf8.index(after: point)...]))
        else { return false }
        let stem = String(name[..<point])
        let isExtended = allHaveExtensions || takesKeyExtension && stem.utf8.contains(where: Self.endsName)
        return isExtended && Self.canName(stem) && Self.isEscaped(stem)
    }

    /// Returns whether a text is 64 hexadecimal digits and optionally an extension.
    private static func isHash(_ name: some StringProtocol) -> Bool {
        let digits = name.utf8.prefix(64)
        let isHexadecimal = digits.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard digits.count == 64, isHexadecimal else { return false }
        let rest = name.dropFirst(64)
        return rest.isEmpty || rest.first == "." && isExtension(String(rest.dropFirst()))
    }

    /// Returns whether a text is an escaped key: at most 200 bytes, without upper-case letters, and with a `^` or a
    /// lower-case letter behind each `^`.
    private static func isEscaped(_ name: String) -> Bool {
        guard name.utf8.count <= 200 else { return false }
        var isAfterMark = false
        for byte in name.utf8 {
            if (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) { return false }
            let isMark = byte == UInt8(ascii: "^")
            if isAfterMark {
                guard isMark || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) else { return false }
                isAfterMark = false
            } else {
                isAfterMark = isMark
            }
        }
        return !isAfterMark
    }

    /// Returns whether a text can be the name of a visible file.
    static func canName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.first != UInt8(ascii: ".") && !text.utf8.contains(0)
            && !text.utf8.contains(UInt8(ascii: "/"))
    }

    /// Returns whether a text consists of visible ASCII and spaces.
    static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

    /// Whether the name of an object ends at this byte of its key: what follows is a variant or a query.
    private static func endsName(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "@") || byte == UInt8(ascii: "?") }

    /// Returns the text behind the last point of a key, before any `@` or `?`; `nil` if it is not an extension.
    static func fileExtension(of key: String) -> String? {
        let head = key.utf8.prefix { !endsName($0) }
        guard let point = head.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let text = String(Substring(head[head.index(after: point)...]))
        return isExtension(text) ? text : nil
    }

    /// Returns whether a text consists of 1 to 20 letters and digits.
    static func isExtension(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
    }

    /// Returns the SHA-256 of a text as 64 hexadecimal digits.
    static func sha256(_ text: String) -> String {
        var text = text
        return SHA256Digest.hexadecimal(text.withUTF8 { SHA256Digest.hash(UnsafeRawBufferPointer($0)) })
    }
}
