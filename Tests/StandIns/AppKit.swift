// Declarations of AppKit that HalcyonViews uses, with Apple's signatures. Their bodies are never run.
@_exported import CoreGraphics
@_exported import Foundation

@MainActor
open class NSWindow: NSObject {
    open var backingScaleFactor: CGFloat { 1 }
}

@MainActor
open class NSView: NSObject {
    open var bounds: CGRect { .zero }
    open var alphaValue: CGFloat = 1
    open var window: NSWindow? { nil }
    open func animator() -> Self { self }
}

open class NSImage: NSObject, @unchecked Sendable {
    public init(cgImage: CGImage, size: NSSize) {}
}

open class NSImageView: NSView {
    open var image: NSImage?
}

@MainActor
open class NSAnimationContext: NSObject {
    open var duration: TimeInterval = 0
    open class func runAnimationGroup(_ changes: (NSAnimationContext) -> Void) {}
}

@MainActor
open class NSApplication: NSObject {
    public nonisolated static let didHideNotification = Notification.Name("hide")
    public nonisolated static let willTerminateNotification = Notification.Name("terminate")
}
