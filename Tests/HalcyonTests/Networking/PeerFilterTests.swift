import Foundation
import Halcyon
import HalcyonTestSupport
import Synchronization
import Testing

@testable import HalcyonNetworking

@Suite("Transport: filters of peers", .timeLimit(.minutes(20)))
struct PeerFilterTests {
    @Test(
        "Addresses that are not public are refused",
        arguments: [
            "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.1.1",
            "198.18.0.1", "198.19.255.255", "198.51.100.7", "203.0.113.7", "224.0.0.1", "239.255.255.255", "240.0.0.1",
            "255.255.255.255",
            "::", "::1", "::7f00:1", "fe80::1", "fe80::1%eth0", "febf::1", "fec0::1", "fc00::1", "fd12:3456::1",
            "ff02::1",
            "100::1", "2001::1", "2001:2::1", "2001:db8::1", "3fff::1", "5f00::1", "64:ff9b:1::1",
            "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::10.0.0.1", "2002:7f00:1::",
            "2002:a00:1::1",
        ])
    func privateAddressIsRefused(_ text: String) throws {
        let address = try #require(PeerAddress(text))
        #expect(!address.isPublic && !PeerFilter.publicAddresses.accepts(address) && PeerFilter.any.accepts(address))
    }

    @Test(
        "Public addresses are accepted",
        arguments: [
            "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255", "172.15.255.255", "172.32.0.0", "192.0.1.1", "192.167.255.255", "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0", "223.255.255.255",
            "2606:4700:4700::1111", "2a00:1450::1", "2001:4860:4860::8888", "2001:200::1", "3ffe::1", "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8", "2002:808:808::1",
        ])
    func publicAddressIsAccepted(_ text: String) throws {
        let address = try #require(PeerAddress(text))
        #expect(address.isPublic && PeerFilter.publicAddresses.accepts(address))
    }

    @Test("Addresses are parsed and formatted")
    func addressesAreParsedAndFormatted() throws {
        #expect(PeerAddress("192.0.2.1", port: 80)?.bytes == [192, 0, 2, 1])
        #expect(PeerAddress("192.0.2.1", port: 80)?.port == 80)
        #expect(PeerAddress("2001:DB8::1")?.description == "2001:db8::1")
        #expect(PeerAddress(bytes: [127, 0, 0, 1])?.description == "127.0.0.1")
        #expect(PeerAddress("example.org") == nil && PeerAddress("") == nil && PeerAddress(bytes: [1, 2, 3]) == nil)
    }

    @Test("Filters with equal identifiers are equal, and loads with different filters do not merge")
    func loadsWithDifferentFiltersDoNotMerge() throws {
        let url = try #require(URL(string: "http://example.org/a"))
        func key(_ filter: PeerFilter) -> MergeKey {
            var request = TransportRequest(url)
            request.peerFilter = filter
            return MergeKey(request)
        }
        #expect(key(.any) == MergeKey(TransportRequest(url)) && key(.any) != key(.publicAddresses))
        #expect(key(.custom("a") { _ in true }) == key(.custom("a") { _ in false }))
        #expect(key(.custom("a") { _ in true }) != key(.custom("b") { _ in true }))
        #expect(key(.custom("any") { _ in true }) != key(.any))
    }

