/// The columns of a CSV that a reader used, and those that it did not use.
public struct ColumnUse: Sendable, Equatable, Codable {
    /// A role that a column can have.
    public enum Role: String, Sendable, Codable, CaseIterable {
        /// The times of requests.
        case time
        /// The keys of objects.
        case key
        /// The sizes of objects.
        case size
        /// The categories of objects.
        case category
        /// The users who made the requests.
        case user
        /// The events: `request` or `opened` for a request, `shown` for an item of a list.
        case event
        /// The places of items in their lists; used only beside events.
        case position
        /// The ids of lists; used only beside events.
        case list

        /// The names that are looked for, ignoring case, unless ``ColumnNames`` names the column.
        var usualNames: [String] {
            switch self {
            case .time: ["time", "timestamp"]
            case .key: ["key", "id", "obj_id", "object_id"]
            case .size: ["size", "bytes", "obj_size"]
            case .category: ["category", "categories", "tags"]
            case .user: ["user", "user_id", "profile", "client"]
            case .event: ["event"]
            case .position: ["position"]
            case .list: ["list", "list_id"]
            }
        }
    }

    /// A column and its role.
    public struct Column: Sendable, Equatable, Codable {
        /// The role of the column.
        public let role: Role
        /// The name of the column in the header.
        public let name: String
    }

    /// The used columns, in the order of the roles.
    public var used: [Column] = []
    /// The names of the columns that were not used, in the order of the header.
    public var unused: [String] = []
    /// Whether a preset gave the columns their roles, so that the unused ones are unused on purpose. False by default.
    package var isPreset = false

    /// Creates a list without columns.
    package init() {}

    /// Whether no column has an unusual name and every column is used, so that nothing needs to be said.
    package var isAsUsual: Bool {
        unused.isEmpty && used.allSatisfy { $0.role.usualNames.contains($0.name.lowercased()) }
    }
}
