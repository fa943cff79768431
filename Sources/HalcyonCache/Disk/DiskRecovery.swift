/// What is on disk, from a folder's files and an index that may be behind them, of another time, or lost.
///
/// The files are the truth about what there is, how large it is and when it expires; a row adds what a file cannot tell.
/// A pure function, so that each way of a process to end can be tested without one.
enum DiskRecovery {
    /// The result: what to hold for resident, by last access, oldest first; files to remove; whether the index differs.
    struct Result: Equatable {
        var residents: [IndexDatabase.Row] = []
        /// Files whose bytes are not those that were stored.
        var damaged: [String] = []
        /// Rows whose file is gone.
        var vanished: [String] = []
        /// Files whose row was missing or out of date.
        var corrected: [String] = []
    }

    /// Puts files and rows together. O(n log n).
    static func merge(files: [(name: String, status: CacheFolder.Status)], rows: [IndexDatabase.Row]) -> Result {
        var known = Dictionary(rows.map { ($0.name, $0) }) { first, _ in first }
        var result = Result()
        result.residents.reserveCapacity(files.count)
        for (name, status) in files {
            guard var row = known.removeValue(forKey: name) else {
                let renewal = status.expires == .max ? .max : max(status.expires - status.accessed, 0)
                result.residents.append(
                    IndexDatabase.Row(
                        name: name, size: status.size, length: status.length, accessed: status.accessed,
                        expires: status.expires, renewal: renewal, fingerprint: Fingerprints.unknown, categories: []))
                result.corrected.append(name)
                continue
            }
            let isSameFile = row.expires == status.expires
            if isSameFile && row.length != status.length {
                result.damaged.append(name)
                continue
            }
            let before = row
            row.size = status.size
            row.length = status.length
            row.expires = status.expires
            if !isSameFile { row.accessed = max(status.accessed, row.accessed) }
            if row != before { result.corrected.append(name) }
            result.residents.append(row)
        }
        result.vanished = known.keys.sorted()
        result.residents.sort { ($0.accessed, $0.name) < ($1.accessed, $1.name) }
        return result
    }
}
