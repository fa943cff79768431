#if canImport(ObjectiveC)
    import HalcyonPipeline
    import ObjectiveC

    /// The objects that views of the system own for this module: they are released with their view.
    @MainActor
    enum AssociatedObject {
        /// Addresses that are the keys of associated objects. They are never written.
        private nonisolated(unsafe) static var bindingKey: UInt8 = 0
        private nonisolated(unsafe) static var statesKey: UInt8 = 0

        /// Returns the binding of a view, which is created at the first call.
        static func binding(of view: some ImageDisplaying) -> ImageBinding {
            object(of: view, &bindingKey) { ImageBinding(view) }
        }

        /// Returns the adapters of a view that has several images, which are created at the first call.
        static func states<States: AnyObject>(of view: AnyObject, _ make: () -> States) -> States {
            object(of: view, &statesKey, make)
        }

        private static func object<Object: AnyObject>(
            of view: AnyObject, _ key: UnsafeRawPointer, _ make: () -> Object
        ) -> Object {
            if let object = objc_getAssociatedObject(view, key) as? Object { return object }
            let made = make()
            objc_setAssociatedObject(view, key, made, .OBJC_ASSOCIATION_RETAIN_NONATOMIC)
            return made
        }
    }
#endif

#if canImport(UIKit) || canImport(AppKit) || canImport(SwiftUI)
    extension Duration {
        /// The duration in seconds, as animations take it.
        var seconds: Double { self / .seconds(1) }
    }
#endif