    @Test("No connection is opened to a refused address", arguments: TransportKind.having(.peerFilter))
    func refusedAddressGetsNoConnection(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in visit.answer([1]) }
        let transport = kind.transport()
        func error(_ host: String) async throws -> NetworkError? {
            let url = try #require(URL(string: "http://\(host):\(server.port)/"))
            let request = kind.request(url) { $0.peerFilter = .publicAddresses }
            return await networkError { try await transport.response(to: request) }
        }
        #expect(try await error("127.0.0.1") == .peerRefused(address: "127.0.0.1"))
        #expect(try await error("0.0.0.0") == .peerRefused(address: "0.0.0.0"))
        #expect(try await error("[::1]") == .peerRefused(address: "::1"))
        #expect(try await error("[::ffff:127.0.0.1]") == .peerRefused(address: "::ffff:127.0.0.1"))
        // libcurl reads numbers as the system does.
        #expect(try await error("2130706433") == .peerRefused(address: "127.0.0.1"))
        guard case .peerRefused = try await error("localhost") else {
            Issue.record("localhost is accepted")
            return
        }
        #expect(server.connections == 0)
        let text = NetworkError.peerRefused(address: "127.0.0.1").description
        #expect(text == "The request's filter refuses the server's address 127.0.0.1.")
        #expect(!NetworkError.peerRefused(address: "127.0.0.1").isWorthRetrying)
    }

    @Test(
        "The filter receives address and port, and applies to redirects",
        arguments: TransportKind.having(.peerFilter))
    func filterAppliesToRedirects(_ kind: TransportKind) async throws {
        let inner = try HostileServer { visit in visit.answer([1]) }
        let outer = try HostileServer { visit in
            visit.answer([], status: "302 Found", headers: ["Location: \(inner.url("/secret"))"])
        }
        let asked = Mutex<[PeerAddress]>([])
        let filter = PeerFilter.custom("outer only") { address in
            asked.withLock { $0.append(address) }
            return address.port == outer.port
        }
        let downloader = ImageDownloader.test(kind.transport()) { configuration in
            configuration.request = { url in kind.request(url) { $0.peerFilter = filter } }
        }
        #expect(
            await networkError { try await downloader.download(outer.url("/")) } == .peerRefused(address: "127.0.0.1"))
        #expect(outer.visits.count == 1 && inner.connections == 0)
        let addresses = Set([outer.port, inner.port].compactMap { PeerAddress("127.0.0.1", port: $0) })
        #expect(Set(asked.withLock { $0 }) == addresses)
    }

    @Test(
        "A kept connection is not used for a request whose filter refuses its peer",
        arguments: TransportKind.having(.peerFilter))
    func filterAppliesToReusedConnections(_ kind: TransportKind) async throws {
        let server = try HostileServer { visit in visit.answer([1]) }
        let transport = kind.transport()
        func response(_ filter: PeerFilter) async throws -> TransportResponse {
            try await transport.response(to: kind.request(server.url("/")) { $0.peerFilter = filter })
        }
        #expect(try await !response(.any).metrics.reusedConnection)
        #expect(try await response(.any).metrics.reusedConnection)
        #expect(
            await networkError { try await response(.publicAddresses) } == .peerRefused(address: "127.0.0.1"))
        #expect(server.visits.count == 2 && server.connections == 1)
        // A filter that accepts the peer shares the connections of all.
        #expect(try await Array(response(.custom("all") { _ in true }).body) == [1])
        #expect(server.visits.count == 3)
    }

    @Test(
        "With a proxy, the filter receives the proxy's address",
        arguments: TransportKind.having(.peerFilter, .proxyChoice))
    func filterReceivesProxyAddress(_ kind: TransportKind) async throws {
        let proxy = try HostileServer { visit in visit.answer([1]) }
        let url = try #require(URL(string: "http://nobody.invalid/"))
        func request(_ filter: PeerFilter) -> TransportRequest {
            kind.request(url) { request in
                request.proxy = .url("http://127.0.0.1:\(proxy.port)")
                request.peerFilter = filter
            }
        }
        let transport = kind.transport()
        #expect(
            await networkError { try await transport.response(to: request(.publicAddresses)) }
                == .peerRefused(address: "127.0.0.1"))
        #expect(proxy.connections == 0)
        let port = proxy.port
        let filter = PeerFilter.custom("proxy") { $0.port == port }
        #expect(try await Array(transport.response(to: request(filter)).body) == [1])
    }

    @Test(
        "Over HTTP/2, refused requests do not disturb the shared connection", .needsNginx,
        arguments: TransportKind.having(.peerFilter, .customAuthorities))
    func refusedStreamsKeepSharedConnection(_ kind: TransportKind) async throws {
        let nginx = try Nginx.server()
        let bytes = try nginx.file("filtered.bin", pattern(200_000))
        let transport = kind.transport()
        let request = TransportRequest.secure(nginx.secureURL("/filtered.bin"), nginx)
        _ = try await transport.response(to: request)
        var filtered = request
        filtered.peerFilter = .publicAddresses
        let results = await withTaskGroup(of: Bool.self) { [filtered] group in
            for index in 0..<40 {
                group.addTask {
                    if index % 2 == 0 { return (try? await Array(transport.response(to: request).body)) == bytes }
                    let error = await networkError { try await transport.response(to: filtered) }
                    return error == .peerRefused(address: "127.0.0.1")
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.allSatisfy { $0 } && results.count == 40)
    }
}
