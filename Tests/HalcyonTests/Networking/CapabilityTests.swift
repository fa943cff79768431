import CCurl
import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Transport: capabilities", .timeLimit(.minutes(20)))
struct CapabilityTests {
    /// A change of a request for each capability that a request can need.
    private static let needs: [(capability: TransportCapability, change: @Sendable (inout TransportRequest) -> Void)] =
        [
            (.connectTimeout, { $0.timeouts.connect = .seconds(1) }),
            (.headerLimit, { $0.limits.headerBytes = 1_000 }),
            (.speedLimit, { $0.limits.bytesPerSecond = 1 << 20 }),
            (.httpVersionChoice, { $0.httpVersion = .http1 }),
            (.proxyChoice, { $0.proxy = .none }),
            (.unverifiedTLS, { $0.tls.isVerified = false }),
            (.customAuthorities, { $0.tls.authorities = URL(fileURLWithPath: "/nowhere.pem") }),
            (.pinnedPublicKey, { $0.tls.pinnedPublicKey = "sha256//" }),
            (.digestCredentials, { $0.credential = Credential(user: "ada", password: "engine") }),
            (.otherSchemes, { $0.allowedSchemes.insert("file") }),
            (.peerFilter, { $0.peerFilter = .publicAddresses }),
            (
                .repeatedHeaderFields,
                { request in
                    request.headers.add("X-Part", "1")
                    request.headers.add("x-part", "2")
                }
            ),
        ]

    private static let reports: Set<TransportCapability> = [
        .pausing, .streamWeights, .preciseErrors, .phaseTimings, .peerAddress, .wireByteCounts, .connectionReuse,
        .httpVersionReport,
    ]

    @Test("Each transport lacks exactly the expected capabilities")
    func transportsLackExpectedCapabilities() {
        let all = Set(TransportCapability.allCases)
        #expect(TransportKind.curl.capabilities == all)
        let absent = all.subtracting(TransportKind.urlSession.capabilities)
        #if canImport(FoundationNetworking)
            #expect(absent == all)
        #else
            #expect(absent == all.subtracting(Self.reports).union([.streamWeights]))
        #endif
        #expect(all == Self.reports.union(Self.needs.map(\.capability)))
    }

    @Test("A request needs exactly the capability of the field that differs from its default")
    func requestNeedsCapabilityOfChangedField() throws {
        let url = try #require(URL(string: "http://127.0.0.1/"))
        #expect(TransportRequest(url).neededCapabilities.isEmpty)
        for (capability, change) in Self.needs {
            var request = TransportRequest(url)
            change(&request)
            #expect(request.neededCapabilities == [capability])
        }
        var harmless = TransportRequest(url)
        harmless.allowedSchemes = ["http"]
        harmless.credential = Credential(user: "ada", password: "engine", scheme: .basic)
        harmless.acceptsCompression = false
        harmless.timeouts.idle = .seconds(1)
        #expect(harmless.neededCapabilities.isEmpty)
    }

    @Test("A request that needs a missing capability fails with its name, and nothing is sent")
    func unsupportedRequestIsNotSent() async throws {
        let server = try HostileServer { visit in visit.answer([1]) }
        for kind in TransportKind.having() {
            let transport = kind.transport()
            for (capability, change) in Self.needs where !kind.has(capability) {
                let request = kind.request(server.url("/"), change)
                #expect(await networkError { try await transport.response(to: request) } == .unsupported(capability))
                let text = NetworkError.unsupported(capability).description
                #expect(
                    text.hasPrefix("The transport does not support ") && text.hasSuffix("(\(capability.rawValue))."))
            }
            #expect(server.connections == 0)
        }
    }

    @Test("A handle that libcurl rejects ends its transfer, and the next one runs")
    func rejectedHandleEndsItsTransfer() async throws {
        let server = try HostileServer { visit in visit.answer([1]) }
        let calls = Atomic<Int>(0)
        var configuration = CurlTransport.Configuration()
        configuration.maximumConnectionsPerHost = 1
        let add = configuration.addHandle
        configuration.addHandle = { multi, handle in
            let isFirst = calls.wrappingAdd(1, ordering: .relaxed).oldValue == 0
            return isFirst ? CURLM_OUT_OF_MEMORY : add(multi, handle)
        }
        let transport = CurlTransport(configuration)
        guard
            case .transport(let code, let reason) = await networkError({
                try await transport.response(to: .test(server.url("/")))
            })
        else {
            Issue.record("the transfer has no such error")
            return
        }
        #expect(code == Int(CURLM_OUT_OF_MEMORY.rawValue) && !reason.isEmpty)
        #expect(try await Array(transport.response(to: .test(server.url("/"))).body) == [1])
    }
}
