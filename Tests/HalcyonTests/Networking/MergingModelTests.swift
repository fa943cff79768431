import Halcyon
import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Merging of requests: compared with a model", .timeLimit(.minutes(20)))
struct MergingModelTests {
    @Test("All sequences of up to seven events follow the model")
    func allShortSequencesFollowModel() {
        let alphabet: [MergingModel.State.Event] = [
            .join(1, 0, 0, .low), .join(2, 0, 0, .high), .join(2, 0, 1, .normal), .leave(1), .leave(2),
            .setPriority(1, .veryHigh), .finished(1, succeeded: true), .finished(1, succeeded: false),
            .processed(1, 0, succeeded: true), .processed(1, 1, succeeded: false),
        ]
        var sequences = 0
        func extend(_ model: MergingModel, _ depth: Int) {
            for event in alphabet {
                var model = model
                guard model.take(event) else { continue }
                sequences += 1
                if depth > 1 { extend(model, depth - 1) }
            }
        }
        extend(MergingModel(), SoakLength.isLong ? 9 : 7)
        #expect(sequences > 10_000)
    }

    @Test("Random events of many waiters, keys and processors follow the model")
    func randomSequencesFollowModel() {
        var random = SplitMix64(seed: 3)
        for _ in 0..<60 {
            var model = MergingModel()
            for step in 1...400 {
                let token = UInt64(random.next(below: step)) + 1
                let transfer = UInt64(random.next(below: 60)) + 1
                let processor = Int(random.next(below: 3))
                let priority = TransferPriority.allCases[Int(random.next(below: 5))]
                switch random.next(below: 10) {
                case 0...3: _ = model.take(.join(UInt64(step), Int(random.next(below: 6)), processor, priority))
                case 4...5: _ = model.take(.leave(token))
                case 6: _ = model.take(.setPriority(token, priority))
                case 7: _ = model.take(.finished(transfer, succeeded: random.next(below: 4) > 0))
                default: _ = model.take(.processed(transfer, processor, succeeded: random.next(below: 4) > 0))
                }
            }
            model.endAll()
        }
    }
}

/// A simple model of the merging state: lists that are searched, and counts that are recomputed at each step.
struct MergingModel {
    typealias State = MergingState<Int, Int>

    private struct Waiter {
        var token: UInt64
        var transfer: UInt64
        var processor: Int
        var priority: TransferPriority
    }

    private enum Phase { case loading, processing, over }

    private var state = State()
    private var waiters: [Waiter] = []
    private var keys: [UInt64: Int] = [:]
    private var phases: [UInt64: Phase] = [:]
    private var told: [UInt64: TransferPriority] = [:]
    private var running: Set<[Int]> = []
    private var toldOfWork: [[Int]: TransferPriority] = [:]
    private var joined: Set<UInt64> = []
    private var answered: Set<UInt64> = []

    /// Handles one event and compares the actions with the model. Returns `false` if the event cannot occur now,
    /// such as the end of a transfer that was never started.
    mutating func take(_ event: State.Event) -> Bool {
        switch event {
        case .join(let token, _, _, _): guard joined.insert(token).inserted else { return false }
        case .finished(let id, _): guard phases[id] == .loading else { return false }
        case .processed(let id, let processor, _):
            guard running.remove([Int(id), processor]) != nil else { return false }
        case .leave(let token), .setPriority(let token, _): guard joined.contains(token) else { return false }
        }
        let alone = before(event)
        let actions = state.handle(event)
        for action in actions { take(action, after: event, alone) }
        check()
        return true
    }

