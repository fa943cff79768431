/// What a field of a line is for.
enum CSVRole: Sendable, Equatable {
    case ignored
    case key
    case time
    case size
    /// A size that is added to the other; Twitter's traces state those of key and value.
    case valueSize
    case category
    case user
    /// Twitter's `get`, `set` and so on.
    case operation
}
