import Foundation
import HalcyonSupport
import Synchronization

/// The places where loads keep what they have made of one response, shared by all loads that have joined. Each place is written once: by
/// the first load that keeps something there, and again by a load whose entry expires later.
///
/// Images that different processors have made have places of their own, because the key of a variant names its processor.
package final class KeptPlaces: Sendable {
    /// A place where something is kept.
    package struct Place: Hashable {
        package enum Tier { case memory, disk }

        package let cache: ObjectIdentifier
        package let key: ByteName
        package let tier: Tier
        /// The extension of the file, if the load states one.
        package var forcedExtension: ByteName?
    }

    private struct Keeping {
        var deadline: Int64
        /// Removes what was written.
        let remove: @Sendable () async -> Void
        var writing = 0
        /// The bytes that were written last.
        var bytes: Data?
        var waiters: [@Sendable () -> Void] = []
    }

    private struct State {
        var places: [Place: Keeping] = [:]
        var isForbidden = false
        /// The time at which expirations are compared, in microseconds.
        var start: Int64?
        var hasTurn = false
        var turns: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// Claims and requests writes, in turn with other loads, so that the writes have the order of their claims.
    ///
    /// - Throws: `CancellationError`, and the work does not run, if the task is cancelled before its turn.
    func inTurn<Result>(_ work: () -> Result) async throws -> Result {
        try await turn {
            try Task.checkCancellation()
            return work()
        }
    }

    private func turn<Result>(_ work: () throws -> Result) async rethrows -> Result {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.hasTurn { state.turns.append(continuation) }
                defer { state.hasTurn = true }
                return !state.hasTurn
            }
            if isFree { continuation.resume() }
        }
        defer {
            let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
                if state.turns.isEmpty {
                    state.hasTurn = false
                    return nil
                }
                return state.turns.removeFirst()
            }
            next?.resume()
        }
        return try work()
    }

    /// Returns whether the caller writes to a place, and must call ``written(_:)`` afterwards. Called in a turn.
    ///
    /// - Parameters:
    ///   - deadline: returns when the entry would expire if it were stored at a time; both in microseconds since 1970.
    ///   - remove: removes the entry again, if the response must not be stored.
    func claim(
        _ place: Place, now: Int64, until deadline: (Int64) -> Int64, remove: @escaping @Sendable () async -> Void
    ) -> Bool {
        state.withLock { state in
            if state.isForbidden { return false }
            let start = state.start ?? now
            state.start = start
            let deadline = deadline(start)
            if let known = state.places[place], known.deadline >= deadline { return false }
            state.places[place, default: Keeping(deadline: deadline, remove: remove)].deadline = deadline
            state.places[place]?.writing += 1
            return true
        }
    }

    /// Whether a load has written to a place, or is about to.
    func isClaimed(_ place: Place) -> Bool { state.withLock { $0.places[place] != nil } }

    /// Notes the bytes that a write has stored.
    func stored(_ bytes: Data, at place: Place) { state.withLock { $0.places[place]?.bytes = bytes } }

    /// Returns the bytes that were last stored at a place; `nil` if there were none.
    func bytes(at place: Place) -> Data? { state.withLock { $0.places[place]?.bytes } }

    /// Notes that a write has ended.
    func written(_ place: Place) {
        let waiters = state.withLock { state -> [@Sendable () -> Void] in
            state.places[place]?.writing -= 1
            guard state.places[place]?.writing == 0 else { return [] }
            defer { state.places[place]?.waiters = [] }
            return state.places[place]?.waiters ?? []
        }
        for waiter in waiters { waiter() }
    }

    /// Returns when no write to a place is pending, whichever load has begun it.
    func settle(_ place: Place) async {
        await withCheckedContinuation { continuation in
            let isWaiting = state.withLock { state in
                guard state.places[place]?.writing ?? 0 > 0 else { return false }
                state.places[place]?.waiters.append { continuation.resume() }
                return true
            }
            if !isWaiting { continuation.resume() }
        }
    }

    /// Refuses all further claims, for a response that must not be stored, and removes what other loads have kept. It waits for its turn,
    /// because a load that has claimed a place is about to write there.
    func forbid() async {
        let kept = await turn {
            state.withLock { state in
                state.isForbidden = true
                defer { state.places = state.places.filter { $1.writing > 0 } }
                return state.places.values.map(\.remove)
            }
        }
        for remove in kept { await remove() }
    }
}
