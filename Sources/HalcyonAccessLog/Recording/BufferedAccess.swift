/// An access between its recording and its writing.
struct BufferedAccess: Sendable {
    let time: Int64
    let cost: Int
    let key: String
    let categories: [String]
    let user: String?
    /// Counted from 0 since the log was made.
    let session: UInt32
    let outcome: LoggedAccess.Outcome
}
