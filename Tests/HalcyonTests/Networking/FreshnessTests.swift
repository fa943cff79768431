import Foundation
import Halcyon
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Freshness of responses", .timeLimit(.minutes(20)))
struct FreshnessTests {
    private let now: Int64 = 1_700_000_000
    private let url = URL(fileURLWithPath: "/")

    private func freshness(_ headers: HeaderFields, status: Int = 200, delay: Int64 = 0) -> Freshness {
        Freshness(
            ResponseHead(url: url, status: status, headers: headers), requested: now - delay, received: now)
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
        // RFC 9111, 4.2: a cache does not heed the case of letters. A day of two digits in the third form.
        #expect(HTTPDate.seconds("SUN, 06 nov 1994 08:49:37 gMT") == 784_111_777)
        #expect(HTTPDate.seconds("Wed Nov 16 08:49:37 1994") == 784_975_777)
        #expect(HTTPDate.seconds("Thu, 01 Jan 1970 00:00:00 GMT") == 0)
        #expect(HTTPDate.seconds("Thu, 29 Feb 2024 12:00:00 GMT") == 1_709_208_000)
        #expect(HTTPDate.seconds("Fri, 31 Dec 2100 23:59:59 GMT") == 4_133_980_799)
        // Two digits: not more than fifty years ahead.
        #expect(HTTPDate.seconds("Monday, 01-Jan-70 00:00:00 GMT", now: now) == 3_155_760_000)
        #expect(HTTPDate.seconds("Monday, 01-Jan-80 00:00:00 GMT", now: now) == 315_532_800)
        for text in [
            "", "0", "-1", "yesterday", "Sun, 06 Nov 1994 08:49 GMT", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT", "Sun 06 Nov 1994 08:49:37 GMT",
            "Sun, 06  Nov  1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08.49.37 GMT", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 +8:49:37 GMT",
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
        #expect(control("max-age =60").maxAge == nil && control("max-age= 60").maxAge == 0)
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
        #expect(freshness(["Cache-Control": "no-store"]).isStorable == false)
        #expect(freshness(["Cache-Control": "no-store, must-understand"]).isStorable)
        #expect(freshness(["Vary": "*"]).isStorable == false)
        #expect(freshness(["Cache-Control": "no-cache, max-age=60"]).freshUntil == now)
    }

    @Test("Without a stated lifetime an image is fresh for a tenth of the time since its last change, at most a day")
    func lifetimeIsEstimatedFromLastChange() {
        func fresh(_ headers: HeaderFields, status: Int = 200, _ policy: FreshnessPolicy = FreshnessPolicy()) -> Int64 {
            let entry = freshness(headers, status: status)
            // The first second at which it is not used as it is.
            var (low, high) = (now, now + 10_000_000)
            while low < high {
                let middle = (low + high) / 2
                if policy.decision(for: entry, at: middle) == .use { low = middle + 1 } else { high = middle }
            }
            return low - now
        }
        // 1_700_000_000 is Tue, 14 Nov 2023 22:13:20 GMT: a hundred seconds after this.
        let changed = "Tue, 14 Nov 2023 22:11:40 GMT"
        #expect(fresh(["Last-Modified": changed]) == 10)
        #expect(fresh(["Last-Modified": "Tue, 14 Nov 2000 22:11:40 GMT"]) == 86_400)
        #expect(fresh(["Last-Modified": changed], FreshnessPolicy(heuristicShare: 0.5)) == 50)
        #expect(fresh(["Last-Modified": changed], FreshnessPolicy(heuristicShare: 0)) == 0)
        #expect(fresh(["Last-Modified": changed], FreshnessPolicy(heuristicShare: .nan)) == 0)
        #expect(fresh(["Last-Modified": changed], FreshnessPolicy(heuristicShare: .infinity)) == 100)
        #expect(fresh(["Last-Modified": changed], FreshnessPolicy(heuristicShare: 1, heuristicLimit: 7)) == 7)
        #expect(fresh([:]) == 0 && fresh(["Last-Modified": "long ago"]) == 0)
        // A stated lifetime counts alone; so do directives that want to be asked, and statuses for which none may be estimated.
        #expect(fresh(["Last-Modified": changed, "Expires": "0"]) == 0)
        #expect(fresh(["Last-Modified": changed, "Cache-Control": "max-age=3"]) == 3)
        for control in ["no-cache", "must-revalidate", "max-age=soon"] {
            #expect(fresh(["Last-Modified": changed, "Cache-Control": control]) == 0, "\(control)")
        }
        #expect(fresh(["Last-Modified": changed], status: 201) == 0)
        #expect(fresh(["Last-Modified": changed, "Cache-Control": "public"], status: 201) == 10)
        #expect(fresh(["Last-Modified": changed, "Age": "4"]) == 6)
    }

    @Test("Of several values of Age the first counts, and one that is no number is ignored")
    func firstAgeCounts() {
        // RFC 9111, 5.1 and 1.2.2.
        for (values, age) in [
            (["3600, 0"], 3_600), (["0, 3600"], 0), (["7", "9"], 7), (["99999999999999999999"], 2_147_483_648),
            (["2147483648"], 2_147_483_648), (["-5"], 0), (["7.0"], 0), (["7;a=1"], 0), ([""], 0), ([", 7"], 0),
            (["+7"], 0), ([" 7 , x"], 7),
        ] as [([String], Int64)] {
            var headers: HeaderFields = ["Cache-Control": "max-age=60"]
            for value in values { headers.add("Age", value) }
            #expect(freshness(headers).age == age, "\(values)")
        }
    }

    @Test("An answer that was received in the future, by a clock that was ahead, is revalidated")
    func answerOfTheFutureIsRevalidated() {
        let entry = freshness(["Cache-Control": "max-age=60", "ETag": "\"1\""])
        let policy = FreshnessPolicy(staleWhileRevalidate: 1_000)
        #expect(policy.decision(for: entry, at: now) == .use && policy.decision(for: entry, at: now - 1) == .revalidate)
        #expect(policy.decision(for: entry, at: now - 100_000_000) == .revalidate)
        // It is there, if the server fails.
        #expect(policy.mayServeAfterError(entry, at: now - 100_000_000))
        let strict = freshness(["Cache-Control": "max-age=60, must-revalidate"])
        #expect(!policy.mayServeAfterError(strict, at: now - 1))
    }

    @Test("A tag without quotes is sent back as it came, unless it could be a list or *, and asks for no part")
    func unquotedTagIsSentBackAsItCame() {
        for tag in ["abc", "\"abc\"", "W/\"abc\"", "W/abc", "1679-ab==", "\"a, b\""] {
            var request = TransportRequest(url)
            let validators = Validators(ResponseHead(url: url, status: 200, headers: ["ETag": tag]))
            validators.apply(to: &request)
            #expect(request.headers["If-None-Match"] == tag, "\(tag)")
            #expect((validators.strong != nil) == tag.hasPrefix("\""), "\(tag)")
        }
        for tag in ["", "*", "a, b", "a\"b", "a b", "a\u{7}"] {
            #expect(Validators(ResponseHead(url: url, status: 200, headers: ["ETag": tag])).isEmpty, "\(tag)")
        }
    }

    @Test("Freshness is read from its compact form as it was written, and from no other bytes")
    func compactFormIsReadAsWritten() throws {
        var full = freshness([
            "Cache-Control":
                "max-age=60, no-cache, must-revalidate, private, public, immutable, must-understand, no-store, "
                + "stale-while-revalidate=30, stale-if-error=90",
            "ETag": "W/\"\u{e9}\"", "Last-Modified": "Tue, 14 Nov 2023 22:11:40 GMT", "Age": "5", "Expires": "0",
            "Date": "Tue, 14 Nov 2023 22:13:19 GMT", "Vary": "Accept, X-User",
        ])
        var request = TransportRequest(url)
        request.headers = ["Accept": "image/webp", "Cookie": "a=b"]
        (full.variant, full.isPrivate) = (request.fieldDigest, true)
        for entry in [full, freshness([:]), freshness(["Vary": "*", "ETag": ""])] {
            let bytes = entry.encoded
            #expect(Freshness(encoded: bytes) == entry)
            for length in 0..<bytes.count { #expect(Freshness(encoded: bytes.prefix(length)) == nil) }
            #expect(Freshness(encoded: bytes + [0]) == nil)
        }
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
    }

    @Test("After an error a stale entry is used for as long as the policy or the server allows, a strict one never")
    func staleIfErrorIsTheLongerOfPolicyAndServer() {
        func last(_ policy: FreshnessPolicy, _ control: String) -> Int64 {
            let entry = freshness(["Cache-Control": control])
            return [0, 59, 60, 149, 150, 604_859, 604_860, 699_999].last {
                policy.mayServeAfterError(entry, at: now + $0)
            } ?? -1
        }
        let server = FreshnessPolicy(staleIfError: nil)
        #expect(last(server, "max-age=60") == 59 && last(server, "max-age=60, stale-if-error=90") == 149)
        #expect(last(FreshnessPolicy(), "max-age=60") == 604_859)
        #expect(last(FreshnessPolicy(), "max-age=60, stale-if-error=1") == 604_859)
        #expect(last(FreshnessPolicy(staleIfError: .max), "max-age=60") == 699_999)
        for control in ["max-age=60, must-revalidate", "max-age=60, must-revalidate, stale-if-error=90"] {
            #expect(last(FreshnessPolicy(), control) == 59)
        }
        #expect(last(FreshnessPolicy(), "max-age=60, no-cache, stale-if-error=90") == -1)
        // A server that has just failed is not asked again for what may be used.
        let entry = freshness(["Cache-Control": "max-age=60"])
        for (policy, time, decision) in [
            (FreshnessPolicy(), 100, FreshnessDecision.use), (server, 100, .revalidate), (server, 59, .use),
            (FreshnessPolicy(staleWhileRevalidate: 100, staleIfError: nil), 100, .useAndRevalidate),
        ] as [(FreshnessPolicy, Int64, FreshnessDecision)] {
            #expect(policy.decision(for: entry, at: now + time, isServerFailing: true) == decision)
        }
        #expect(FreshnessPolicy().decision(for: nil, at: now, isServerFailing: true) == .use)
    }

    @Test("A 304 renews the lifetime from its arrival and keeps the validators")
    func notModifiedRenewsLifetime() {
        let entry = freshness([
            "Cache-Control": "max-age=60", "ETag": "\"1\"", "Last-Modified": "Tue, 14 Nov 2023 22:11:40 GMT",
        ])
        let head = ResponseHead(url: url, status: 304, headers: ["Cache-Control": "max-age=10"])
        let later = entry.refreshed(by: head, requested: now + 100, received: now + 100)
        #expect(later.freshUntil == now + 110)
        #expect(later.validators.etag == "\"1\"" && later.validators.lastModified != nil)
    }

    @Test("A 304 keeps what it lacks: lifetime and directives of the 200, and replaces what it has")
    func notModifiedKeepsWhatTheAnswerLacks() {
        func renewed(_ old: HeaderFields, _ new: HeaderFields) -> Freshness {
            freshness(old).refreshed(
                by: ResponseHead(url: url, status: 304, headers: new), requested: now + 100, received: now + 100)
        }
        // RFC 9111, 3.2 and 4.3.4.
        let strict: HeaderFields = [
            "Cache-Control": "max-age=3600, must-revalidate, stale-if-error=9", "ETag": "\"1\"",
        ]
        let kept = renewed(strict, ["ETag": "\"1\""])
        #expect(kept.freshUntil == now + 3_700 && kept.mustRevalidate && kept.control.staleIfError == 9)
        #expect(renewed(["Cache-Control": "no-cache"], [:]).mustRevalidate)
        #expect(renewed(strict, ["Cache-Control": "max-age=5"]).freshUntil == now + 105)
        #expect(!renewed(strict, ["Cache-Control": "max-age=5"]).mustRevalidate)
        // Expires is a moment, which does not move: 22:14:20 is now + 60. The 304 is of now + 100 and has no other.
        let until: HeaderFields = ["Expires": "Tue, 14 Nov 2023 22:18:20 GMT"]
        #expect(freshness(until).freshUntil == now + 300 && renewed(until, [:]).freshUntil == now + 300)
        #expect(renewed(until, ["Expires": "Tue, 14 Nov 2023 22:20:00 GMT"]).freshUntil == now + 400)
        #expect(renewed(until, ["Expires": "0"]).freshUntil == now + 100)
        // The age is that of the 304.
        #expect(renewed(["Cache-Control": "max-age=60", "Age": "50"], [:]).freshUntil == now + 160)
        #expect(renewed(["Cache-Control": "max-age=60"], ["Age": "20"]).freshUntil == now + 140)
        #expect(renewed(["Vary": "Accept"], [:]).vary == ["accept"])
        #expect(renewed(["Vary": "Accept"], ["Vary": "Accept, DPR"]).vary == ["accept", "dpr"])
        let validators = renewed(["ETag": "\"1\""], ["ETag": "\"2\""]).validators
        #expect(validators.etag == "\"2\"")
    }

    @Test("Vary counts in all its lines, and * in any of them forbids to store the response")
    func varyCountsInAllLines() {
        for (lines, isStorable) in [
            (["Accept", "*"], false), (["", "*"], false), ([", *"], false), (["*, *"], false),
            (["Accept", "DPR"], true),
        ] {
            var headers = HeaderFields()
            for line in lines { headers.add("Vary", line) }
            #expect(freshness(headers).isStorable == isStorable, "\(lines)")
        }
    }

    @Test("Validators come from ETag and Last-Modified; only strong ones allow range requests")
    func onlyStrongValidatorsAllowRanges() {
        func validators(_ headers: HeaderFields) -> Validators {
            Validators(ResponseHead(url: url, status: 200, headers: headers))
        }
        #expect(validators([:]).isEmpty)
        #expect(validators(["ETag": "no tag", "Last-Modified": "long ago"]).isEmpty)
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
