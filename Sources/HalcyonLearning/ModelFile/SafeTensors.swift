import Foundation

/// Named arrays of single-precision numbers with metadata, in the safetensors format
/// (https://github.com/huggingface/safetensors).
///
/// The first eight bytes are the length of the header, little-endian. The header is a JSON object with the type, shape and
/// place of each array, and texts by name under `__metadata__`. The arrays follow row by row, little-endian and without
/// gaps. Python's `safetensors` reads these files. The only supported type is `F32`.
///
/// Reading and writing are O(bytes).
package struct SafeTensors: Equatable {
    package struct Tensor: Equatable {
        package var shape: [Int]
        package var values: [Float]

        package init(shape: [Int], values: [Float]) {
            self.shape = shape
            self.values = values
        }
    }

    /// The longest header that the reference implementation accepts.
    static let longestHeader = 100_000_000

    package var tensors: [String: Tensor]
    package var metadata: [String: String]

    package init(tensors: [String: Tensor], metadata: [String: String]) {
        self.tensors = tensors
        self.metadata = metadata
    }

    /// Returns the bytes of a file; equal contents have equal bytes.
    package func data() throws(ModelFileError) -> Data {
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
        // Spaces after the header align the arrays to eight bytes.
        while text.count % 8 != 0 { text.append(UInt8(ascii: " ")) }
        var data = Data()
        data.appendLittleEndian(UInt64(text.count))
        return data + text + body
    }

    /// Reads the bytes of a file.
    ///
    /// - Throws: ``ModelFileError`` if they are not in the format, are truncated, or have another type than `F32`.
    package init(parsing data: Data) throws(ModelFileError) {
        let lead = data.prefix(8)
        guard lead.count == 8 else {
            throw ModelFileError(reason: .malformed("The file has \(lead.count) bytes, and at least 8 are needed"))
        }
        let length = lead.littleEndian(UInt64.self)
        guard length >= 2, length <= UInt64(SafeTensors.longestHeader) else {
            throw ModelFileError(
                reason: .malformed(
                    "The header has \(length) bytes, and 2 to 100000000 are accepted"))
        }
        let start = 8 + Int(length)
        guard start <= data.count else {
            throw ModelFileError(reason: .truncated(expected: start, found: data.count))
        }
        let header = try Header(parsing: data.dropFirst(8).prefix(Int(length)))
        guard start + header.end <= data.count else {
            throw ModelFileError(reason: .truncated(expected: start + header.end, found: data.count))
        }
        guard start + header.end == data.count else {
            throw ModelFileError(
                reason: .malformed(
                    "\(data.count - start - header.end) bytes follow after the last array"))
        }
        metadata = header.metadata
        tensors = [:]
        for (name, tensor) in header.tensors {
            let body = data.dropFirst(start + tensor.dataOffsets[0]).prefix(tensor.byteCount)
            let values = stride(from: body.startIndex, to: body.endIndex, by: 4).map { place in
                Float(bitPattern: body[place..<place + 4].littleEndian(UInt32.self))
            }
            tensors[name] = Tensor(shape: tensor.shape, values: values)
        }
    }
}

/// A header whose arrays are contiguous.
private struct Header {
    package var metadata: [String: String] = [:]
    package var tensors: [String: HeaderTensor] = [:]
    /// The end of the last array, counted from the end of the header.
    var end = 0

    package init(parsing text: Data) throws(ModelFileError) {
        guard text.first == UInt8(ascii: "{"),
            let entries = try? JSONDecoder().decode([String: HeaderEntry].self, from: text)
        else {
            throw ModelFileError(reason: .malformed("The header is not a JSON object of types, shapes and places"))
        }
        // In order of names, so that every run reports the same of several faults.
        for (name, entry) in entries.sorted(by: { $0.key < $1.key }) {
            switch entry {
            case .metadata(let texts) where name == "__metadata__": metadata = texts
            case .metadata: throw ModelFileError(reason: .malformed("The header has no type and shape for '\(name)'"))
            case .tensor(let tensor):
                try tensor.validate(name)
                tensors[name] = tensor
            }
        }
        // The decoder keeps only one of several values with the same name.
        guard Self.nameCount(text) == entries.count + metadata.count + tensors.count * 3 else {
            throw ModelFileError(
                reason: .malformed(
                    "The header has a name twice, or an array with more than dtype, shape and data_offsets"))
        }
        for (name, tensor) in tensors.sorted(by: {
            $0.value.dataOffsets.lexicographicallyPrecedes($1.value.dataOffsets)
        }
        ) {
            guard tensor.dataOffsets[0] == end else {
                throw ModelFileError(
                    reason: .malformed("'\(name)' begins at byte \(tensor.dataOffsets[0]) of the data, not at \(end)"))
            }
            end = tensor.dataOffsets[1]
        }
    }

    /// Returns the number of names in a JSON text: of the colons outside its strings.
    private static func nameCount(_ text: Data) -> Int {
        var (count, isInString, isEscaped) = (0, false, false)
        for byte in text {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            } else if isInString {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ":") {
                count += 1
            }
        }
        return count
    }
}

/// The value of one name in the header.
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

    /// The largest accepted offset: beyond the end of any file, and low enough that sums cannot overflow.
    private static let furthest = 1 << 48

    /// The bytes of the array. Valid only after ``validate(_:)``.
    var byteCount: Int { dataOffsets[1] - dataOffsets[0] }

    func validate(_ name: String) throws(ModelFileError) {
        guard dtype == "F32" else {
            throw ModelFileError(reason: .foreign("'\(name)' has the type \(dtype), and only F32 is supported"))
        }
        guard dataOffsets.count == 2, dataOffsets[0] >= 0, dataOffsets[1] >= dataOffsets[0],
            dataOffsets[1] <= Self.furthest
        else {
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
        guard bytes == byteCount else {
            throw ModelFileError(
                reason: .malformed(
                    "'\(name)' of shape \(shape) takes \(bytes) bytes, and its data_offsets give "
                        + "\(byteCount)"))
        }
    }
}

extension Data {
    /// Returns the number with these little-endian bytes.
    fileprivate func littleEndian<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
        reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    fileprivate mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.littleEndian) { append(contentsOf: $0) }
    }
}
