import Foundation
import Halcyon
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Freshness of responses", .timeLimit(.minutes(20)))
struct FreshnessTests {
    private let now: Int64 = 1_700_000_000
    private let url = URL(fileURLWithPath: "/")

    private func freshness(_ headers: HeaderFields, heuristic: Double = 0, delay: Int64 = 0) -> Freshness {
        Freshness(
            ResponseHead(url: url, status: 200, headers: headers), requested: now - delay, received: now,
            heuristic: heuristic)
    }

    @Test(
        "Cache-Control, credentials without public, and Vary make a response private",
        arguments: [
            ([:], [:], false), (["Cache-Control": "max-age=60"], ["X-User": "1"], false),
            (["Cache-Control": "private"], [:], true), (["Cache-Control": "max-age=60, Private"], [:], true),
            (["Cache-Control": "private=\"Set-Cookie\""], [:], true),
            (["Cache-Control": "max-age=60"], ["Authorization": "Bearer 1"], true),
            (["Cache-Control": "public"], ["Authorization": "Bearer 1"], false),
            (["Cache-Control": "public, private"], ["Authorization": "Bearer 1"], true),
            ([:], ["Cookie": "a=b"], true), (["Cache-Control": "public"], ["cookie": "a=b"], false),
            (["Vary": "*"], [:], true), (["Vary": "Accept-Encoding, *", "Cache-Control": "public"], [:], true),
            (["Vary": "Accept-Encoding"], ["Accept-Encoding": "br"], false),
            (["Vary": "Accept"], [:], false), (["Vary": "Accept"], ["accept": "image/webp"], true),
            (["Vary": "accept-language , DPR"], [:], false), (["Vary": "X-User"], [:], true),
            (["Vary": "X-User"], ["X-User": "1"], true), (["Vary": "Cookie"], [:], true), (["Vary": ""], [:], false),
        ] as [(HeaderFields, HeaderFields, Bool)])
    func headersAndCredentialsMakeResponsePrivate(response: HeaderFields, sent: HeaderFields, isPrivate: Bool) {
        var request = TransportRequest(url)
        request.headers = sent
        let head = ResponseHead(url: url, status: 200, headers: response)
        #expect(Freshness.isPrivate(head, for: request) == isPrivate)
    }

    @Test("A user name and password make a response private unless it is public")
    func credentialsMakeResponsePrivateUnlessPublic() {
        var request = TransportRequest(url)
        request.credential = Credential(user: "u", password: "p")
        for (control, isPrivate) in [("max-age=60", true), ("public, max-age=60", false), ("public, private", true)] {
            let head = ResponseHead(url: url, status: 200, headers: ["Cache-Control": control])
            #expect(Freshness.isPrivate(head, for: request) == isPrivate)
        }
    }

    @Test("A 304 can make a response private, and never makes a private one public")
    func notModifiedCanMakeResponsePrivate() {
        var shared = freshness([:])
        var head = ResponseHead(url: url, status: 304, headers: ["Cache-Control": "max-age=60"])
        func isPrivate() -> Bool { shared.refreshed(by: head, requested: now, received: now).isPrivate }
        #expect(!isPrivate())
        head.isPrivate = true
        #expect(isPrivate())
        head.isPrivate = false
        head.headers["Cache-Control"] = "private"
        #expect(isPrivate())
        head.headers["Cache-Control"] = "public"
        shared.isPrivate = true
        #expect(isPrivate())
    }

