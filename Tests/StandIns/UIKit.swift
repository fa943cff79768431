// Declarations of UIKit that HalcyonViews uses, with Apple's signatures. Their bodies are never run.
@_exported import CoreGraphics
@_exported import Foundation

@MainActor
open class UITraitCollection: NSObject {
    open var displayScale: CGFloat { 1 }
}

@MainActor
open class UIView: NSObject {
    public struct AnimationOptions: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let transitionCrossDissolve = AnimationOptions(rawValue: 5 << 20)
        public static let allowUserInteraction = AnimationOptions(rawValue: 1 << 1)
    }

    open var bounds: CGRect { .zero }
    open var traitCollection: UITraitCollection { UITraitCollection() }

    open class func transition(
        with view: UIView, duration: TimeInterval, options: AnimationOptions = [], animations: (() -> Void)?,
        completion: ((Bool) -> Void)? = nil
    ) {}
}

open class UIImage: NSObject, @unchecked Sendable {
    public enum Orientation: Int, Sendable { case up }
    public init(cgImage: CGImage, scale: CGFloat, orientation: Orientation) {}
}

open class UIImageView: UIView {
    open var image: UIImage?
}

open class UIControl: UIView {
    public struct State: OptionSet, Sendable {
        public let rawValue: UInt
        public init(rawValue: UInt) { self.rawValue = rawValue }
        public static let normal = State([])
        public static let highlighted = State(rawValue: 1)
    }
}

open class UIButton: UIControl {
    open func setImage(_ image: UIImage?, for state: UIControl.State) {}
}

open class UIActivityIndicatorView: UIView {
    open func startAnimating() {}
    open func stopAnimating() {}
}

public struct UIBackgroundTaskIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}

@MainActor
open class UIApplication: NSObject {
    public nonisolated static let didReceiveMemoryWarningNotification = Notification.Name("memory")
    public nonisolated static let didEnterBackgroundNotification = Notification.Name("background")
    public nonisolated static let willTerminateNotification = Notification.Name("terminate")
    open class var shared: UIApplication { UIApplication() }
    open func beginBackgroundTask(
        expirationHandler handler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
}
