/// Numbers in text, read from bytes.
enum CSVNumbers {
    /// A whole number of at most ``SizeRule/largest``, or `nil`.
    static func size(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt64? {
        var start = 0
        while start < length - 1, text[start] == 48 { start += 1 }
        guard let value = canonical(text + start, length - start), value <= SizeRule.largest else { return nil }
        return value
    }

    /// A decimal number times 10 to the power of `decimals`, further digits cut off, or `nil`.
    ///
    /// A sign and a fraction are accepted, an exponent is not. `decimals` is at least -18 and at most 18.
    static func scaled(_ text: UnsafePointer<UInt8>, _ length: Int, decimals: Int) -> Int64? {
        var index = 0
        let isNegative = length > 0 && text[0] == UInt8(ascii: "-")
        if isNegative || (length > 0 && text[0] == UInt8(ascii: "+")) { index = 1 }
        var value: Int64 = 0
        var digits = 0
        var fraction: Int?
        while index < length {
            let byte = text[index]
            index += 1
            if byte == UInt8(ascii: "."), fraction == nil {
                fraction = 0
                continue
            }
            guard byte &- 48 < 10 else { return nil }
            digits += 1
            if let places = fraction {
                if places >= decimals { continue }
                fraction = places + 1
            }
            guard let longer = appending(Int64(byte &- 48), to: value) else { return nil }
            value = longer
        }
        guard digits > 0 else { return nil }
        for _ in 0..<max(decimals - (fraction ?? 0), 0) {
            guard let longer = appending(0, to: value) else { return nil }
            value = longer
        }
        for _ in 0..<max(-decimals, 0) { value /= 10 }
        return isNegative ? -value : value
    }

    private static func appending(_ digit: Int64, to value: Int64) -> Int64? {
        let (product, isTooLong) = value.multipliedReportingOverflow(by: 10)
        let (sum, isTooLarge) = product.addingReportingOverflow(digit)
        return isTooLong || isTooLarge ? nil : sum
    }

    /// The 64-bit number that the text is the shortest decimal form of, or `nil`: `7` is one, `007` is not.
    static func canonical(_ text: UnsafePointer<UInt8>, _ length: Int) -> UInt64? {
        guard length > 0, length <= 20, length == 1 || text[0] != 48 else { return nil }
        var value: UInt64 = 0
        for index in 0..<length {
            let digit = text[index] &- 48
            guard digit < 10 else { return nil }
            let (product, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooLarge) = product.addingReportingOverflow(UInt64(digit))
            if isTooLong || isTooLarge { return nil }
            value = sum
        }
        return value
    }
}