    @Test("HTTP dates parse in the three forms of RFC 9110; other text is no date")
    func datesParseInThreeForms() {
        // RFC 9110's own example in its three forms.
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ] {
            #expect(HTTPDate.seconds(text, now: now) == 784_111_777, "\(text)")
        }
        #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(HTTPDate.seconds("Thu, 29 Feb 2024 12:00:00 GMT") == 1_709_208_000)
        #expect(HTTPDate.seconds("Fri, 31 Dec 2100 23:59:59 GMT") == 4_133_980_799)
        // Two digits: not more than fifty years ahead.
        #expect(HTTPDate.seconds("Monday, 01-Jan-70 00:00:00 GMT", now: now) == 3_155_760_000)
        #expect(HTTPDate.seconds("Monday, 01-Jan-80 00:00:00 GMT", now: now) == 315_532_800)
        for text in [
            "", "0", "-1", "yesterday", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Non 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
            String(repeating: "9", count: 10_000),
        ] {
            #expect(HTTPDate.seconds(text) == nil, "\(text.prefix(40))")
        }
        #expect(HTTPDate.seconds(nil) == nil)
    }

    @Test("Cache-Control directives are parsed")
    func cacheControlIsParsed() {
        func control(_ values: String...) -> CacheControl {
            var headers = HeaderFields()
            for value in values { headers.add("cache-control", value) }
            return CacheControl(headers)
        }
        #expect(control() == CacheControl())
        #expect(control("max-age=60").maxAge == 60)
        #expect(control("MAX-AGE=\"60\" , public").maxAge == 60)
        #expect(control("public", "no-store").noStore)
        #expect(control("max-age=1, max-age=9").maxAge == 1)
        #expect(control("max-age=soon").maxAge == 0)
        #expect(control("max-age").maxAge == 0)
        #expect(control("max-age=-5").maxAge == 0)
        #expect(control("max-age=99999999999999999999").maxAge == 2_147_483_648)
        #expect(control("s-maxage=60").maxAge == nil)
        #expect(control("private=\"a, no-store\", must-revalidate").noStore == false)
        #expect(control("private=\"a, no-store\", must-revalidate").mustRevalidate)
        #expect(control("no-cache=\"set-cookie\"").noCache == false)
        #expect(control("no-cache").noCache && control("immutable").isImmutable)
        let stale = control("max-age=1,stale-while-revalidate=30,stale-if-error=90")
        #expect(stale.staleWhileRevalidate == 30 && stale.staleIfError == 90)
        #expect(control("=, ,=5,\"").maxAge == nil)
    }

    @Test("Max-age overrides Expires, and Age shortens the lifetime")
    func maxAgeOverridesExpires() {
        #expect(freshness(["Cache-Control": "max-age=60"]).freshUntil == now + 60)
        #expect(freshness(["Cache-Control": "max-age=60", "Age": "20"]).freshUntil == now + 40)
        #expect(freshness(["Cache-Control": "max-age=60", "Age": "20"], delay: 5).freshUntil == now + 35)
        // 1_700_000_000 is Tue, 14 Nov 2023 22:13:20 GMT.
        let earlier = "Tue, 14 Nov 2023 22:12:50 GMT"
        #expect(freshness(["Cache-Control": "max-age=60", "Date": earlier]).freshUntil == now + 30)
        #expect(freshness(["Expires": "Tue, 14 Nov 2023 22:14:20 GMT"]).freshUntil == now + 60)
        #expect(
            freshness(["Expires": "Tue, 14 Nov 2023 22:14:20 GMT", "Cache-Control": "max-age=5"]).freshUntil == now + 5)
        #expect(freshness(["Expires": "0"]).freshUntil == now)
        #expect(freshness([:]).freshUntil == now)
        // With the heuristic: a tenth of the hundred seconds since the last change.
        let changed = "Tue, 14 Nov 2023 22:11:40 GMT"
        #expect(freshness(["Last-Modified": changed]).freshUntil == now)
        #expect(freshness(["Last-Modified": changed], heuristic: 0.1).freshUntil == now + 10)
        #expect(
            freshness(["Last-Modified": "Tue, 14 Nov 2000 22:11:40 GMT"], heuristic: 0.1).freshUntil == now + 86_400)
        #expect(freshness(["Cache-Control": "no-store"]).isStorable == false)
        #expect(freshness(["Vary": "*"]).isStorable == false)
        #expect(freshness(["Cache-Control": "no-cache, max-age=60"]).freshUntil == now)
    }

    @Test("A policy decides to use, to use and revalidate, or to revalidate")
    func policyDecidesUseOrRevalidation() {
        let policy = FreshnessPolicy()
        let entry = freshness(["Cache-Control": "max-age=60, stale-while-revalidate=30, stale-if-error=90"])
        func decisions(_ policy: FreshnessPolicy, _ entry: Freshness?) -> [FreshnessDecision] {
            [0, 59, 60, 89, 90, 1_000].map { policy.decision(for: entry, at: now + $0) }
        }
        #expect(
            decisions(policy, entry) == [.use, .use, .useAndRevalidate, .useAndRevalidate, .revalidate, .revalidate])
        // Without a record.
        #expect(decisions(policy, nil) == Array(repeating: .revalidate, count: 6))
        #expect(decisions(FreshnessPolicy(honoursServer: false), entry) == Array(repeating: .use, count: 6))
        let patient = FreshnessPolicy(staleWhileRevalidate: 300)
        #expect(decisions(patient, entry)[4] == .useAndRevalidate && decisions(patient, entry)[5] == .revalidate)
        #expect(decisions(FreshnessPolicy(staleWhileRevalidate: .max), entry)[5] == .useAndRevalidate)
        let strict = freshness(["Cache-Control": "max-age=60, must-revalidate, stale-while-revalidate=30"])
        #expect(decisions(patient, strict)[2] == .revalidate)
        #expect(policy.mayServeAfterError(entry, at: now + 149) && !policy.mayServeAfterError(entry, at: now + 150))
        #expect(policy.mayServeAfterError(strict, at: now + 59) && !policy.mayServeAfterError(strict, at: now + 60))
    }

    @Test("A 304 renews the lifetime from its arrival and keeps the validators")
    func notModifiedRenewsLifetime() throws {
        let entry = freshness([
            "Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": "Tue, 14 Nov 2023 22:11:40 GMT",
        ])
        let head = ResponseHead(url: url, status: 304, headers: ["Cache-Control": "max-age=10"])
        let later = entry.refreshed(by: head, requested: now + 100, received: now + 100)
        #expect(later.freshUntil == now + 110)
        #expect(later.validators.etag == "\"1\"" && later.validators.lastModified != nil)
        let stored = try JSONEncoder().encode(later)
        #expect(try JSONDecoder().decode(Freshness.self, from: stored) == later)
    }

    @Test("Validators come from ETag and Last-Modified; only strong ones allow range requests")
    func onlyStrongValidatorsAllowRanges() {
        func validators(_ headers: HeaderFields) -> Validators {
            Validators(ResponseHead(url: url, status: 200, headers: headers))
        }
        #expect(validators([:]).isEmpty)
        #expect(validators(["ETag": "unquoted", "Last-Modified": "long ago"]).isEmpty)
        #expect(validators(["ETag": "\"a\""]).strong == .etag("\"a\""))
        #expect(validators(["ETag": "W/\"a\""]).strong == nil)
        let changed = "Tue, 14 Nov 2023 22:11:40 GMT"
        #expect(validators(["Last-Modified": changed, "Date": changed]).strong == nil)
        #expect(
            validators(["Last-Modified": changed, "Date": "Tue, 14 Nov 2023 22:11:41 GMT"]).strong
                == .lastModified(changed))
        var request = TransportRequest(url)
        validators(["ETag": "W/\"a\"", "Last-Modified": changed]).apply(to: &request)
        #expect(request.headers["If-None-Match"] == "W/\"a\"" && request.headers["If-Modified-Since"] == changed)
    }
}
