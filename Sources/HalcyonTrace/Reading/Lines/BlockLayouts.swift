import Synchronization

/// A rule that makes the requests for a range of a disk.
struct BlockRequests: Sendable {
    /// The number of bytes of a sector, the unit of block numbers in these traces.
    static let sector: UInt64 = 512
    /// The largest number of blocks of one line.
    static let most: UInt64 = 65_536
    /// The names of the operations.
    static let operations = ["read", "write"]

    /// The number of bytes of a block; `nil` if a range is one request.
    let blockBytes: UInt64?
    /// The number of low bits of a key that hold the block; the volume is above them.
    let blockBits: UInt64

    init(_ rule: BlockRule?, blockBits: UInt64 = 64) {
        switch rule ?? .split(bytes: 512) {
        case .split(let bytes): blockBytes = UInt64(max(bytes, 512))
        case .whole: blockBytes = nil
        }
        self.blockBits = blockBits
    }

    /// The columns that ranges give beside keys.
    var present: PresentColumns { blockBytes == nil ? [.sizes] : [] }

    /// Stores the key and the number of blocks of the next row, which is not yet counted, and returns that number.
    ///
    /// - Parameters:
    ///   - offset: The first byte.
    ///   - length: The number of bytes, at least 1.
    ///   - volume: The bits of the key above the block.
    ///   - field: The field of the offset, for a fault.
    func set(
        _ line: LineFields, _ rows: RowScratch, offset: UInt64, length: UInt64, volume: UInt64, field: Int
    ) throws(LineFault) -> Int {
        let unit = blockBytes ?? BlockRequests.sector
        let (end, isTooLong) = offset.addingReportingOverflow(length)
        let first = offset / unit
        let last = (end &- 1) / unit
        guard !isTooLong, blockBits == 64 || last >> blockBits == 0 else {
            throw line.fault(field, "the range from byte \(offset) on ends above the limit of 2^\(blockBits) blocks")
        }
        guard blockBytes != nil else {
            guard offset % unit == 0 else {
                throw line.fault(field, "byte \(offset) is not a multiple of 512, as --block-size whole expects")
            }
            rows.keys.setNumber(rows.count, volume | first)
            rows.sizes[rows.count] = length
            return 1
        }
        guard last - first < BlockRequests.most else {
            throw line.fault(
                field,
                "the line requests \(last - first + 1) blocks of \(unit) bytes; 1 to \(BlockRequests.most) are accepted"
            )
        }
        rows.keys.setNumber(rows.count, volume | first)
        return Int(last - first + 1)
    }
}

/// The lines of ARC's traces: `start count ignored number`, in blocks of 512 bytes.
struct ARCLayout: LineLayout {
    private let blocks: BlockRequests

    init(_ options: TraceLoadOptions) { blocks = BlockRequests(options.blocks) }

    var separator: LineFields.Separator { .blanks }
    var present: PresentColumns { blocks.present }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard line.count == 4 else {
            throw line.wrongCount(.arc, "4: first block, number of blocks, ignored, number of the request")
        }
        let start = try line.whole(0, "block", upTo: UInt64.max / BlockRequests.sector - BlockRequests.most)
        let count = try line.whole(1, "number of blocks", upTo: BlockRequests.most)
        guard count > 0 else { throw line.notWhole(1, "number of blocks", 1, BlockRequests.most) }
        let requests = try blocks.set(
            line, rows, offset: start * BlockRequests.sector, length: count * BlockRequests.sector, volume: 0, field: 0)
        rows.spans.append(UInt32(requests))
        rows.commit()
    }
}

/// The lines of UMass's SPC traces: `ASU,LBA,size,opcode,time` and perhaps more fields.
struct SPCLayout: LineLayout {
    private static let blockBits: UInt64 = 40
    private let blocks: BlockRequests
    private let countsWrites: Bool
    private let sorts: Bool

    init(_ options: TraceLoadOptions) {
        blocks = BlockRequests(options.blocks, blockBits: SPCLayout.blockBits)
        countsWrites = options.countsWrites
        sorts = options.sort
    }

    var separator: LineFields.Separator { .commas }
    var present: PresentColumns { blocks.present.union(.times) }
    var operationCount: Int { BlockRequests.operations.count }

