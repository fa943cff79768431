import Foundation
import HalcyonSupport

/// Decides which addresses a transport may connect to, for servers that load URLs which others chose.
///
/// The transport evaluates the filter with the address that it is about to connect to, after the name look-up and before
/// anything is sent. A name that resolves differently the second time therefore gains nothing. It evaluates the filter again
/// before a request is sent over a kept connection. A redirect is a request of its own, with the same filter. A name with several
/// addresses is loaded from those that the filter accepts. If it accepts none, the transfer ends with
/// ``NetworkError/peerRefused(address:)``.
///
/// With a proxy the filter sees the proxy's address, and the proxy connects wherever the request says: combine a filter with
/// ``Proxy/none``. A `file` URL has no peer, and no filter applies to it.
public struct PeerFilter: Sendable, Hashable {
    /// Accepts every address: the default.
    public static let any = PeerFilter(identifier: "any") { _ in true }

    /// Accepts the addresses that are reachable from the public Internet (``PeerAddress/isPublic``).
    public static let publicAddresses = PeerFilter(identifier: "publicAddresses") { $0.isPublic }

    /// Creates a filter from a closure.
    ///
    /// - Parameters:
    ///   - identifier: distinguishes the filter from others. Loads whose filters have equal identifiers may share a transfer.
    ///   - accepts: returns whether to connect. It runs on the transport's thread: it must be short, and must not block.
    public static func custom(_ identifier: String, _ accepts: @escaping @Sendable (PeerAddress) -> Bool) -> PeerFilter
    {
        PeerFilter(identifier: "custom:" + identifier, accepts: accepts)
    }

    private let identifier: String
    private let accepts: @Sendable (PeerAddress) -> Bool

    private init(identifier: String, accepts: @escaping @Sendable (PeerAddress) -> Bool) {
        self.identifier = identifier
        self.accepts = accepts
    }

    /// Returns whether a transport may connect to an address.
    public func accepts(_ address: PeerAddress) -> Bool { accepts(address) }

    public static func == (one: PeerFilter, other: PeerFilter) -> Bool {
        ByteName(one.identifier) == other.identifier
    }

    public func hash(into hasher: inout Hasher) { ByteName(identifier).hash(into: &hasher) }
}

/// The IP address and port of a peer.
public struct PeerAddress: Sendable, Hashable, CustomStringConvertible {
    /// The address in network byte order: 4 bytes (IPv4) or 16 (IPv6).
    public let bytes: [UInt8]
    /// The port.
    public let port: Int

    /// Creates an address from its bytes; `nil` unless there are 4 or 16.
    public init?(bytes: some Sequence<UInt8>, port: Int = 0) {
        self.bytes = Array(bytes)
        self.port = port
        guard self.bytes.count == 4 || self.bytes.count == 16 else { return nil }
    }

    /// Creates an address from its text, as `192.0.2.1` or `2001:db8::1`; `nil` if it is neither.
    public init?(_ text: String, port: Int = 0) {
        let literal = String(text.prefix { $0 != "%" })
        var (four, six) = (in_addr(), in6_addr())
        if inet_pton(AF_INET, literal, &four) == 1 {
            self.init(bytes: withUnsafeBytes(of: four) { Array($0) }, port: port)
        } else if inet_pton(AF_INET6, literal, &six) == 1 {
            self.init(bytes: withUnsafeBytes(of: six) { Array($0) }, port: port)
        } else {
            return nil
        }
    }

    /// The address without the port, in its usual notation.
    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count)) != nil else {
            return ""
        }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether the address is reachable from the public Internet.
    ///
    /// The tables are those of IANA's special-purpose registries (RFC 6890) on 2026-11-25. IPv6 addresses that carry an IPv4
    /// address (mapped, NAT64, 6to4) are as public as that one. The whole of `2001::/23` is refused, since Teredo is in it.
    public var isPublic: Bool {
        if bytes.count == 4 { return !Self.reserved4.contains { has(prefix: $0.bytes, bits: $0.bits) } }
        for (prefix, bits, offset) in Self.carriers where has(prefix: prefix, bits: bits) {
            return PeerAddress(bytes: bytes[offset..<offset + 4])?.isPublic ?? false
        }
        return has(prefix: [0x20], bits: 3) && !Self.reserved6.contains { has(prefix: $0.bytes, bits: $0.bits) }
    }

    private func has(prefix: [UInt8], bits: Int) -> Bool {
        (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> (bit % 8)
            let expected = bit / 8 < prefix.count ? prefix[bit / 8] : 0
            return bytes[bit / 8] & mask == expected & mask
        }
    }

    /// The IPv4 addresses that are not public.
    private static let reserved4: [(bytes: [UInt8], bits: Int)] = [
        ([0], 8),  // this network, unspecified
        ([10], 8), ([172, 16], 12), ([192, 168], 16),  // private
        ([100, 64], 10),  // shared by carriers (CGNAT)
        ([127], 8),  // loopback
        ([169, 254], 16),  // link-local, and the metadata service of clouds
        ([192, 0, 0], 24),  // protocol assignments
        ([192, 0, 2], 24), ([198, 51, 100], 24), ([203, 0, 113], 24),  // documentation
        ([192, 88, 99], 24),  // 6to4 relays
        ([198, 18], 15),  // benchmarks
        ([224], 4),  // multicast
        ([240], 4),  // reserved, broadcast
    ]

    /// The addresses within `2000::/3` that are not public. Outside of it, none is.
    private static let reserved6: [(bytes: [UInt8], bits: Int)] = [
        ([0x20, 0x01], 23),  // protocol assignments: Teredo, benchmarks, ORCHID
        ([0x20, 0x01, 0x0d, 0xb8], 32), ([0x3f, 0xff], 20),  // documentation
    ]

    /// The IPv6 addresses that carry an IPv4 address, and at which byte.
    private static let carriers: [(bytes: [UInt8], bits: Int, offset: Int)] = [
        ([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff], 96, 12),  // mapped
        ([0, 0x64, 0xff, 0x9b], 96, 12),  // NAT64
        ([0x20, 0x02], 16, 2),  // 6to4
    ]
}
