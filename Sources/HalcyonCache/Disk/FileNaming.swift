import Crypto
import Foundation

/// How keys become names of files.
struct FileNaming {
    var isHashed: Bool
    var pathExtension: String?
    var takesKeyExtension: Bool

    /// The name of the file of a key: one component that never leaves the folder, different for keys of different bytes.
    ///
    /// A key that is to be its own name is that with each upper-case letter `X` written as `^x` and each `^` as `^^`, so that no two
    /// keys share a file where upper and lower case are not told apart. One that cannot be (empty, with `/`, anything but visible
    /// ASCII or space, a `.` or `%` at its start, or longer than 200 bytes when written so) gets `%` and its SHA-256. All names are
    /// therefore ASCII, and no file system that folds Unicode makes two of them one. Files of earlier versions whose names have
    /// upper-case letters are not found by their keys any more; they count and expire as before.
    func name(of key: String, forcedExtension: String? = nil) -> String {
        let stem: String
        if isHashed {
            stem = Self.sha256(key)
        } else if Self.canName(key), Self.isPlain(key), key.utf8.first != UInt8(ascii: "%"),
            case let escaped = Self.escaped(key), escaped.utf8.count <= 200
        {
            stem = escaped
        } else {
            stem = "%" + Self.sha256(key)
        }
        let own = takesKeyExtension ? Self.fileExtension(of: key) : nil
        guard let wanted = forcedExtension ?? pathExtension ?? own, Self.isExtension(wanted) else { return stem }
        // A key that is its own name has its extension already.
        if forcedExtension == nil, pathExtension == nil, stem == key, key.hasSuffix(".\(wanted)") { return stem }
        return "\(stem).\(wanted)"
    }

    /// The key without upper-case letters, different for different keys.
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

    /// Whether a file of this name can be one of the cache.
    ///
    /// With hashed names, only 64 hexadecimal digits and an extension are. Otherwise a name is that of a key, so that every plain
    /// name can be one; a folder of one's own is needed then.
    func isOwn(_ name: String) -> Bool {
        guard Self.isPlain(name) else { return false }
        if !isHashed { return true }
        let digits = name.utf8.prefix(64)
        let isHexadecimal = digits.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        guard digits.count == 64, isHexadecimal else { return false }
        let rest = name.dropFirst(64)
        return rest.isEmpty || rest.first == "." && Self.isExtension(String(rest.dropFirst()))
    }

    /// Whether a text can be the name of a visible file.
    static func canName(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.first != UInt8(ascii: ".") && !text.utf8.contains(0)
            && !text.utf8.contains(UInt8(ascii: "/"))
    }

    /// Whether a text is of visible ASCII and spaces.
    static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

    /// What stands behind the last point of a key, before any `@` or `?`; `nil` if that is no extension.
    static func fileExtension(of key: String) -> String? {
        let head = key.utf8.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: "?") }
        guard let point = head.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let text = String(Substring(head[head.index(after: point)...]))
        return isExtension(text) ? text : nil
    }

    /// 1 to 20 letters and digits.
    static func isExtension(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0 | 0x20)
            }
    }

    /// 64 hexadecimal digits.
    static func sha256(_ text: String) -> String {
        var hash = SHA256()
        var text = text
        text.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        return String(unsafeUninitializedCapacity: 64) { digits in
            var place = 0
            for byte in hash.finalize() {
                for nibble in [byte >> 4, byte & 15] {
                    digits[place] = nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10
                    place += 1
                }
            }
            return place
        }
    }
}