    func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard line.count >= 5 else { throw line.wrongCount(.spc, "at least 5: ASU, LBA, size, opcode, time") }
        let unit = try line.whole(0, "ASU", upTo: 1 << (64 - SPCLayout.blockBits) - 1)
        let block = try line.whole(1, "LBA", upTo: 1 << SPCLayout.blockBits - 1)
        let size = try line.whole(2, "size", upTo: SizeRule.largest)
        let isWrite = line.field(3, is: "w")
        guard isWrite || line.field(3, is: "r") else {
            throw line.fault(3, "opcode \(quoted(line.text(3))) is unknown; R and W are accepted, in any case")
        }
        let time = try line.time(4, .seconds)
        guard size > 0, countsWrites || !isWrite else {
            rows.operations.count(isWrite ? 1 : 0, requests: 0)
            return
        }
        let requests = try blocks.set(
            line, rows, offset: block * BlockRequests.sector, length: size, volume: unit << SPCLayout.blockBits,
            field: 1)
        try rows.setTime(time, line, 4, sorts: sorts, .seconds)
        rows.operations.count(isWrite ? 1 : 0, requests: requests)
        rows.spans.append(UInt32(requests))
        rows.commit()
    }
}

/// The lines of MSR Cambridge's traces: `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime`.
struct MSRLayout: LineLayout {
    private static let blockBits: UInt64 = 36
    /// The file time of 1970-01-01, in units of 100 ns since 1601-01-01.
    private static let epoch: UInt64 = 116_444_736_000_000_000
    private let blocks: BlockRequests
    private let countsWrites: Bool
    private let sorts: Bool
    private let volumes = VolumeTags(bits: 64 - MSRLayout.blockBits)
    /// The volume of the last line, and its bits in a key.
    private var name: [UInt8] = []
    private var tag: UInt64 = 0

    init(_ options: TraceLoadOptions) {
        blocks = BlockRequests(options.blocks, blockBits: MSRLayout.blockBits)
        countsWrites = options.countsWrites
        sorts = options.sort
    }

    var separator: LineFields.Separator { .commas }
    var present: PresentColumns { blocks.present.union(.times) }
    var operationCount: Int { BlockRequests.operations.count }

    mutating func add(_ line: LineFields, to rows: RowScratch) throws(LineFault) {
        guard line.count == 7 else {
            throw line.wrongCount(.msr, "7: Timestamp, Hostname, DiskNumber, Type, Offset, Size, ResponseTime")
        }
        if line.field(0, is: "timestamp"), line.field(3, is: "type") {
            rows.repeatedHeaders += 1
            return
        }
        let stamp = try line.whole(0, "Timestamp", upTo: UInt64(Int64.max))
        let isWrite = line.field(3, is: "write")
        guard isWrite || line.field(3, is: "read") else {
            throw line.fault(3, "Type \(quoted(line.text(3))) is unknown; Read and Write are accepted, in any case")
        }
        let offset = try line.whole(4, "Offset", upTo: UInt64(Int64.max))
        let size = try line.whole(5, "Size", upTo: SizeRule.largest)
        guard size > 0, countsWrites || !isWrite else {
            rows.operations.count(isWrite ? 1 : 0, requests: 0)
            return
        }
        try findVolume(line)
        let requests = try blocks.set(
            line, rows, offset: offset, length: size, volume: tag << MSRLayout.blockBits, field: 4)
        let since = stamp >= MSRLayout.epoch ? stamp - MSRLayout.epoch : stamp
        try rows.setTime(Int64(since / 10), line, 0, sorts: sorts, .seconds)
        rows.operations.count(isWrite ? 1 : 0, requests: requests)
        rows.spans.append(UInt32(requests))
        rows.commit()
    }

    /// Finds the tag of the line's host and disk.
    private mutating func findVolume(_ line: LineFields) throws(LineFault) {
        let (host, disk) = (line.text(1), line.text(2))
        if name.count == host.count + disk.count + 1, name.starts(with: host), name[host.count] == 44,
            name.dropFirst(host.count + 1).elementsEqual(disk)
        {
            return
        }
        name = Array(host) + [44] + Array(disk)
        switch volumes.tag(of: name) {
        case .success(let found): tag = found
        case .failure(let other):
            let message =
                "the disks \(quoted(name)) and \(quoted(other.name)) have the same hash, so their blocks cannot be told apart; "
                + "read them from separate files"
            name = []
            throw line.fault(1, message)
        }
    }
}

/// The tags of volumes in keys: hashes of their names. Two volumes of one trace never share a tag.
///
/// The tag depends on the name alone, so keys do not depend on the order in which threads meet volumes.
final class VolumeTags: Sendable {
    /// The volume that has a tag already.
    struct Taken: Error { let name: [UInt8] }

    private let bits: UInt64
    private let names = Mutex<[UInt64: [UInt8]]>([:])

    /// Creates tags of this number of bits.
    init(bits: UInt64) { self.bits = bits }

    /// Returns the tag of a volume; the other volume if another one has it.
    func tag(of name: [UInt8]) -> Result<UInt64, Taken> {
        let tag = name.withUnsafeBufferPointer { $0.baseAddress.map { hashBytes($0, name.count) } ?? 0 } >> (64 - bits)
        return names.withLock { names in
            if let other = names[tag], other != name { return .failure(Taken(name: other)) }
            names[tag] = name
            return .success(tag)
        }
    }
}
