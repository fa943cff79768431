/// What each of 256 values of red, green and blue becomes.
struct ChannelTables {
    private(set) var red: [UInt8]
    private(set) var green: [UInt8]
    private(set) var blue: [UInt8]

    /// Each channel `share` of a colour and the rest of itself, rounded to the nearest.
    init(mixing color: PixelColor, share: Double) {
        func table(_ channel: UInt8) -> [UInt8] {
            (0..<256).map { UInt8((Double(channel) * share + Double($0) * (1 - share)).rounded()) }
        }
        (red, green, blue) = (table(color.red), table(color.green), table(color.blue))
    }
}

extension Bitmap {
    /// Every pixel's colour looked up. O(pixels).
    func mapped(by tables: ChannelTables) -> Bitmap {
        let mapped = PixelMemory.make(size) { output in
            pixels.withUnsafeBytes { input in
                tables.red.withUnsafeBytes { red in
                    tables.green.withUnsafeBytes { green in
                        tables.blue.withUnsafeBytes { blue in
                            for at in stride(from: 0, to: input.count, by: 4) {
                                output[at] = red[Int(input[at])]
                                output[at &+ 1] = green[Int(input[at &+ 1])]
                                output[at &+ 2] = blue[Int(input[at &+ 2])]
                                output[at &+ 3] = input[at &+ 3]
                            }
                        }
                    }
                }
            }
        }
        return derived(isOpaque: isOpaque, pixels: mapped)
    }
}
