import HalcyonPipeline
import Synchronization

/// Events on their way from callers, who never wait, to the ``Forecaster``.
///
/// What is not taken in time is bounded: beyond ``bound`` events, accesses are lost and counted, and so is where they come from.
/// A lost access is one to plan after all the same. Removals are lost from half of that on, so that they leave room for accesses.
final class ForesightInbox: Sendable {
    /// The most events that wait.
    static let bound = 1 << 16

    /// The most processors of which it is told how their images are loaded; what others make is foreseen only where it was announced.
    static let mostProcessors = 1 << 10

    /// What was not taken in.
    struct Lost: Equatable {
        var accesses = 0
        var removals = 0
    }

    private struct State {
        var events: [ForesightEvent] = []
        var recipes: Set<String> = []
        var lost = Lost()
        /// The first access after which nothing was planned, and the last.
        var first: Int64?
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    /// Takes an event in.
    ///
    /// - Returns: whether it is the first access since ``endWait()``, so that somebody should begin to wait for more.
    @discardableResult
    func put(_ event: ForesightEvent) -> Bool {
        state.withLock { state in
            switch event {
            case .accessed(let access):
                defer { state.last = access.time }
                if state.events.count < Self.bound { state.events.append(event) } else { state.lost.accesses += 1 }
                if state.first != nil { return false }
                state.first = access.time
                return true
            case .removed:
                if state.events.count < Self.bound / 2 {
                    state.events.append(event)
                } else {
                    state.lost.removals += 1
                }
            case .wanted:
                if state.events.count < Self.bound { state.events.append(event) }
            case .recipe, .announced, .conditions: state.events.append(event)
            }
            return false
        }
    }

    /// Somebody asks for a resource; how it is loaded is told with the first of a processor.
    func want(_ resource: Resource, _ options: ImageOptions?, defaults: ImageOptions) {
        let processor = options?.processorIdentifier(defaults) ?? defaults.processor?.identifier ?? ""
        state.withLock { state in
            if state.recipes.count < Self.mostProcessors, state.recipes.insert(processor).inserted {
                state.events.append(.recipe(ForesightRecipe(options, defaults: defaults)))
            }
        }
        put(.wanted(resource, processor: processor))
    }

    /// The time of the first and the last access since ``endWait()``, whether they were taken or not; `nil` where there are none.
    var waiting: (first: Int64, last: Int64)? {
        state.withLock { state in state.first.map { ($0, state.last) } }
    }

    /// Somebody takes what waits, and plans: the next access is the first again.
    func endWait() { state.withLock { $0.first = nil } }

    /// All that waits, and what was lost since this was asked last.
    func take() -> (events: [ForesightEvent], lost: Lost) {
        state.withLock { state in
            defer { (state.events, state.lost) = ([], Lost()) }
            return (state.events, state.lost)
        }
    }
}
