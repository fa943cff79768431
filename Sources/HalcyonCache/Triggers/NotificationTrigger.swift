import Dispatch
import Foundation
import Synchronization

/// Reports the notifications of an app to its caches: shortage of memory, entering the background, and termination.
///
/// ```swift
/// let trigger = NotificationTrigger(memoryWarnings: [Notification.Name("MyMemoryWarning")])
/// let cache = ImageCache<Bitmap>(
///     memory: .init(), disk: .init(name: "pictures"), serializer: BitmapSerializer(), triggers: [trigger])
/// ```
///
/// On Apple's platforms a cache has one by default, with the names that UIKit, WatchKit and AppKit post (``CacheTriggers/standard``).
/// `NotificationTrigger.app()` of HalcyonViews has memory warnings, too. Both were type-checked, never run. The initializer takes the
/// names of any other toolkit. A subscription observes the notification center until it ends.
public final class NotificationTrigger: CacheTrigger {
    /// Starts work that the system must not interrupt. Returns what ends it.
    public typealias BackgroundWork = @Sendable () -> @Sendable () -> Void

    private let center: NotificationCenter
    private let memoryWarnings: [Notification.Name]
    private let backgrounds: [Notification.Name]
    private let terminations: [Notification.Name]
    private let pressure: MemoryPressure
    private let terminationLimit: Duration
    private let beginWork: BackgroundWork

    /// Creates a trigger.
    ///
    /// - Parameters:
    ///   - center: the center that the notifications are posted to; by default the process's.
    ///   - memoryWarnings: the names of notifications that memory is short.
    ///   - backgrounds: the names of notifications that the app enters the background.
    ///   - terminations: the names of notifications that the app ends. The thread that posts one waits for the disks.
    ///   - pressure: the severity of a memory warning. By default all images in memory are removed.
    ///   - terminationLimit: the longest time to wait for the disks when the app ends. Default: 2 seconds.
    ///   - beginWork: asks the system for time in the background; called once for each cache and notification. By
    ///     default the system is not asked.
    public init(
        center: NotificationCenter = .default, memoryWarnings: [Notification.Name] = [],
        backgrounds: [Notification.Name] = [], terminations: [Notification.Name] = [],
        pressure: MemoryPressure = .full, terminationLimit: Duration = .seconds(2),
        beginWork: @escaping BackgroundWork = { {} }
    ) {
        self.center = center
        (self.memoryWarnings, self.backgrounds, self.terminations) = (memoryWarnings, backgrounds, terminations)
        (self.pressure, self.terminationLimit, self.beginWork) = (pressure, terminationLimit, beginWork)
    }

    public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
        let observers = Observers(center)
        for name in memoryWarnings {
            observers.add(name) { [pressure] in handler(.memoryPressure(pressure)) }
        }
        for name in backgrounds {
            observers.add(name) { [beginWork] in
                let end = beginWork()
                handler(.enterBackground(done: end))
            }
        }
        for name in terminations {
            observers.add(name) { [terminationLimit] in
                let done = DispatchSemaphore(value: 0)
                handler(.enterBackground { done.signal() })
                _ = done.wait(timeout: .now() + .nanoseconds(Int(terminationLimit / .nanoseconds(1))))
            }
        }
        return TriggerSubscription { observers.removeAll() }
    }
}

/// The observers of one subscription.
///
/// It is `Sendable` without being checked. The center and the tokens of observers can be used from any thread, as
/// Foundation documents. The list of tokens is changed under a lock only.
private final class Observers: @unchecked Sendable {
    private let center: NotificationCenter
    private var tokens: [any NSObjectProtocol] = []
    private let lock = NSLock()

    init(_ center: NotificationCenter) { self.center = center }

    func add(_ name: Notification.Name, _ act: @escaping @Sendable () -> Void) {
        let token = center.addObserver(forName: name, object: nil, queue: nil) { _ in act() }
        lock.withLock { tokens.append(token) }
    }

    func removeAll() {
        let ended = lock.withLock {
            defer { tokens = [] }
            return tokens
        }
        for token in ended { center.removeObserver(token) }
    }
}
