#if HALCYON_APPLE
    import Dispatch
    import Foundation
    import Synchronization

    /// The shortage of memory that Apple's systems report to a process. Type-checked against declarations, never run.
    ///
    /// A warning removes half of a cache's contents in memory, and a critical shortage all. Its source of events is created with the
    /// first cache and never cancelled.
    public final class SystemMemoryTrigger: CacheTrigger {
        /// The trigger that all caches use by default.
        public static let shared = SystemMemoryTrigger()

        private let handlers = TriggerHandlers()
        /// Keeps the source.
        private let source = Mutex<(any DispatchSourceMemoryPressure)?>(nil)

        private init() {
            source.withLock { kept in
                let source = DispatchSource.makeMemoryPressureSource(
                    eventMask: [.warning, .critical], queue: DispatchQueue(label: "halcyon.memory.pressure"))
                source.setEventHandler { [weak self] in self?.report() }
                source.activate()
                kept = source
            }
        }

        public func subscribe(_ handler: @escaping @Sendable (CacheTriggerEvent) -> Void) -> TriggerSubscription {
            handlers.add(handler)
        }

        private func report() {
            let isCritical = source.withLock { $0?.data.contains(.critical) ?? false }
            for handler in handlers.all { handler(.memoryPressure(isCritical ? .full : .some)) }
        }
    }

    extension NotificationTrigger {
        /// The app enters the background, is hidden (macOS), or ends, by the names that UIKit, WatchKit and AppKit post, so that a cache
        /// links none of them. The system is asked for time until the disks are flushed, also in an extension; macOS needs no such time.
        /// Type-checked against declarations, never run.
        static let ofSystem = NotificationTrigger(
            backgrounds: [
                Notification.Name("UIApplicationDidEnterBackgroundNotification"),
                Notification.Name("WKApplicationDidEnterBackgroundNotification"),
                Notification.Name("NSApplicationDidHideNotification"),
            ],
            terminations: [
                Notification.Name("UIApplicationWillTerminateNotification"),
                Notification.Name("NSApplicationWillTerminateNotification"),
            ],
            beginWork: {
                let isDone = DispatchSemaphore(value: 0)
                #if !os(macOS)
                    // The system lets the process run as long as the block does, on a thread of its own.
                    ProcessInfo.processInfo.performExpiringActivity(withReason: "halcyon.cache.flush") { isExpired in
                        if isExpired { isDone.signal() } else { isDone.wait() }
                    }
                #endif
                return { isDone.signal() }
            })
    }
#endif
