import HalcyonAccessLog
import HalcyonCache
import HalcyonPipeline
import HalcyonSupport
import Synchronization

/// An event for a ``LivePrefetcher``.
enum PrefetcherEvent: Sendable {
    /// The load template of a processor, for images that were not announced. It comes before the first of them.
    case template(LoadTemplate)
    /// A request for a resource with a processor.
    case wanted(Resource, processor: String)
    /// The app announces resources and their load template; as a list, best first, if they are ranked.
    case announced([AnnouncedResource], LoadTemplate, time: Int64, isRanked: Bool = false)
    /// The app announces what all users of a server opened.
    case openings([CategoryOpenings], time: Int64)
    /// A list is shown, whose images have a load template.
    case shown(ListInPlace, LoadTemplate)
    /// The lists of a place are no longer shown to a user; to no user if it is `nil`.
    case hidden(place: String, user: String?)
    /// An access to the cache.
    case accessed(RecordedAccess)
    /// A value left a tier.
    case removed(CacheType, Removal)
    /// The app sets the conditions.
    case conditions(PrefetchConditions)
    /// The app enters the background.
    case background
}

/// The queue of events from callers, which never wait, to the ``LivePrefetcher``.
///
/// Beyond ``bound`` pending events, accesses and requests are lost, and lost accesses are counted. A lost access still causes a plan.
/// Removals are lost from half of the bound on, which leaves room for accesses. Lists are lost beyond ``mostLists``.
final class EventInbox: Sendable {
    /// The maximum number of pending events.
    static let bound = 1 << 16

    /// The maximum number of pending lists.
    static let mostLists = 256

    /// The maximum number of processors with a load template. Images of others are predicted only if they were announced.
    static let mostProcessors = 1 << 10

    /// The numbers of lost events.
    struct Lost: Equatable {
        var accesses = 0
        var removals = 0
        var lists = 0
    }

    private struct State {
        var events: [PrefetcherEvent] = []
        var templates: Set<ByteName> = []
        var lost = Lost()
        var lists = 0
        /// The times of the first access or list without a plan, and of the last one.
        var first: Int64?
        var last: Int64 = 0

        /// Notes an access or a list. Returns whether it is the first one.
        mutating func waits(at time: Int64) -> Bool {
            last = time
            if first != nil { return false }
            first = time
            return true
        }
    }

    private let state = Mutex(State())

    /// Adds an event.
    ///
    /// - Returns: whether it is the first access or list since ``endWait()``, after which the caller begins to wait for a pause.
    @discardableResult
    func put(_ event: PrefetcherEvent) -> Bool {
        state.withLock { state in
            switch event {
            case .accessed(let access):
                if state.events.count < Self.bound { state.events.append(event) } else { state.lost.accesses += 1 }
                return state.waits(at: access.time)
            case .shown(let list, _):
                if state.lists < Self.mostLists { state.events.append(event) } else { state.lost.lists += 1 }
                state.lists += 1
                return state.waits(at: list.time)
            case .removed:
                if state.events.count < Self.bound / 2 {
                    state.events.append(event)
                } else {
                    state.lost.removals += 1
                }
            case .wanted:
                if state.events.count < Self.bound { state.events.append(event) }
            case .template, .announced, .openings, .hidden, .conditions, .background: state.events.append(event)
            }
            return false
        }
    }

    /// Adds a request for a resource. The first with a processor adds its load template.
    func want(_ resource: Resource, _ options: ImageOptions?, defaults: ImageOptions) {
        let processor = options?.processorIdentifier(defaults) ?? defaults.processor?.identifier ?? ""
        state.withLock { state in
            if state.templates.count < Self.mostProcessors, state.templates.insert(processor).inserted {
                state.events.append(.template(LoadTemplate(options, defaults: defaults)))
            }
        }
        put(.wanted(resource, processor: processor))
    }

    /// The times of the first and the last access or list since ``endWait()``, lost or not; `nil` if there are none.
    var waiting: (first: Int64, last: Int64)? {
        state.withLock { state in state.first.map { ($0, state.last) } }
    }

    /// Handles that a plan begins: the next access or list is the first again.
    func endWait() { state.withLock { $0.first = nil } }

    /// Removes and returns all pending events, and the losses since the last call.
    func take() -> (events: [PrefetcherEvent], lost: Lost) {
        state.withLock { state in
            defer { (state.events, state.lost, state.lists) = ([], Lost(), 0) }
            return (state.events, state.lost)
        }
    }
}
