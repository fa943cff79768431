import HalcyonEviction
import HalcyonTestSupport
import Testing

@testable import HalcyonViews

@Suite("Display of a view: compared with a model", .timeLimit(.minutes(20)))
struct DisplayStateTests {
    private typealias State = DisplayState<Int>
    /// A template of an event. Requests get the number of the event; loads are named by their distance from the last
    /// one.
    private enum Kind {
        case set(State.Request)
        case clear
        case loading(fromLast: Int, @Sendable (Int) -> State.Event)
        case plain(State.Event)
    }

    private static func request(_ key: Int, _ change: (inout State.Request) -> Void = { _ in }) -> Kind {
        var request = State.Request(id: 0, key: key)
        change(&request)
        return .set(request)
    }

    private static let alphabet: [Kind] = [
        request(1) { $0.whenDisappearing = .cancels },
        request(2) { ($0.keepsCurrentImage, $0.hasFailureImage) = (true, true) },
        request(2) { ($0.whenDisappearing, $0.forcesTransition) = (.continues, true) },
        request(1) { ($0.keepsCurrentImage, $0.whenDisappearing) = (true, .lowersPriority) },
        request(1) { $0.isInMemory = true },
        request(3) { ($0.isInMemory, $0.forcesTransition) = (true, true) },
        .clear, .plain(.cancel), .plain(.appeared), .plain(.disappeared), .plain(.gone),
        .loading(fromLast: 0) { .progress($0) }, .loading(fromLast: 1) { .progress($0) },
        .loading(fromLast: 0) { .preview($0) }, .loading(fromLast: 1) { .preview($0) },
        .loading(fromLast: 0) { .arrived($0, wasCached: false) },
        .loading(fromLast: 0) { .arrived($0, wasCached: true) },
        .loading(fromLast: 1) { .arrived($0, wasCached: false) },
        .loading(fromLast: 0) { .failed($0) }, .loading(fromLast: 1) { .failed($0) },
    ]

    /// The state and its model after some events, and the number of loads for the next events.
    private struct Node: Hashable {
        var state = State()
        var model = DisplayModel()
        var loads = 0

        mutating func take(_ kind: Kind, number: Int) -> (
            event: State.Event, actions: [State.Action], expected: [State.Action]
        ) {
            let event: State.Event
            switch kind {
            case .set(let template):
                var request = State.Request(id: number, key: template.key)
                (request.isInMemory, request.keepsCurrentImage) = (template.isInMemory, template.keepsCurrentImage)
                (request.forcesTransition, request.hasFailureImage) =
                    (template.forcesTransition, template.hasFailureImage)
                request.whenDisappearing = template.whenDisappearing
                event = .set(request)
            case .clear: event = .clear(number)
            case .loading(let fromLast, let make): event = make(loads - fromLast)
            case .plain(let plain): event = plain
            }
            let (actions, expected) = (state.handle(event), model.expected(event))
            for case .load(let load, _) in actions { loads = max(loads, load) }
            return (event, actions, expected)
        }
    }

    /// Sequences that lead to the same state and model have the same continuations, which are followed once.
    @Test("All sequences of up to seven events have the model's actions")
    func allShortSequencesFollowModel() {
        let length = SoakLength.isLong ? 12 : 7
        var nodes: [Node: UInt64] = [Node(): 1]
        var total: UInt64 = 0
        for number in 1...length {
            var next: [Node: UInt64] = [:]
            for (node, sequences) in nodes {
                for kind in Self.alphabet {
                    var node = node
                    let (event, actions, expected) = node.take(kind, number: number)
                    if actions != expected {
                        Issue.record("\(event) after \(number - 1) events: \(actions), not \(expected)")
                        return
                    }
                    next[node, default: 0] += sequences
                    total += sequences
                }
            }
            nodes = next
        }
        // There are n + n² + … sequences of n events.
        let count = UInt64(Self.alphabet.count)
        var (sum, power): (UInt64, UInt64) = (0, 1)
        for _ in 1...length { (sum, power) = (sum + power * count, power * count) }
        #expect(total == sum)
    }

