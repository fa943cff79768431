import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonNetworking
@testable import HalcyonPipeline

@Suite("Records of freshness", .timeLimit(.minutes(20)))
struct FreshnessRecordTests {
    private let bytes = Data("an image".utf8)

    private func record() -> FreshnessRecord {
        let head = ResponseHead(
            url: fake("a"), status: 200,
            headers: ["ETag": "\"1\"", "Cache-Control": "max-age=10, must-revalidate", "Vary": "Accept"])
        return FreshnessRecord(Freshness(head, requested: 5, received: 7), of: bytes)
    }

    @Test("A record is read from its note as it was written, and describes its bytes alone")
    func recordIsReadAsWritten() throws {
        let record = record()
        let read = try #require(FreshnessRecord(note: record.note))
        #expect(read == record && read.isOf(bytes) && !read.isOf(Data("another".utf8)) && !read.isOf(Data()))
        // A slice of a larger buffer is the same.
        #expect(FreshnessRecord(note: (Data([1, 2]) + record.note).dropFirst(2)) == record)
        #expect(record.note.count < 160)
    }

    @Test("A damaged note is no record, wherever a bit of it has changed or its end is missing")
    func damagedNoteIsNoRecord() {
        let note = record().note
        for place in note.indices {
            for bit in 0..<8 {
                var damaged = note
                damaged[place] ^= 1 << bit
                #expect(FreshnessRecord(note: damaged) == nil, "byte \(place), bit \(bit)")
            }
            #expect(FreshnessRecord(note: note.prefix(place)) == nil)
        }
        #expect(FreshnessRecord(note: nil) == nil && FreshnessRecord(note: note + [0]) == nil)
        #expect(FreshnessRecord(note: Data("{\"freshness\":{}}".utf8)) == nil)
    }
}

@Suite("The decision about a cached image", .timeLimit(.minutes(20)))
struct RevalidationDecisionTests {
    private static let now: Int64 = 1_700_000_000

    private static func freshness(_ control: String) -> Freshness {
        Freshness(
            ResponseHead(url: fake("a"), status: 200, headers: ["Cache-Control": control]), requested: now,
            received: now)
    }

    /// Every combination of what a load can find, against the rules as a plain list: the first that applies decides.
    @Test("Every situation has its decision")
    func everySituationHasItsDecision() {
        let kinds: [(control: String?, isStrict: Bool)] = [
            (nil, false), ("max-age=10", false), ("max-age=10, must-revalidate", true), ("max-age=10, no-cache", true),
        ]
        var count = 0
        for (control, isStrict) in kinds {
            for after: Int64 in [-1, 0, 9, 10, 29, 30, 109, 110] {
                for isFailing in [false, true] {
                    for isOther in [false, true] {
                        for onlyFromCache in [false, true] {
                            let situation = FreshnessSituation(
                                policy: FreshnessPolicy(staleWhileRevalidate: 20, staleIfError: 100),
                                freshness: control.map(Self.freshness), now: Self.now + after, isFailing: isFailing,
                                isOther: isOther, onlyFromCache: onlyFromCache)
                            let isKnown = control != nil && after >= 0
                            let end: Int64 = control?.contains("no-cache") == true ? 0 : 10
                            let expected: FreshnessDecision? =
                                isOther
                                ? nil
                                : onlyFromCache
                                    ? .use
                                    : isKnown && after < end
                                        ? .use
                                        : isFailing && !isStrict && (control == nil || after < end + 100)
                                            ? .use
                                            : isKnown && !isStrict && after < end + 20 ? .useAndRevalidate : .revalidate
                            #expect(situation.decision == expected, "\(control ?? "none") \(after) \(isFailing)")
                            count += 1
                        }
                    }
                }
            }
        }
        #expect(count == 256)
    }
}

@Suite("Pauses between revalidations of a server that fails", .timeLimit(.minutes(20)))
struct RevalidationPausesTests {
    private let a = fake("a")
    private let b = fake("b")

