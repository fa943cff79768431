/// The format of a trace file.
public enum TraceFormat: String, Sendable, CaseIterable {
    /// Text with a header line; extensions `.csv`, `.tsv` (delimited by tabs) and `.txt`.
    case csv
    /// libCacheSim's 24-byte records (`u32 time, u64 key, u32 size, i64 next`); extensions `.oracleGeneral`, `.bin`.
    case oracleGeneral
    /// VMware's vSCSI block traces, versions 1 and 2, with libCacheSim's interpretation; extension `.vscsi`.
    case vscsi
    /// The text of Twitter's published cache traces, with seven fields and no header; extensions `.twitter`, `.twr`.
    case twitter
    /// The SQLite file that `HalcyonAccessLog` records; extensions `.sqlite`, `.sqlite3`, `.db`.
    case accessLog
    /// libCacheSim's lcs, versions 1 to 8: a header of 8192 bytes and records; extension `.lcs`.
    ///
    /// Every record is a request, except one with the operation `delete`, which is left out. A size of 0 is unknown.
    /// From version 2, the tenant is the user, unless the header says that there is one tenant. From version 4, the
    /// first feature is the category, 0 is none. ``ColumnNames`` may name `op`, `tenant`, `ttl` and `feature1` to
    /// `feature16` for category and user. The time to live and the next access are not used.
    ///
    /// Source: github.com/1a1a11a/libCacheSim, libCacheSim/traceReader/customizedReader/lcs.h.
    case lcs

    /// Returns the format that a file's name implies, with any compression after it, or `nil`.
    ///
    /// The parts of the name between dots are checked from the last to the first, so
    /// `cluster52.oracleGeneral.sample10.zst` is recognised.
    public init?(path: String) {
        for part in FileName.parts(of: path).reversed() {
            switch part {
            case "csv", "tsv", "txt": self = .csv
            case "oraclegeneral", "bin": self = .oracleGeneral
            case "vscsi": self = .vscsi
            case "twitter", "twr": self = .twitter
            case "sqlite", "sqlite3", "db": self = .accessLog
            case "lcs": self = .lcs
            default: continue
            }
            return
        }
        return nil
    }

    /// Whether a request is a record instead of a line of text.
    var isBinary: Bool { self == .oracleGeneral || self == .vscsi || self == .accessLog || self == .lcs }
}

/// The compression of a file.
public enum Compression: String, Sendable, CaseIterable {
    /// No compression.
    case none
    /// gzip (RFC 1952) with one or more members; extension `.gz`.
    case gzip
    /// Zstandard (RFC 8878) with one or more frames; extensions `.zst`, `.zstd`.
    case zstd

    /// Returns the compression that a file's name implies.
    public init(path: String) {
        switch FileName.parts(of: path).last {
        case "gz", "gzip": self = .gzip
        case "zst", "zstd": self = .zstd
        default: self = .none
        }
    }

    /// Returns the compression that the first bytes of a file indicate.
    init(magic: some Collection<UInt8>) {
        if magic.starts(with: [0x1f, 0x8b]) {
            self = .gzip
        } else if magic.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) {
            self = .zstd
        } else {
            self = .none
        }
    }
}

/// A parser of file names.
enum FileName {
    /// Returns the parts after the first dot, in lower case.
    static func parts(of path: String) -> [String] {
        let name = path.split(separator: "/").last.map(String.init) ?? path
        return name.split(separator: ".", omittingEmptySubsequences: false).dropFirst().map { $0.lowercased() }
    }
}
