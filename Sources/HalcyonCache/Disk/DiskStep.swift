/// Where an operation on the disk stands; a test may end the process, or the operation, there.
package enum DiskStep: String, CaseIterable, Sendable {
    case opening, writing, renaming, renamed, removing, removed, indexing, indexed
}
