#if canImport(AppKit) && !targetEnvironment(macCatalyst)
    import AppKit
    import HalcyonCache
    import HalcyonImages
    import HalcyonPipeline

    /// An image view that displays loaded pictures. What this file adds for AppKit was type-checked, never run.
    extension NSImageView: ImageDisplaying {
        /// Loads the images of this view. It uses `HalcyonManager.shared`.
        public var halcyon: ImageBinding { AssociatedObject.binding(of: self) }

        public func display(_ picture: Bitmap?, transition: ImageTransition) {
            let image = picture.flatMap { NSImage($0, scale: scale) }
            guard case .fade(let duration) = transition else {
                alphaValue = 1
                self.image = image
                return
            }
            alphaValue = 0
            self.image = image
            NSAnimationContext.runAnimationGroup { context in
                context.duration = duration.seconds
                animator().alphaValue = 1
            }
        }

        public var displaySize: DisplaySize? {
            DisplaySize(width: Double(bounds.width), height: Double(bounds.height), scale: Double(scale))
        }

        private var scale: CGFloat { window?.backingScaleFactor ?? 1 }
    }

    extension NSImage {
        /// Creates an image of a picture; `nil` if the system cannot make one (type-checked, never run). O(pixels).
        ///
        /// - Parameter scale: the pixels of a point. A scale of 0 or less counts as 1.
        public convenience init?(_ picture: Bitmap, scale: CGFloat) {
            guard let image = picture.cgImage else { return nil }
            let scale = scale > 0 ? scale : 1
            self.init(
                cgImage: image,
                size: NSSize(width: CGFloat(picture.width) / scale, height: CGFloat(picture.height) / scale))
        }
    }

    extension NotificationTrigger {
        /// The notifications of the app: it is hidden, or ends. macOS posts no memory warnings
        /// (type-checked, never run).
        @MainActor
        public static func app() -> NotificationTrigger {
            NotificationTrigger(
                backgrounds: [NSApplication.didHideNotification],
                terminations: [NSApplication.willTerminateNotification])
        }
    }
#endif
