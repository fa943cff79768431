#if canImport(SwiftUI) && canImport(CoreGraphics)
    import CoreGraphics
    import Foundation
    import HalcyonPipeline
    import SwiftUI

    /// An image of SwiftUI that is loaded. It and its members were type-checked, never run.
    ///
    /// Its load is requested when the view appears, and again when the context names another image. While the view is
    /// not on the screen, the load has a low priority, or is cancelled (``ImageContext/whenDisappearing(_:)``).
    public struct HalcyonImage<Placeholder: View>: View {
        private let context: ImageContext
        private let scale: CGFloat
        private let placeholder: Placeholder
        private var configure: @MainActor (Image) -> Image = { $0 }
        @State private var binder: ImageBinder

        /// Creates a view of a request.
        ///
        /// - Parameters:
        ///   - scale: the pixels of a point. Default: 1.
        ///   - placeholder: shown while there is no picture.
        public init(
            _ context: ImageContext, scale: CGFloat = 1, manager: HalcyonManager = .shared,
            @ViewBuilder placeholder: () -> Placeholder
        ) {
            (self.context, self.scale, self.placeholder) = (context, scale, placeholder())
            _binder = State(initialValue: ImageBinder(manager: manager))
        }

        /// Lets the picture fill the space of the view.
        public func resizable() -> Self {
            configure { $0.resizable() }
        }

        /// Changes the image that is drawn.
        public func configure(_ change: @escaping @MainActor (Image) -> Image) -> Self {
            var copy = self
            let first = configure
            copy.configure = { change(first($0)) }
            return copy
        }

        public var body: some View {
            content
                .animation(animation, value: binder.picture == nil)
                .onChange(of: context.identity, initial: true) { binder.show(context) }
                .onAppear { binder.appeared() }
                .onDisappear { binder.disappeared() }
        }

        @ViewBuilder private var content: some View {
            if binder.picture != nil, let image = binder.drawn {
                configure(Image(decorative: image, scale: scale, orientation: .up))
            } else {
                placeholder
            }
        }

        private var animation: Animation? {
            guard case .fade(let duration) = binder.transition else { return nil }
            return .linear(duration: duration.seconds)
        }
    }

    extension HalcyonImage where Placeholder == EmptyView {
        /// Creates a view of a request, without a placeholder but that of the request.
        public init(_ context: ImageContext, scale: CGFloat = 1, manager: HalcyonManager = .shared) {
            self.init(context, scale: scale, manager: manager) { EmptyView() }
        }

        /// Creates a view of a URL.
        public init(_ url: URL?, scale: CGFloat = 1, manager: HalcyonManager = .shared) {
            self.init(.url(url), scale: scale, manager: manager)
        }
    }
#endif
