#if canImport(UIKit) && !os(watchOS)
    import HalcyonCache
    import HalcyonImages
    import HalcyonPipeline
    import UIKit

    /// An image view that displays loaded pictures. What this file adds for UIKit was type-checked, never run.
    extension UIImageView: ImageDisplaying {
        /// Loads the images of this view. It uses `HalcyonManager.shared`.
        public var halcyon: ImageBinding { AssociatedObject.binding(of: self) }

        public func display(_ picture: Bitmap?, transition: ImageTransition) {
            let image = picture.flatMap { UIImage($0, scale: traitCollection.displayScale) }
            guard case .fade(let duration) = transition else {
                self.image = image
                return
            }
            UIView.transition(
                with: self, duration: duration.seconds, options: [.transitionCrossDissolve, .allowUserInteraction],
                animations: { self.image = image }, completion: nil)
        }

        public var displaySize: DisplaySize? { DisplaySize(self) }
    }

    extension UIButton {
        /// Loads the image of a state of this button. It uses `HalcyonManager.shared`.
        public func halcyon(for state: UIControl.State) -> ImageBinding {
            AssociatedObject.states(of: self) { ButtonStates(self) }.binding(state)
        }
    }

    /// The images of a button.
    @MainActor
    private final class ButtonStates {
        private weak var button: UIButton?
        private var states: [UInt: ButtonState] = [:]

        init(_ button: UIButton) { self.button = button }

        func binding(_ state: UIControl.State) -> ImageBinding {
            let view = states[state.rawValue] ?? ButtonState(button, state)
            states[state.rawValue] = view
            return view.images
        }
    }

    /// The image of one state of a button.
    @MainActor
    private final class ButtonState: ImageDisplaying {
        private weak var button: UIButton?
        private let state: UIControl.State
        private(set) lazy var images = ImageBinding(self)

        init(_ button: UIButton?, _ state: UIControl.State) { (self.button, self.state) = (button, state) }

        func display(_ picture: Bitmap?, transition: ImageTransition) {
            guard let button else { return }
            let image = picture.flatMap { UIImage($0, scale: button.traitCollection.displayScale) }
            button.setImage(image, for: state)
        }

        var displaySize: DisplaySize? { button.flatMap { DisplaySize($0) } }
    }

    extension UIImage {
        /// Creates an image of a picture; `nil` if the system cannot make one (type-checked, never run). O(pixels).
        ///
        /// - Parameter scale: the pixels of a point. A scale of 0 or less counts as 1.
        public convenience init?(_ picture: Bitmap, scale: CGFloat) {
            guard let image = picture.cgImage else { return nil }
            self.init(cgImage: image, scale: scale > 0 ? scale : 1, orientation: .up)
        }
    }

    extension DisplaySize {
        /// The size of a view, on its screen.
        @MainActor
        init?(_ view: UIView) {
            self.init(
                width: Double(view.bounds.width), height: Double(view.bounds.height),
                scale: Double(max(view.traitCollection.displayScale, 1)))
        }
    }

    /// The system's activity indicator as an indicator of loads (type-checked, never run).
    @MainActor
    public final class ActivityIndicator: ImageIndicator {
        private let view: UIActivityIndicatorView

        /// Creates an indicator that starts and stops a view of the app.
        public init(_ view: UIActivityIndicatorView) { self.view = view }

        public func start() { view.startAnimating() }
        public func stop() { view.stopAnimating() }
    }

    extension NotificationTrigger {
        /// The notifications of the app: memory warnings, entering the background, termination. The system is asked
        /// for time in the background until the disks are flushed (type-checked, never run).
        @MainActor
        public static func app() -> NotificationTrigger {
            NotificationTrigger(
                memoryWarnings: [UIApplication.didReceiveMemoryWarningNotification],
                backgrounds: [UIApplication.didEnterBackgroundNotification],
                terminations: [UIApplication.willTerminateNotification],
                beginWork: {
                    // UIKit posts these notifications on the main thread.
                    let work = MainActor.assumeIsolated { BackgroundTime() }
                    return { Task { @MainActor in work.end() } }
                })
        }
    }

    /// Time in the background that the system was asked for.
    @MainActor
    private final class BackgroundTime {
        private var task = UIBackgroundTaskIdentifier.invalid

        init() {
            task = UIApplication.shared.beginBackgroundTask { [weak self] in
                // UIKit calls it on the main thread.
                MainActor.assumeIsolated { self?.end() }
            }
        }

        func end() {
            guard task != .invalid else { return }
            UIApplication.shared.endBackgroundTask(task)
            task = .invalid
        }
    }
#endif
