import Synchronization

/// A default object that is created when it is first read, unless another one was set before.
package final class SettableDefault<Value: Sendable>: Sendable {
    /// The object, once it was read or set. Held briefly, and not while one is created.
    private let object = Mutex<Value?>(nil)
    /// Held while an object is created, so that only one is.
    private let creation = Mutex(())

    package init() {}

    /// Sets the object. Does not wait for one that is being created.
    package func set(_ new: Value) { object.withLock { $0 = new } }

    /// Returns the object. If there is none, creates one, which it returns unless another was set meanwhile.
    package func value(_ create: () -> Value) -> Value {
        if let object = object.withLock({ $0 }) { return object }
        return creation.withLock { _ in
            if let object = object.withLock({ $0 }) { return object }
            let new = create()
            return object.withLock { object in
                if let object { return object }
                object = new
                return new
            }
        }
    }
}