    /// Ends all transfers and processors, after which no waiter may remain.
    mutating func endAll() {
        for id in phases.keys.sorted() { _ = take(.finished(id, succeeded: id % 2 == 0)) }
        for work in running.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            _ = take(.processed(UInt64(work[0]), work[1], succeeded: true))
        }
        #expect(waiters.isEmpty && answered == joined)
        #expect(state.waiterCount == 0 && state.transferCount == 0)
    }

    /// Updates the model by an event. Returns the transfer whose last waiter the event removes.
    private mutating func before(_ event: State.Event) -> UInt64? {
        switch event {
        case .join(let token, let key, let processor, let priority):
            let id = phases.keys.first { keys[$0] == key && phases[$0] != .over }
            waiters.append(Waiter(token: token, transfer: id ?? 0, processor: processor, priority: priority))
        case .setPriority(let token, let priority):
            for index in waiters.indices where waiters[index].token == token { waiters[index].priority = priority }
        case .leave(let token):
            guard let waiter = waiters.first(where: { $0.token == token }) else { return nil }
            return waiters.count { $0.transfer == waiter.transfer } == 1 ? waiter.transfer : nil
        case .finished(let id, true): phases[id] = .processing
        case .finished, .processed: break
        }
        return nil
    }

    private mutating func take(_ action: State.Action, after event: State.Event, _ alone: UInt64?) {
        switch action {
        case .start(let id, let key, let priority):
            #expect(!phases.keys.contains { keys[$0] == key && phases[$0] != .over })
            (keys[id], phases[id], told[id]) = (key, .loading, priority)
            for index in waiters.indices where waiters[index].transfer == 0 { waiters[index].transfer = id }
        case .setPriority(let id, let priority):
            #expect(phases[id] == .loading && told[id] != priority)
            told[id] = priority
        case .cancel(let id):
            #expect(!waiters.contains { $0.transfer == id })
            #expect(phases[id] == .processing || alone == id)
            phases[id] = .over
            running = running.filter { $0[0] != Int(id) }
        case .process(let id, let processor, let priority):
            #expect(phases[id] == .processing && running.insert([Int(id), processor]).inserted)
            #expect(waiters.contains { $0.transfer == id && $0.processor == processor })
            toldOfWork[[Int(id), processor]] = priority
        case .setWorkPriority(let id, let processor, let priority):
            #expect(running.contains([Int(id), processor]) && toldOfWork[[Int(id), processor]] != priority)
            toldOfWork[[Int(id), processor]] = priority
        case .deliver(let tokens, let id, let processor):
            #expect(phases[id] == .processing && tokens == tokens.sorted() && !tokens.isEmpty)
            let expected = waiters.filter { $0.transfer == id && $0.processor == processor }.map(\.token)
            #expect(tokens == expected.sorted())
            answer(tokens)
        case .fail(let tokens, let id):
            #expect(tokens == waiters.filter { $0.transfer == id }.map(\.token).sorted())
            guard case .finished(id, false) = event else {
                Issue.record("a transfer failed by itself")
                return
            }
            answer(tokens)
        case .cancelled(let token):
            guard case .leave(token) = event else {
                Issue.record("a waiter left by itself")
                return
            }
            answer([token])
        case .forget(let id):
            #expect(!running.contains { $0[0] == Int(id) } && !waiters.contains { $0.transfer == id })
            phases[id] = .over
        }
    }

    private mutating func answer(_ tokens: [UInt64]) {
        for token in tokens {
            #expect(answered.insert(token).inserted)
            waiters.removeAll { $0.token == token }
        }
    }

    /// Checks that every waiter waits for running work, with the highest priority of its waiters.
    private func check() {
        #expect(state.waiterCount == waiters.count)
        #expect(state.transferCount == phases.values.count { $0 != .over })
        for waiter in waiters {
            #expect(
                phases[waiter.transfer] == .loading || running.contains([Int(waiter.transfer), waiter.processor]))
        }
        for (id, phase) in phases where phase != .over {
            let wanted = waiters.filter { $0.transfer == id }.map(\.priority).max()
            #expect(wanted != nil)
            if phase == .loading { #expect(told[id] == wanted) }
        }
        for work in running {
            let own = waiters.filter { $0.transfer == work[0] && $0.processor == work[1] }
            #expect(state.isWaitedFor(UInt64(work[0]), work[1]) == !own.isEmpty)
            if let wanted = own.map(\.priority).max() { #expect(toldOfWork[work] == wanted) }
        }
    }
}
