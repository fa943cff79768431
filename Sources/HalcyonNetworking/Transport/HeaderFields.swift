import HalcyonSupport

/// The header fields of a request or a response, in their order. Names are compared without regard to case.
public struct HeaderFields: Sendable, Hashable {
    /// One field.
    public struct Field: Sendable, Hashable {
        /// The name, as it was written.
        public var name: String
        /// The value, without spaces around it.
        public var value: String

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Compares by bytes, as a server does: strings with another Unicode normalisation differ.
        public static func == (one: Field, other: Field) -> Bool {
            ByteName(one.name) == other.name && ByteName(one.value) == other.value
        }

        public func hash(into hasher: inout Hasher) {
            hasher.combine(ByteName(name))
            hasher.combine(ByteName(value))
        }
    }

    /// All fields.
    public private(set) var fields: [Field] = []

    /// Creates an empty list.
    public init() {}

    /// The value of the first field of a name. Setting replaces all of that name; `nil` removes them.
    public subscript(_ name: String) -> String? {
        get { fields.first { Self.equal($0.name, name) }?.value }
        set {
            fields.removeAll { Self.equal($0.name, name) }
            if let newValue { add(name, newValue) }
        }
    }

    /// Returns the values of all fields of a name, in their order.
    public func values(_ name: String) -> [String] {
        fields.filter { Self.equal($0.name, name) }.map(\.value)
    }

    /// Appends a field, and keeps others of the same name.
    public mutating func add(_ name: String, _ value: String) { fields.append(Field(name: name, value: value)) }

    /// Returns whether a name may be sent: a token of RFC 9110, not empty.
    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "A")...UInt8(ascii: "Z"):
                    true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }

    /// Returns whether a value may be sent: no control characters besides tabs, so that it stays one line.
    static func isValue(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f || $0 == 0x09 }
    }

    /// Returns whether two names are equal, without regard to the case of ASCII letters.
    static func equal(_ one: String, _ other: String) -> Bool {
        one.utf8.count == other.utf8.count && zip(one.utf8, other.utf8).allSatisfy { folded($0) == folded($1) }
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}

extension HeaderFields: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, String)...) {
        for (name, value) in elements { add(name, value) }
    }
}