    private func status(_ status: Int, retryAfter: String? = nil) -> NetworkError {
        var head = ResponseHead(url: a, status: status)
        head.headers["Retry-After"] = retryAfter
        return .invalidStatusCode(head)
    }

    @Test("Pauses double from 10 seconds to 10 minutes, and end with the first success")
    func pausesDoubleUntilSuccess() {
        let pauses = RevalidationPauses()
        var now: Int64 = 1_000
        for length in [10, 20, 40, 80, 160, 320, 600, 600] as [Int64] {
            pauses.failed(a, NetworkError.cannotConnect("no route"), at: now)
            // Joined loads fail together, and count once.
            pauses.failed(b, NetworkError.cannotConnect("no route"), at: now)
            #expect(pauses.contain(a, at: now) && pauses.contain(b, at: now + length - 1))
            #expect(!pauses.contain(a, at: now + length))
            now += length
        }
        pauses.failed(a, NetworkError.timedOut(.connect), at: now)
        pauses.succeeded(b)
        #expect(!pauses.contain(a, at: now) && pauses.count == 0)
        pauses.failed(a, NetworkError.timedOut(.idle), at: now)
        #expect(pauses.contain(a, at: now + 9) && !pauses.contain(a, at: now + 10))
    }

    @Test("A status is that of one image, 429 and 503 of the server; other errors pause nothing")
    func statusPausesItsImage() {
        for (error, isImage, isServer) in [
            (status(500), true, false), (status(504), true, false), (status(503), true, true),
            (status(429), true, true),
            (status(404), false, false), (.tls("expired"), false, false), (.constrainedNetwork, false, false),
            (.cancelled, false, false), (.connectionLost("reset"), true, true),
        ] as [(NetworkError, Bool, Bool)] {
            let pauses = RevalidationPauses()
            pauses.failed(a, error, at: 50)
            #expect(pauses.contain(a, at: 50) == isImage && pauses.contain(b, at: 50) == isServer, "\(error)")
        }
        let pauses = RevalidationPauses()
        pauses.failed(a, status(503), at: 50)
        #expect(!pauses.contain(URL(string: "http://other/a") ?? a, at: 50))
        #expect(!pauses.contain(URL(string: "https://fake/a") ?? a, at: 50))
    }

    @Test("Retry-After makes a pause longer, up to 10 minutes")
    func retryAfterMakesPauseLonger() {
        for (text, length) in [("5", 10), ("60", 60), ("99999", 600), ("soon", 10)] as [(String, Int64)] {
            let pauses = RevalidationPauses()
            pauses.failed(a, status(503, retryAfter: text), at: 50)
            #expect(pauses.contain(a, at: 49 + length) && !pauses.contain(a, at: 50 + length), "\(text)")
        }
    }

    @Test("A failure in the future, by a clock that was ahead, pauses nothing")
    func failureOfTheFuturePausesNothing() {
        let pauses = RevalidationPauses()
        pauses.failed(a, NetworkError.cannotConnect("no route"), at: 100_000)
        #expect(!pauses.contain(a, at: 50))
        pauses.failed(a, NetworkError.cannotConnect("no route"), at: 50)
        #expect(pauses.contain(a, at: 59) && !pauses.contain(a, at: 60))
    }

    @Test("A bounded number of failures is remembered; those that end soonest are forgotten")
    func failuresAreBounded() {
        let pauses = RevalidationPauses()
        for number in 0..<(RevalidationPauses.limit + 100) {
            pauses.failed(fake("\(number)"), status(500), at: Int64(number))
        }
        #expect(pauses.count == RevalidationPauses.limit)
        #expect(!pauses.contain(fake("0"), at: 5))
        let last = RevalidationPauses.limit + 99
        #expect(pauses.contain(fake("\(last)"), at: Int64(last)))
    }
}
