// Uses what each platform adds, so that the check fails where a condition leaves it out.
import HalcyonPipeline

#if canImport(UIKit)
    import UIKit

    @MainActor
    func use(_ view: UIImageView, _ button: UIButton, _ resource: Resource) {
        ImageContext.resource(resource).downsampling(.toView).fade(.milliseconds(250)).set(to: view.halcyon)
        view.halcyon.indicator = ActivityIndicator(UIActivityIndicatorView())
        button.halcyon(for: .highlighted).setImage(with: resource)
        _ = NotificationTrigger.app()
    }
#endif

#if canImport(AppKit)
    import AppKit

    @MainActor
    func use(_ view: NSImageView, _ resource: Resource) {
        view.halcyon.setImage(with: resource)
        _ = NotificationTrigger.app()
    }
#endif

#if canImport(SwiftUI)
    import SwiftUI

    struct UsesHalcyonImage: View {
        let resource: Resource

        var body: some View {
            HalcyonImage(.resource(resource).fade(.milliseconds(250)).whenDisappearing(.cancels)) { EmptyView() }
                .resizable()
        }
    }

    func use(_ image: CGImage) -> CGImage? { Bitmap(image)?.cgImage }
#endif
