import Foundation
import Synchronization

/// A dictionary with a doubly linked list in the order of use, as an app would write it: String keys, a limit of the cost.
final class PlainCache<Value> {
    private final class Node {
        let key: String
        var value: Value
        var cost: Int
        var next: Node?
        unowned(unsafe) var previous: Node?

        init(_ key: String, _ value: Value, _ cost: Int) { (self.key, self.value, self.cost) = (key, value, cost) }
    }

    private let limit: Int
    private var nodes: [String: Node] = [:]
    private var newest: Node?
    private unowned(unsafe) var oldest: Node?
    private var total = 0

    init(limit: Int) { self.limit = limit }

    func value(forKey key: String) -> Value? {
        guard let node = nodes[key] else { return nil }
        if node !== newest {
            unlink(node)
            link(node)
        }
        return node.value
    }

    func store(_ value: Value, cost: Int, forKey key: String) {
        if let old = nodes[key] {
            unlink(old)
            total -= old.cost
        }
        let node = Node(key, value, cost)
        nodes[key] = node
        total += cost
        link(node)
        while total > limit, let last = oldest {
            unlink(last)
            nodes[last.key] = nil
            total -= last.cost
        }
    }

    private func link(_ node: Node) {
        node.next = newest
        newest?.previous = node
        newest = node
        if oldest == nil { oldest = node }
    }

    private func unlink(_ node: Node) {
        let (next, previous) = (node.next, node.previous)
        if let previous { previous.next = next } else { newest = next }
        if let next { next.previous = previous } else { oldest = previous }
        (node.next, node.previous) = (nil, nil)
    }

    deinit {
        // One after another: a chain of references would be released recursively.
        while let node = newest { newest = node.next }
    }
}

/// ``PlainCache`` behind a `Mutex`.
final class MutexDictionary<Value: Sendable>: Sendable {
    private let cache: Mutex<PlainCache<Value>>

    init(limit: Int) { cache = Mutex(PlainCache(limit: limit)) }

    func value(forKey key: String) -> Value? { cache.withLock { $0.value(forKey: key) } }

    func store(_ value: Value, cost: Int, forKey key: String) {
        cache.withLock { $0.store(value, cost: cost, forKey: key) }
    }
}

/// ``PlainCache`` behind an `NSLock`.
///
/// Sendable without the compiler's proof: the cache is used under the lock only.
final class LockDictionary<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private let cache: PlainCache<Value>

    init(limit: Int) { cache = PlainCache(limit: limit) }

    func value(forKey key: String) -> Value? {
        lock.lock()
        defer { lock.unlock() }
        return cache.value(forKey: key)
    }

    func store(_ value: Value, cost: Int, forKey key: String) {
        lock.lock()
        defer { lock.unlock() }
        cache.store(value, cost: cost, forKey: key)
    }
}
