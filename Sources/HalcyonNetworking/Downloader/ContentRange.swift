/// The part of a body that a `206 Partial Content` carries: `bytes 200-999/1000`.
package struct ContentRange: Equatable {
    package let first: Int64
    package let last: Int64
    /// The length of the whole; `nil` where the server does not say.
    package let total: Int64?

    /// `nil` for anything but one range of bytes that makes sense.
    package init?(_ text: String?) {
        guard let text, text.lowercased().hasPrefix("bytes ") else { return nil }
        let parts = text.dropFirst(6).split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]), first >= 0, last >= first else {
            return nil
        }
        let total = Int64(parts[1])
        guard parts[1] == "*" || total != nil, total.map({ last < $0 }) ?? true else { return nil }
        (self.first, self.last, self.total) = (first, last, total)
    }
}
