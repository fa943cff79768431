// Declarations of ImageIO that HalcyonImageIO uses, with Apple's signatures. Their bodies are never run, and the
// values of keys are not Apple's.
@_exported import CoreGraphics
@_exported import Foundation

public class CGImageSource {
    init() {}
}

public enum CGImageSourceStatus: Int32, Sendable {
    case statusUnexpectedEOF = -5
    case statusInvalidData, statusUnknownType, statusReadingHeader, statusIncomplete, statusComplete
}

public func CGImageSourceCopyTypeIdentifiers() -> CFArray { [] }
public func CGImageSourceCreateWithData(_ data: CFData, _ options: CFDictionary?) -> CGImageSource? { nil }
public func CGImageSourceGetCount(_ isrc: CGImageSource) -> Int { 0 }
public func CGImageSourceGetPrimaryImageIndex(_ isrc: CGImageSource) -> Int { 0 }
public func CGImageSourceGetStatus(_ isrc: CGImageSource) -> CGImageSourceStatus { .statusComplete }
public func CGImageSourceCopyProperties(_ isrc: CGImageSource, _ options: CFDictionary?) -> CFDictionary? { nil }
public func CGImageSourceCopyPropertiesAtIndex(
    _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CFDictionary? { nil }
public func CGImageSourceCreateImageAtIndex(
    _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { nil }
public func CGImageSourceCreateThumbnailAtIndex(
    _ isrc: CGImageSource, _ index: Int, _ options: CFDictionary?
) -> CGImage? { nil }

public class CGImageDestination {
    init() {}
}

public func CGImageDestinationCopyTypeIdentifiers() -> CFArray { [] }
public func CGImageDestinationCreateWithData(
    _ data: CFMutableData, _ type: CFString, _ count: Int, _ options: CFDictionary?
) -> CGImageDestination? { nil }
public func CGImageDestinationAddImage(
    _ idst: CGImageDestination, _ image: CGImage, _ properties: CFDictionary?
) {}
public func CGImageDestinationFinalize(_ idst: CGImageDestination) -> Bool { false }

public let kCGImageSourceShouldCache: CFString = ""
public let kCGImageSourceCreateThumbnailFromImageAlways: CFString = ""
public let kCGImageSourceCreateThumbnailWithTransform: CFString = ""
public let kCGImageSourceThumbnailMaxPixelSize: CFString = ""

public let kCGImageDestinationLossyCompressionQuality: CFString = ""

public let kCGImagePropertyPixelWidth: CFString = ""
public let kCGImagePropertyPixelHeight: CFString = ""
public let kCGImagePropertyOrientation: CFString = ""
public let kCGImagePropertyHasAlpha: CFString = ""
public let kCGImagePropertyProfileName: CFString = ""

public let kCGImagePropertyGIFDictionary: CFString = ""
public let kCGImagePropertyGIFLoopCount: CFString = ""
public let kCGImagePropertyGIFUnclampedDelayTime: CFString = ""
public let kCGImagePropertyGIFDelayTime: CFString = ""
public let kCGImagePropertyGIFFrameInfoArray: CFString = ""

public let kCGImagePropertyPNGDictionary: CFString = ""
public let kCGImagePropertyAPNGLoopCount: CFString = ""
public let kCGImagePropertyAPNGUnclampedDelayTime: CFString = ""
public let kCGImagePropertyAPNGDelayTime: CFString = ""
public let kCGImagePropertyAPNGFrameInfoArray: CFString = ""

public let kCGImagePropertyWebPDictionary: CFString = ""
public let kCGImagePropertyWebPLoopCount: CFString = ""
public let kCGImagePropertyWebPUnclampedDelayTime: CFString = ""
public let kCGImagePropertyWebPDelayTime: CFString = ""
public let kCGImagePropertyWebPFrameInfoArray: CFString = ""

public let kCGImagePropertyHEICSDictionary: CFString = ""
public let kCGImagePropertyAVISDictionary: CFString = ""
public let kCGImagePropertyHEICSLoopCount: CFString = ""
public let kCGImagePropertyHEICSUnclampedDelayTime: CFString = ""
public let kCGImagePropertyHEICSDelayTime: CFString = ""
public let kCGImagePropertyHEICSFrameInfoArray: CFString = ""
