import Foundation
import Halcyon
import Synchronization

/// A cache that is closed and opened again while others use it; the closed ones are kept, for what they counted.
final class ReopenedCache: Sendable {
    private struct State {
        var current: ImageCache<Data>
        var closed: [ImageCache<Data>] = []
        var isReopening = false
    }

    private let state: Mutex<State>
    private let open: @Sendable () -> ImageCache<Data>

    init(open: @escaping @Sendable () -> ImageCache<Data>) {
        self.open = open
        state = Mutex(State(current: open()))
    }

    /// The cache, which may be closed at any time.
    var current: ImageCache<Data> { state.withLock { $0.current } }

    /// All caches there have been.
    var all: [ImageCache<Data>] { state.withLock { $0.closed + [$0.current] } }

    /// Closes the cache and opens the next; at once where that is under way.
    func reopen() async {
        let current = state.withLock { state -> ImageCache<Data>? in
            if state.isReopening { return nil }
            state.isReopening = true
            return state.current
        }
        guard let current else { return }
        await current.close()
        let next = open()
        // The old one is there still: its directory is free because it was closed.
        if !next.diskState.isOpen { Main.fail("a closed cache has its directory: \(next.diskState)") }
        state.withLock { state in
            state.closed.append(current)
            state.current = next
            state.isReopening = false
        }
        current.clearMemoryCache()
    }
}
