import Foundation

/// A name whose identity is its UTF-8 bytes: a key, a user, a category, a file, a processor.
///
/// Swift's strings are also equal if only their Unicode normalisation differs, as "é" (U+00E9) and "é" (U+0065 U+0301), or "K" and the
/// Kelvin sign (U+212A). Two users with such names are two users. So a table of names has this type as its key, and names are
/// compared as values of this type. Dictionaries and sets of it take strings, too.
///
/// Creating one is O(1); comparing and hashing is O(bytes), and copies only a string that is not in UTF-8 (bridged from Objective-C).
///
/// See `ByteNameTests`.
package struct ByteName: Hashable, Sendable {
    package let text: String

    @inlinable
    package init(_ text: String) { self.text = text }

    @inlinable
    package static func == (left: ByteName, right: ByteName) -> Bool {
        if areIdentical(left.text, right.text) { return true }
        return left.withBytes { left in
            right.withBytes { right in
                guard left.count == right.count else { return false }
                guard let left = left.baseAddress, let other = right.baseAddress else { return true }
                return left == other || memcmp(left, other, right.count) == 0
            }
        }
    }

    /// Whether two strings are the same 16 bytes: a text of up to 15 bytes in the string itself, or one storage. A name that is compared
    /// with itself, as for most requests of a user, then costs no more than it would as strings: 0.8 ns instead of 16 ns.
    @inlinable
    @inline(__always)
    static func areIdentical(_ left: String, _ right: String) -> Bool {
        MemoryLayout<String>.size == 16
            && unsafeBitCast(left, to: (UInt64, UInt64).self) == unsafeBitCast(right, to: (UInt64, UInt64).self)
    }

    /// Compares with a string, by bytes.
    @inlinable
    package static func == (left: ByteName, right: String) -> Bool { left == ByteName(right) }

    @inlinable
    package func hash(into hasher: inout Hasher) { withBytes { hasher.combine(bytes: $0) } }

    /// The UTF-8 bytes, without a copy where the string holds them in one piece.
    @inlinable
    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        text.utf8.withContiguousStorageIfAvailable { body(UnsafeRawBufferPointer($0)) }
            ?? Array(text.utf8).withUnsafeBytes(body)
    }
}

extension ByteName {
    /// Several names, in order.
    package struct List: Hashable, Sendable {
        package let names: [String]

        package init(_ names: [String]) { self.names = names }

        package static func == (left: List, right: List) -> Bool {
            left.names.count == right.names.count
                && zip(left.names, right.names).allSatisfy { ByteName($0) == ByteName($1) }
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(names.count)
            for name in names {
                hasher.combine(name.utf8.count)
                ByteName(name).hash(into: &hasher)
            }
        }
    }
}

// Disfavoured, so that they are no candidates where the compiler has yet to find the type of the table.
extension Dictionary where Key == ByteName {
    /// Creates a table of a dictionary by strings, in which no two names are equal.
    package init(_ byString: [String: Value]) {
        self.init(uniqueKeysWithValues: byString.map { (ByteName($0.key), $0.value) })
    }

    @_disfavoredOverload
    package subscript(name: String) -> Value? {
        get { self[ByteName(name)] }
        set { self[ByteName(name)] = newValue }
    }

    @_disfavoredOverload
    package subscript(name: String, default value: @autoclosure () -> Value) -> Value {
        get { self[ByteName(name), default: value()] }
        set { self[ByteName(name)] = newValue }
        _modify { yield &self[ByteName(name), default: value()] }
    }

    @discardableResult
    @_disfavoredOverload
    package mutating func removeValue(forKey name: String) -> Value? { removeValue(forKey: ByteName(name)) }
}

extension Set<ByteName> {
    @_disfavoredOverload
    package func contains(_ name: String) -> Bool { contains(ByteName(name)) }

    @discardableResult
    @_disfavoredOverload
    package mutating func insert(_ name: String) -> (inserted: Bool, memberAfterInsert: ByteName) {
        insert(ByteName(name))
    }

    @discardableResult
    @_disfavoredOverload
    package mutating func remove(_ name: String) -> ByteName? { remove(ByteName(name)) }
}

extension Sequence<String> {
    /// Whether a name is among these, by bytes. O(n).
    package func containsBytes(of name: String) -> Bool { contains { ByteName($0) == ByteName(name) } }
}
