/// The events of a row: a request, or an item of a list.
enum ListEvent {
    /// The accepted values, for messages.
    static let accepted = "request, opened (a synonym) and shown"

    /// Returns whether a row with this event was shown and is no request; `nil` for an unknown event.
    static func isShown(_ name: UnsafeBufferPointer<UInt8>) -> Bool? {
        if matches(name, "shown") { return true }
        return matches(name, "request") || matches(name, "opened") ? false : nil
    }

    private static func matches(_ name: UnsafeBufferPointer<UInt8>, _ word: StaticString) -> Bool {
        guard name.count == word.utf8CodeUnitCount else { return false }
        return name.indices.allSatisfy { name[$0] | 32 == word.utf8Start[$0] }
    }
}
