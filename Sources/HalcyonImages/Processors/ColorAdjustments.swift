import Foundation

/// Changes brightness, contrast, saturation and exposure.
///
/// Channels are 0 to 1 in sRGB's nonlinear scale. Each channel `c` is changed in this order, and clamped to 0...1 at the end:
///
/// 1. saturation: `L + (c - L) * saturation` with the luma `L = 0.2126 r + 0.7152 g + 0.0722 b`
/// 2. brightness: `c + brightness`
/// 3. contrast: `(c - 0.5) * contrast + 0.5`
/// 4. exposure: `c * 2^exposure`
///
/// Alpha does not change.
///
/// See `ProcessorPixelTests.colorChangesEqualExpected()`.
public struct ColorControlsImageProcessor: BitmapProcessor {
    /// The value that is added to each channel; by default 0, no change.
    public let brightness: Double
    /// The factor of the distance from 0.5; by default 1, no change.
    public let contrast: Double
    /// The factor of the distance from grey; by default 1, no change.
    public let saturation: Double
    /// The exposure in stops: each doubles the channels. By default 0, no change.
    public let exposure: Double

    /// Creates a processor. By default no parameter changes the picture.
    public init(brightness: Double = 0, contrast: Double = 1, saturation: Double = 1, exposure: Double = 0) {
        (self.brightness, self.contrast) = (brightness, contrast)
        (self.saturation, self.exposure) = (saturation, exposure)
    }

    public var identifier: String { "halcyon.controls(\(brightness),\(contrast),\(saturation),\(exposure))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard [brightness, contrast, saturation, exposure].allSatisfy({ abs($0) <= 100 }) else {
            throw ImageError.invalidParameter(
                "Colour controls of \(brightness), \(contrast), \(saturation), \(exposure) are none; each is to be -100 to 100"
            )
        }
        return picture.mapped(
            by: ColorMatrix(brightness: brightness, contrast: contrast, saturation: saturation, exposure: exposure))
    }
}

/// Turns a picture into black and white, as Kingfisher does.
///
/// The result is that of ``ColorControlsImageProcessor`` with a saturation of 0 and an exposure of 0.7.
public struct BlackWhiteImageProcessor: BitmapProcessor {
    public let identifier = "halcyon.blackwhite"

    /// Creates the processor.
    public init() {}

    public func process(_ picture: Bitmap) throws -> Bitmap {
        try ColorControlsImageProcessor(saturation: 0, exposure: 0.7).process(picture)
    }
}

/// Tints a picture with a colour. Each channel is `c * alpha + p * (1 - alpha)`, with the colour's channel `c` and alpha and the
/// picture's channel `p`. The picture's alpha does not change.
public struct TintImageProcessor: BitmapProcessor {
    /// The colour. Its alpha is the strength of the tint.
    public let tint: PixelColor

    /// Creates a processor that tints with a colour.
    public init(tint: PixelColor) { self.tint = tint }

    public var identifier: String { "halcyon.tint(\(tint))" }

    public func process(_ picture: Bitmap) -> Bitmap {
        picture.mapped(by: ChannelTables(mixing: tint, share: Double(tint.alpha) / 255))
    }
}

/// Covers a picture with a translucent colour. The picture's alpha does not change.
public struct OverlayImageProcessor: BitmapProcessor {
    /// The colour. Its alpha is ignored.
    public let overlay: PixelColor
    /// The weight of the picture: 0 is only the colour, 1 only the picture. By default 0.5.
    public let fraction: Double

    /// Creates a processor that covers pictures with a colour.
    public init(overlay: PixelColor, fraction: Double = 0.5) {
        self.overlay = overlay
        self.fraction = fraction
    }

    public var identifier: String { "halcyon.overlay(\(overlay),\(fraction))" }

    public func process(_ picture: Bitmap) throws -> Bitmap {
        guard (0...1).contains(fraction) else {
            throw ImageError.invalidParameter("An overlay's fraction of \(fraction) is none; 0 to 1 are")
        }
        return picture.mapped(by: ChannelTables(mixing: overlay, share: 1 - fraction))
    }
}

// MARK: - Inside

/// An affine map of colours: each new channel is a weighted sum of the three old ones and an offset.
private struct ColorMatrix {
    /// The columns of the matrix: the weights of one old channel in the new red, green and blue. The fourth lane is 0.
    let red: SIMD4<Float>
    let green: SIMD4<Float>
    let blue: SIMD4<Float>
    let offset: SIMD4<Float>

    /// Creates the matrix of ``ColorControlsImageProcessor``, for channels from 0 to 255.
    init(brightness: Double, contrast: Double, saturation: Double, exposure: Double) {
        let gain = exp2(exposure)
        let own = saturation * contrast * gain
        let shared = (1 - saturation) * contrast * gain
        func column(_ luma: Double, _ lane: Int) -> SIMD4<Float> {
            var column = SIMD4<Float>(repeating: Float(shared * luma))
            column[lane] += Float(own)
            column[3] = 0
            return column
        }
        (red, green, blue) = (column(0.2126, 0), column(0.7152, 1), column(0.0722, 2))
        let constant = Float(255 * (brightness * contrast - 0.5 * contrast + 0.5) * gain)
        offset = SIMD4(constant, constant, constant, 0)
    }
}

extension Bitmap {
    /// Returns the picture with each colour mapped by a matrix, clamped and rounded. O(pixels).
    fileprivate func mapped(by matrix: ColorMatrix) -> Bitmap {
        let mapped = PixelMemory.make(size) { output in
            pixels.withUnsafeBytes { input in
                for at in stride(from: 0, to: input.count, by: 4) {
                    let color =
                        matrix.offset + matrix.red * Float(input[at]) + matrix.green * Float(input[at &+ 1])
                        + matrix.blue * Float(input[at &+ 2])
                    output[at] = FloatRows.byte(color.x)
                    output[at &+ 1] = FloatRows.byte(color.y)
                    output[at &+ 2] = FloatRows.byte(color.z)
                    output[at &+ 3] = input[at &+ 3]
                }
            }
        }
        return derived(isOpaque: isOpaque, pixels: mapped)
    }
}

/// Tables from each of the 256 values of red, green and blue to the new value.
private struct ChannelTables {
    private(set) var red: [UInt8]
    private(set) var green: [UInt8]
    private(set) var blue: [UInt8]

    /// Creates tables that mix each channel with that of a colour of the weight `share`, rounded to the nearest.
    init(mixing color: PixelColor, share: Double) {
        func table(_ channel: UInt8) -> [UInt8] {
            (0..<256).map { UInt8((Double(channel) * share + Double($0) * (1 - share)).rounded()) }
        }
        (red, green, blue) = (table(color.red), table(color.green), table(color.blue))
    }
}

extension Bitmap {
    /// Returns the picture with each channel looked up in its table. O(pixels).
    fileprivate func mapped(by tables: ChannelTables) -> Bitmap {
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
