import Foundation
import HalcyonCache

/// The file beside a cache in which the latest accesses to it are kept.
struct KeptAccessesFile: Sendable {
    /// What is wrong with it, in one sentence.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The most bytes that it has: of what would be more, the oldest accesses are left out.
    static let mostBytes = 4 << 20

    /// The hidden folder within the cache's, where listing does not find the file.
    let folder: URL

    var url: URL { folder.appendingPathComponent(ObserverSlot.accessesFile) }

    /// What was kept; `nil` if nothing was. O(bytes).
    func read() throws(Fault) -> KeptAccesses? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes
        else { throw fault("This is no file of at most \(Self.mostBytes) bytes, as the latest accesses take.") }
        guard let data = try? Data(contentsOf: url) else { throw fault("The latest accesses cannot be read.") }
        struct Versioned: Decodable { let version: Int }
        if let said = try? JSONDecoder().decode(Versioned.self, from: data), said.version > KeptAccesses.version {
            throw fault("These accesses were written by a later release of Halcyon.")
        }
        guard let kept = try? JSONDecoder().decode(KeptAccesses.self, from: data),
            kept.version == KeptAccesses.version, kept.isSound
        else { throw fault("The file of the latest accesses is damaged.") }
        return kept
    }

    /// Keeps it, whole or not at all; what was kept before is still there if it cannot be written.
    ///
    /// - Parameter latest: the latest accesses, at most so many.
    func write(_ latest: (_ count: Int) -> KeptAccesses) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var count = KeptAccesses.most
        do {
            var data = try encoder.encode(latest(count))
            while data.count > Self.mostBytes, count > 0 {
                count /= 2
                data = try encoder.encode(latest(count))
            }
            try data.write(to: url, options: .atomic)
        } catch { throw fault("The latest accesses cannot be written.") }
    }

    /// Keeps it no longer.
    func remove() throws(Fault) {
        do { try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile {} catch {
            throw fault("The latest accesses cannot be removed.")
        }
    }

    private func fault(_ sentence: String) -> Fault { Fault(description: "\(url.path): \(sentence)") }
}
