import Foundation
import HalcyonSimulation
import HalcyonSupport
import HalcyonTrace

/// The hashes of the requests of a cell: all that a replay may read of a trace.
///
/// `Trace.fingerprint` covers entries, sizes, times, categories and users. Keys and the recording of an access log
/// decide few runs, so they have hashes of their own, which a ``CellIdentity`` has only where they decide.
package struct RequestIdentity: Sendable, Hashable {
    /// `Trace.fingerprint`.
    package var fingerprint: String
    /// The hash of the keys of all objects, in the order of their numbers. Nil for a trace that was read without keys.
    package var keys: String?
    /// The hash of the events and of the durations of fetches that an access log recorded. Nil without a recording.
    package var recording: String?
    /// The fingerprint of the per-user requests of each other trace that models are trained on, by its name.
    var others: [String: String] = [:]

    /// Hashes a trace. O(requests), and O(keys) for one that was read with keys.
    package init(_ trace: Trace) {
        fingerprint = trace.fingerprint
        let names = trace.names.keys
        if names.count == trace.objectCount, names.count > 0 {
            var text = Data()
            for number in 0..<UInt32(names.count) {
                let name = names.utf8(number)
                Self.append(Int64(name.count), to: &text)
                text.append(contentsOf: name)
            }
            keys = CellIdentity.name(of: text)
        }
        recording = trace.recording.map { recording in
            var text = Data()
            for event in recording.events {
                let fields = [
                    Int64(event.position), event.time, Int64(event.kind.rawValue), Int64(event.object),
                    Int64(event.user),
                    Int64(event.size), event.isJoined ? 1 : 0,
                ]
                for field in fields { Self.append(field, to: &text) }
            }
            Self.append(Int64(recording.fetches.count), to: &text)
            for object in 0..<UInt32(trace.objectCount) {
                Self.append(recording.fetches.duration(ofObject: object), to: &text)
            }
            return CellIdentity.name(of: text)
        }
    }

    /// Creates the identity of requests without keys and recording.
    init(fingerprint: String) { self.fingerprint = fingerprint }

    private static func append(_ number: Int64, to text: inout Data) {
        withUnsafeBytes(of: number.littleEndian) { text.append(contentsOf: $0) }
    }
}
