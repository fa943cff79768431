/// The compact form in which ``Freshness`` is kept beside an image: flags, numbers of eight bytes, texts behind their length.
extension Freshness {
    /// The kinds of values that are there, and what is true.
    private struct Flags: OptionSet {
        let rawValue: UInt32

        static let noStore = Flags(rawValue: 1 << 0)
        static let noCache = Flags(rawValue: 1 << 1)
        static let mustRevalidate = Flags(rawValue: 1 << 2)
        static let mustUnderstand = Flags(rawValue: 1 << 3)
        static let isImmutable = Flags(rawValue: 1 << 4)
        static let controlIsPrivate = Flags(rawValue: 1 << 5)
        static let isPublic = Flags(rawValue: 1 << 6)
        static let isStorable = Flags(rawValue: 1 << 7)
        static let allowsEstimate = Flags(rawValue: 1 << 8)
        static let isPrivate = Flags(rawValue: 1 << 9)
        static let maxAge = Flags(rawValue: 1 << 10)
        static let staleWhileRevalidate = Flags(rawValue: 1 << 11)
        static let staleIfError = Flags(rawValue: 1 << 12)
        static let expires = Flags(rawValue: 1 << 13)
        static let etag = Flags(rawValue: 1 << 14)
        static let lastModified = Flags(rawValue: 1 << 15)
        static let date = Flags(rawValue: 1 << 16)
        static let variant = Flags(rawValue: 1 << 17)
    }

    /// The bytes of the compact form. O(length).
    package var encoded: [UInt8] {
        var bytes: [UInt8] = []
        var flags: Flags = []
        func note(_ isTrue: Bool, _ flag: Flags) { if isTrue { flags.insert(flag) } }
        func add(_ number: Int64) { withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) } }
        func add(_ number: Int64?, _ flag: Flags) {
            guard let number else { return }
            flags.insert(flag)
            add(number)
        }
        func add(_ text: String) {
            let text = Array(text.utf8)
            add(Int64(text.count))
            bytes += text
        }
        func add(_ text: String?, _ flag: Flags) {
            guard let text else { return }
            flags.insert(flag)
            add(text)
        }
        note(control.noStore, .noStore)
        note(control.noCache, .noCache)
        note(control.mustRevalidate, .mustRevalidate)
        note(control.mustUnderstand, .mustUnderstand)
        note(control.isImmutable, .isImmutable)
        note(control.isPrivate, .controlIsPrivate)
        note(control.isPublic, .isPublic)
        note(isStorable, .isStorable)
        note(allowsEstimate, .allowsEstimate)
        note(isPrivate, .isPrivate)
        for number in [sent, received, age] { add(number) }
        add(control.maxAge, .maxAge)
        add(control.staleWhileRevalidate, .staleWhileRevalidate)
        add(control.staleIfError, .staleIfError)
        add(expires, .expires)
        add(validators.etag, .etag)
        add(validators.lastModified, .lastModified)
        add(validators.date, .date)
        add(vary.joined(separator: ","))
        add(variant.map { $0.fields + "," + $0.all }, .variant)
        return withUnsafeBytes(of: flags.rawValue.littleEndian) { Array($0) } + bytes
    }

    /// Reads the compact form; `nil` if these bytes are not exactly that. O(length).
    package init?(encoded bytes: some Collection<UInt8>) {
        var rest = Array(bytes)[...]
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard count >= 0, rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func number() -> Int64? {
            take(8).map { Int64(bitPattern: $0.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }) }
        }
        func text() -> String? {
            guard let length = number(), let count = Int(exactly: length), let bytes = take(count) else { return nil }
            return String(validating: bytes, as: UTF8.self)
        }
        guard let head = take(4) else { return nil }
        let flags = Flags(rawValue: head.reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        // A value that is there but cannot be read makes the whole unreadable.
        func optional<Value>(_ flag: Flags, _ read: () -> Value?) -> Value?? {
            guard flags.contains(flag) else { return .some(nil) }
            guard let value = read() else { return nil }
            return .some(value)
        }
        guard let sent = number(), let received = number(), let age = number(),
            let maxAge = optional(.maxAge, number), let revalidate = optional(.staleWhileRevalidate, number),
            let error = optional(.staleIfError, number), let expires = optional(.expires, number),
            let etag = optional(.etag, text), let lastModified = optional(.lastModified, text),
            let date = optional(.date, text), let vary = text(), let variant = optional(.variant, text), rest.isEmpty
        else { return nil }
        control = CacheControl()
        (control.noStore, control.noCache) = (flags.contains(.noStore), flags.contains(.noCache))
        control.mustRevalidate = flags.contains(.mustRevalidate)
        control.mustUnderstand = flags.contains(.mustUnderstand)
        control.isImmutable = flags.contains(.isImmutable)
        (control.isPrivate, control.isPublic) = (flags.contains(.controlIsPrivate), flags.contains(.isPublic))
        (control.maxAge, control.staleWhileRevalidate, control.staleIfError) = (maxAge, revalidate, error)
        (self.sent, self.received, self.age, self.expires) = (sent, received, age, expires)
        validators = Validators(etag: etag, lastModified: lastModified)
        validators.date = date
        self.vary = vary.split(separator: ",").map(String.init)
        (isStorable, allowsEstimate) = (flags.contains(.isStorable), flags.contains(.allowsEstimate))
        isPrivate = flags.contains(.isPrivate)
        if let parts = variant?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) {
            guard parts.count == 2 else { return nil }
            self.variant = FieldDigest(fields: parts[0], all: parts[1])
        }
    }
}
