import Foundation

/// JSON as every report of Halcyon is written: snake-case names, sorted, one form on every platform.
public enum JSONReport {
    /// One object over several lines, the last one ended.
    public static func data(_ value: some Encodable) throws -> Data {
        try ended(encoder([.prettyPrinted]).encode(value))
    }

    /// One object a line.
    public static func lines(_ values: some Sequence<some Encodable>) throws -> Data {
        let encoder = encoder([])
        return try values.reduce(into: Data()) { try $0.append(ended(encoder.encode($1))) }
    }

    private static func ended(_ data: Data) -> Data { data + [UInt8(ascii: "\n")] }

    private static func encoder(_ formatting: JSONEncoder.OutputFormatting) -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = formatting.union([.sortedKeys, .withoutEscapingSlashes])
        return encoder
    }
}
