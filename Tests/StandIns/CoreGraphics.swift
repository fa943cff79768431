// Declarations of Core Graphics that Halcyon uses, with Apple's signatures. Their bodies are never run.
@_exported import Foundation

// Apple's types are classes, and Swift converts between them and these.
public typealias CFArray = [Any]
public typealias CFData = Data
public typealias CFDictionary = [AnyHashable: Any]
public typealias CFMutableData = NSMutableData
public typealias CFString = String

public final class CGDataProvider {
    public init?(data: CFData) { nil }
}

public enum CGColorSpaceModel: Int32, Sendable {
    case unknown = -1
    case monochrome, rgb, cmyk, lab, deviceN, indexed, pattern, XYZ
}

public class CGColorSpace {
    public class var sRGB: CFString { "sRGB" }
    public init?(name: CFString) { nil }
    public var model: CGColorSpaceModel { .unknown }
    public var supportsOutput: Bool { false }
    public func copyICCData() -> CFData? { nil }
}

public enum CGImageAlphaInfo: UInt32 {
    case none, premultipliedLast, premultipliedFirst, last, first, noneSkipLast, noneSkipFirst, alphaOnly
}

public struct CGBitmapInfo: OptionSet, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
}

public enum CGColorRenderingIntent: Int32 {
    case defaultIntent, absoluteColorimetric, relativeColorimetric, perceptual, saturation
}

public final class CGImage {
    public init?(
        width: Int, height: Int, bitsPerComponent: Int, bitsPerPixel: Int, bytesPerRow: Int, space: CGColorSpace,
        bitmapInfo: CGBitmapInfo, provider: CGDataProvider, decode: UnsafePointer<CGFloat>?, shouldInterpolate: Bool,
        intent: CGColorRenderingIntent
    ) { nil }
    public var width: Int { 0 }
    public var height: Int { 0 }
    public var colorSpace: CGColorSpace? { nil }
}

public final class CGContext {
    public init?(
        data: UnsafeMutableRawPointer?, width: Int, height: Int, bitsPerComponent: Int, bytesPerRow: Int,
        space: CGColorSpace, bitmapInfo: UInt32
    ) { nil }
    public func draw(_ image: CGImage, in rect: CGRect, byTiling: Bool = false) {}
}
