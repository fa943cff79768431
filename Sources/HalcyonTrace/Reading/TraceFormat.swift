/// The format of a trace file.
public enum TraceFormat: String, Sendable, CaseIterable {
    /// Text with a header line; extensions `.csv`, `.tsv` (delimited by tabs) and `.txt`.
    case csv
    /// libCacheSim's 24-byte records (`u32 time, u64 key, u32 size, i64 next`); extensions `.oracleGeneral`, `.bin`.
    ///
    /// A file that is read so because of its name is refused if its first records cannot be a trace. They cannot with
    /// next requests beyond 2⁴⁰, with times that often go back, or with sizes of a mean above 1 GiB.
    case oracleGeneral
    /// VMware's vSCSI block traces, versions 1 and 2, with libCacheSim's interpretation; extension `.vscsi`.
    case vscsi
    /// The text of Twitter's published cache traces, with seven fields and no header; extensions `.twitter`, `.twr`.
    ///
    /// As with ``TracePreset/twitter``, deletions and reads of a value of size 0 are no requests.
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
    /// The text of LRB, webcachesim and 3L-Cache: `time key size` and any number of features, separated by blanks or
    /// tabs; extension `.tr`. The features are not used. Times have the unit ``TraceLoadOptions/timeUnit``.
    ///
    /// Source: github.com/dasebe/webcachesim and github.com/sunnyszy/lrb, README.
    case lrb
    /// The text of ARC's traces: `start count ignored number`, separated by blanks; extension `.lis`.
    ///
    /// A line requests the `count` blocks of 512 bytes from `start` on, one after the other, as in Caffeine's simulator
    /// and in the table of the paper. ``TraceLoadOptions/blocks`` chooses other blocks. There are no times.
    ///
    /// Source: github.com/moka-rs/cache-trace, arc/README; Megiddo and Modha, FAST 2003.
    case arc
    /// The text of LIRS's traces: one block number a line; extension `.lirs`. Lines of `*` separate phases and are
    /// skipped.
    case lirs
    /// The comma-separated text of UMass's storage traces: `ASU,LBA,size,opcode,time` and perhaps more; extension
    /// `.spc`.
    ///
    /// A read requests every block of 512 bytes that its range touches (``TraceLoadOptions/blocks``). Writes are left
    /// out unless ``TraceLoadOptions/countsWrites`` is set. LBA counts sectors of 512 bytes, the size counts bytes. A
    /// key is
    /// ASU · 2⁴⁰ + block. Times are seconds.
    ///
    /// Source: SPC Trace File Format Specification 1.0.1; traces.cs.umass.edu, Storage.
    case spc
    /// MSR Cambridge's block traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`; extension `.msr`.
    ///
    /// Requests are as in ``spc``. Offset and size are bytes. The upper 28 bits of a key are a hash of host and disk,
    /// the others the block; a trace in which two disks have the same hash is refused. Times are Windows file times
    /// (units of
    /// 100 ns since 1601) and become microseconds since 1970; smaller numbers are taken as times since the start.
    ///
    /// Source: iotta.snia.org/traces/block-io/388; Narayanan et al., FAST 2008.
    case msr
    /// IBM's object store traces: `time operation key` and perhaps `size`, or `size first last`, separated by blanks;
    /// extension `.objectStore`.
    ///
    /// `REST.GET.OBJECT` is a request for the whole object, also with a range; `REST.PUT.OBJECT` is one if
    /// ``TraceLoadOptions/countsWrites`` is set. Other operations are left out. Times are milliseconds.
    ///
    /// Source: iotta.snia.org/traces/key-value/36305; Eytan et al., HotStorage 2020.
    case objectStore
    /// Addresses in hexadecimal, one a line, or `operation address` and perhaps more fields, separated by blanks;
    /// extension `.address`. Every line is a request for its address. Every operation counts.
    case address
    /// Keys of 4 bytes, the lowest byte first; extension `.int32`.
    case int32
    /// Keys of 4 bytes, the highest byte first, as Java writes them; extension `.int32be`.
    case int32be
    /// Keys of 8 bytes, the lowest byte first; extension `.int64`.
    case int64
    /// Keys of 8 bytes, the highest byte first, as Java writes them; extension `.int64be`.
    case int64be

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
            case "tr": self = .lrb
            case "lis": self = .arc
            default:
                guard let named = TraceFormat.allCases.first(where: { $0.rawValue.lowercased() == part }) else {
                    continue
                }
                self = named
            }
            return
        }
        return nil
    }

    /// Whether a request is a record instead of a line of text.
    var isBinary: Bool {
        switch self {
        case .oracleGeneral, .vscsi, .accessLog, .lcs, .int32, .int32be, .int64, .int64be: true
        case .csv, .twitter, .lrb, .arc, .lirs, .spc, .msr, .objectStore, .address: false
        }
    }

    /// Whether a line or record can request blocks, so that ``TraceLoadOptions/blocks`` applies.
    var hasBlocks: Bool { self == .arc || self == .spc || self == .msr }

    /// Whether reads alone are requests unless ``TraceLoadOptions/countsWrites`` is set.
    var leavesWritesOut: Bool { self == .spc || self == .msr || self == .objectStore }

    /// What the format decides that its lines do not show, without a stop; `nil` if its reader decides nothing.
    func rule(_ options: TraceLoadOptions) -> String? {
        let writes = options.countsWrites ? "every read and every write" : "every read, and no write,"
        let range: String
        switch options.blocks ?? .split(bytes: 512) {
        case .split(let bytes): range = "each block of \(bytes) bytes that it touches"
        case .whole: range = "one object, which its first block names"
        }
        switch self {
        case .csv, .oracleGeneral, .vscsi, .twitter, .accessLog, .lcs: return nil
        case .lrb: return "a line is time, key and size; features after them are not used"
        case .arc: return "a line is a range of a disk and requests \(range)"
        case .lirs: return "a line is a block; lines of * are skipped"
        case .spc, .msr: return "\(writes) requests \(range)"
        case .objectStore:
            let operations = options.countsWrites ? "GET and PUT request" : "GET requests"
            return "\(operations) the whole object; other operations are left out"
        case .address: return "a line is an address in hexadecimal; every operation counts"
        case .int32, .int64: return "a record is a key, the lowest byte first"
        case .int32be, .int64be: return "a record is a key, the highest byte first"
        }
    }
}

/// The compression of a file.
public enum Compression: String, Sendable, CaseIterable {
    /// No compression.
    case none
    /// gzip (RFC 1952) with one or more members; extension `.gz`.
    case gzip
    /// Zstandard (RFC 8878) with one or more frames; extensions `.zst`, `.zstd`.
    case zstd
    /// xz with one or more streams; extension `.xz`. It is read, not written.
    case xz

    /// Returns the compression that a file's name implies.
    public init(path: String) {
        switch FileName.parts(of: path).last {
        case "gz", "gzip": self = .gzip
        case "zst", "zstd": self = .zstd
        case "xz": self = .xz
        default: self = .none
        }
    }

    /// Returns the compression that the first bytes of a file indicate.
    init(magic: some Collection<UInt8>) {
        if magic.starts(with: [0x1f, 0x8b]) {
            self = .gzip
        } else if magic.starts(with: [0x28, 0xb5, 0x2f, 0xfd]) {
            self = .zstd
        } else if magic.starts(with: [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]) {
            self = .xz
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
