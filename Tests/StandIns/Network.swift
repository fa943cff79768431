// Declarations of Network that HalcyonNetworking uses, with Apple's signatures. Their bodies are never run.
import Dispatch

public struct NWPath: Equatable, Sendable {
    public enum Status: Hashable, Sendable {
        case satisfied, unsatisfied, requiresConnection
    }

    public var status: Status { .satisfied }
    public var isConstrained: Bool { false }
}

public final class NWPathMonitor: Sendable {
    public var currentPath: NWPath { fatalError() }

    public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { nil }
        set {}
    }

    public init() {}

    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
