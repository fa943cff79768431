import Foundation

/// Named arrays of single-precision numbers with a few words about them, in the safetensors format.
///
/// Eight bytes give the length of a header, least significant first; the header is a JSON object that gives each array's
/// type, shape and place, and under `__metadata__` texts by name; the arrays follow, row by row, least significant byte
/// first, without gaps. Python's `safetensors` opens what this writes. Of the types only `F32` is read.
///
/// Reading and writing are O(bytes). See https://github.com/huggingface/safetensors for the format.
struct SafeTensors: Equatable {
    struct Tensor: Equatable {
        var shape: [Int]
        var values: [Float]
    }

    /// The longest header that the format's own reader accepts.
    static let longestHeader = 100_000_000

    var tensors: [String: Tensor]
    var metadata: [String: String]

    init(tensors: [String: Tensor], metadata: [String: String]) {
        self.tensors = tensors
        self.metadata = metadata
    }

    /// The bytes of a file; the same for the same content.
    func data() throws(ModelFileError) -> Data {
        var header: [String: HeaderEntry] = ["__metadata__": .metadata(metadata)]
        var body = Data()
        for (name, tensor) in tensors.sorted(by: { $0.key < $1.key }) {
            let begin = body.count
            for value in tensor.values { body.appendLittleEndian(value.bitPattern) }
            header[name] = .tensor(HeaderTensor(dtype: "F32", shape: tensor.shape, dataOffsets: [begin, body.count]))
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard var text = try? encoder.encode(header) else {
            throw ModelFileError(reason: .inconsistent("The header cannot be written as JSON"))
        }
        // Spaces behind the header put the arrays at a multiple of eight bytes.
        while text.count % 8 != 0 { text.append(UInt8(ascii: " ")) }
        var data = Data()
        data.appendLittleEndian(UInt64(text.count))
        return data + text + body
    }

    /// Reads the bytes of a file.
    ///
    /// - Throws: ``ModelFileError`` if they are not of the format, cut short, or hold another type than `F32`.
    init(parsing data: Data) throws(ModelFileError) {
        let bytes = [UInt8](data)
        guard bytes.count >= 8 else {
            throw ModelFileError(reason: .malformed("There are \(bytes.count) bytes where at least 8 are needed"))
        }
        let length = (0..<8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[$1]) }
        guard length >= 2, length <= UInt64(SafeTensors.longestHeader) else {
            throw ModelFileError(
                reason: .malformed(
                    "The first 8 bytes give a header of \(length) bytes where 2 to 100000000 are accepted"))
        }
        let start = 8 + Int(length)
        guard start <= bytes.count else {
            throw ModelFileError(reason: .truncated(expected: start, found: bytes.count))
        }
        guard bytes[8] == UInt8(ascii: "{"),
            let header = try? JSONDecoder().decode([String: HeaderEntry].self, from: Data(bytes[8..<start]))
        else {
            throw ModelFileError(reason: .malformed("The header is not a JSON object of types, shapes and places"))
        }
        metadata = [:]
        tensors = [:]
        var places: [(begin: Int, end: Int, name: String)] = []
        for (name, entry) in header {
            switch entry {
            case .metadata(let texts) where name == "__metadata__": metadata = texts
            case .metadata: throw ModelFileError(reason: .malformed("The header says no type and shape for '\(name)'"))
            case .tensor(let tensor):
                let (begin, end) = try tensor.place(name)
                places.append((begin, end, name))
                guard end <= bytes.count - start else { continue }
                let values = stride(from: start + begin, to: start + end, by: 4).map { place in
                    Float(
                        bitPattern: UInt32(bytes[place]) | UInt32(bytes[place + 1]) << 8
                            | UInt32(bytes[place + 2]) << 16 | UInt32(bytes[place + 3]) << 24)
                }
                tensors[name] = Tensor(shape: tensor.shape, values: values)
            }
        }
        var end = 0
        for place in places.sorted(by: { ($0.begin, $0.end) < ($1.begin, $1.end) }) {
            guard place.begin == end else {
                throw ModelFileError(
                    reason: .malformed("'\(place.name)' begins at byte \(place.begin) of the data, not at \(end)"))
            }
            end = place.end
        }
        guard bytes.count - start >= end else {
            throw ModelFileError(reason: .truncated(expected: start + end, found: bytes.count))
        }
        guard bytes.count - start == end else {
            throw ModelFileError(
                reason: .malformed("\(bytes.count - start - end) bytes follow behind what the header describes"))
        }
    }
}

/// What the header says of one name.
private enum HeaderEntry: Codable {
    case tensor(HeaderTensor)
    case metadata([String: String])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let tensor = try? container.decode(HeaderTensor.self) {
            self = .tensor(tensor)
        } else {
            self = .metadata(try container.decode([String: String].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .tensor(let tensor): try container.encode(tensor)
        case .metadata(let texts): try container.encode(texts)
        }
    }
}

private struct HeaderTensor: Codable {
    enum CodingKeys: String, CodingKey {
        case dtype, shape
        case dataOffsets = "data_offsets"
    }

    var dtype: String
    var shape: [Int]
    var dataOffsets: [Int]

    /// Where the array begins and ends behind the header.
    func place(_ name: String) throws(ModelFileError) -> (begin: Int, end: Int) {
        guard dtype == "F32" else {
            throw ModelFileError(reason: .foreign("'\(name)' holds \(dtype) where only F32 is read"))
        }
        guard dataOffsets.count == 2, dataOffsets[0] >= 0, dataOffsets[1] >= dataOffsets[0] else {
            throw ModelFileError(reason: .malformed("'\(name)' has the data_offsets \(dataOffsets)"))
        }
        var bytes = 4
        for extent in shape {
            let (product, overflow) = bytes.multipliedReportingOverflow(by: extent)
            if extent < 0 || overflow {
                throw ModelFileError(reason: .malformed("'\(name)' has the shape \(shape)"))
            }
            bytes = product
        }
        guard bytes == dataOffsets[1] - dataOffsets[0] else {
            throw ModelFileError(
                reason: .malformed(
                    "'\(name)' of shape \(shape) takes \(bytes) bytes, and its data_offsets give "
                        + "\(dataOffsets[1] - dataOffsets[0])"))
        }
        return (dataOffsets[0], dataOffsets[1])
    }
}

extension Data {
    fileprivate mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