    @Test("After random events each request completed once, and starts and stops are paired")
    func randomEventsKeepInvariants() {
        var random = SplitMix64(seed: 11)
        for _ in 0..<400 {
            var (node, screen) = (Node(), PlainScreen())
            for number in 1...80 {
                let isLast = number == 80
                let kind = isLast ? .plain(.gone) : Self.alphabet[Int(random.next(below: Self.alphabet.count))]
                if !isLast, case .plain(.gone) = kind, random.next(below: 20) > 0 { continue }
                let (event, actions, expected) = node.take(kind, number: number)
                #expect(actions == expected)
                screen.perform(actions, after: event)
            }
            #expect(screen.isQuiet && screen.completed == screen.requested)
        }
    }

    @Test("A replaced request is superseded, and its image is not shown")
    func replacedRequestIsSuperseded() {
        var state = State()
        #expect(state.handle(.set(.init(id: 1, key: 1))) == [.showPlaceholder(1), .startIndicator, .load(1, 1)])
        #expect(
            state.handle(.set(.init(id: 2, key: 2)))
                == [.cancel(1), .showPlaceholder(2), .load(2, 2), .complete(1, .superseded)])
        #expect(state.handle(.arrived(1, wasCached: false)) == [])
        #expect(
            state.handle(.arrived(2, wasCached: false))
                == [.show(2, withTransition: true), .stopIndicator, .complete(2, .shown)])
    }

    @Test("Setting the same image keeps its load; a view that disappears suspends it")
    func sameImageKeepsItsLoad() {
        var state = State()
        var request = State.Request(id: 1, key: 7)
        request.whenDisappearing = .cancels
        #expect(state.handle(.set(request)) == [.showPlaceholder(1), .startIndicator, .load(1, 1)])
        var again = State.Request(id: 2, key: 7)
        again.whenDisappearing = .cancels
        #expect(state.handle(.set(again)) == [.showPlaceholder(2), .complete(1, .superseded)])
        #expect(state.handle(.disappeared) == [.cancel(1), .stopIndicator] && state.currentLoad == nil)
        #expect(state.handle(.failed(1)) == [])
        #expect(state.handle(.appeared) == [.startIndicator, .load(2, 2)] && state.pendingRequest == 2)
    }
}

/// Performs actions and counts requests and completions.
private struct PlainScreen {
    typealias State = DisplayState<Int>
    private(set) var requested: [Int: Int] = [:]
    private(set) var completed: [Int: Int] = [:]
    private var runningLoads: Set<Int> = []
    private var startedLoads: Set<Int> = []
    private var isIndicating = false
    private var latest = 0

    /// Whether no load runs and the indicator is off.
    var isQuiet: Bool { runningLoads.isEmpty && !isIndicating }

    mutating func perform(_ actions: [State.Action], after event: State.Event) {
        switch event {
        case .set(let request): note(request.id)
        case .clear(let id): note(id)
        case .arrived(let load, _), .failed(let load): runningLoads.remove(load)
        default: break
        }
        for action in actions {
            switch action {
            case .cancel(let load): #expect(runningLoads.remove(load) != nil)
            case .load(let load, let request):
                #expect(startedLoads.insert(load).inserted && runningLoads.isEmpty && request == latest)
                runningLoads.insert(load)
            case .setPriority(let load, _): #expect(runningLoads.contains(load))
            case .startIndicator:
                #expect(!isIndicating)
                isIndicating = true
            case .stopIndicator:
                #expect(isIndicating)
                isIndicating = false
            case .show(let id, _), .showPlaceholder(let id), .showFailureImage(let id), .showPreview(let id),
                .report(let id):
                #expect(id == latest)
            case .complete(let id, _): completed[id, default: 0] += 1
            }
        }
        // The indicator is on exactly while a load runs.
        #expect(isIndicating == !runningLoads.isEmpty)
    }

    private mutating func note(_ id: Int) {
        requested[id, default: 0] += 1
        latest = id
    }
}
