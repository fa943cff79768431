import Foundation
import HalcyonCache

/// The file in a cache's folder with its latest accesses, and the file with the key of their names' hashes.
struct KeptAccessesFile: Sendable {
    /// A fault of the file, in one sentence.
    struct Fault: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// The maximum bytes of the file. If there are more, the oldest accesses are left out.
    static let mostBytes = 4 << 20

    /// The hidden folder within the cache's folder, where listing does not find the file.
    let folder: URL

    var url: URL { folder.appendingPathComponent(ObserverSlot.accessesFile) }
    /// The file of the key. A copy of the accesses without it cannot be compared with guessed names.
    var keyURL: URL { folder.appendingPathComponent(ObserverSlot.accessesKeyFile) }

    /// Reads the accesses; `nil` if there is no file. O(bytes).
    func read() throws(Fault) -> KeptAccesses? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: url.path) else { return nil }
        guard attributes[.type] as? FileAttributeType == .typeRegular,
            let size = (attributes[.size] as? NSNumber)?.intValue, size <= Self.mostBytes
        else { throw fault("This is no file of at most \(Self.mostBytes) bytes, as the latest accesses take.") }
        guard let data = try? Data(contentsOf: url) else { throw fault("The latest accesses cannot be read.") }
        struct Versioned: Decodable { let version: Int }
        if let found = try? JSONDecoder().decode(Versioned.self, from: data), found.version > KeptAccesses.version {
            throw fault("These accesses were written by a later release of Halcyon.")
        }
        guard let kept = try? JSONDecoder().decode(KeptAccesses.self, from: data),
            (1...KeptAccesses.version).contains(kept.version), kept.isSound
        else { throw fault("The file of the latest accesses is damaged.") }
        return kept
    }

    /// Reads the key of the hashes; `nil` if there is none.
    func readKey() -> NameHashKey? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: keyURL.path),
            attributes[.type] as? FileAttributeType == .typeRegular,
            (attributes[.size] as? NSNumber)?.intValue == NameHashKey.count
        else { return nil }
        return (try? Data(contentsOf: keyURL)).flatMap { NameHashKey($0) }
    }

    /// Writes the accesses, whole or not at all. If that fails, the previous file is still there.
    ///
    /// - Parameters:
    ///   - key: the key of the hashes, which is written before them; `nil` for names in clear.
    ///   - latest: returns the latest accesses, at most so many.
    func write(key: NameHashKey? = nil, _ latest: (_ count: Int) -> KeptAccesses) throws(Fault) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var count = KeptAccesses.most
        do {
            if let key, readKey() != key { try key.bytes.write(to: keyURL, options: .atomic) }
            var data = try encoder.encode(latest(count))
            while data.count > Self.mostBytes, count > 0 {
                count /= 2
                data = try encoder.encode(latest(count))
            }
            try data.write(to: url, options: .atomic)
        } catch { throw fault("The latest accesses cannot be written.") }
    }

    /// Removes the accesses of a user. If the file cannot be read or written, it is removed as a whole.
    func forget(user: String) throws(Fault) {
        let kept: KeptAccesses?
        do { kept = try read() } catch { return try remove() }
        guard let kept else { return }
        let key = kept.hashKey == nil ? nil : readKey()
        guard key?.identifier == kept.hashKey else { return try remove() }
        let rest = kept.without(user: key?.hash(user, .user) ?? user)
        if rest.accesses.count == kept.accesses.count { return }
        if rest.accesses.isEmpty { return try remove() }
        do { try write { _ in rest } } catch { try remove() }
    }

    /// Removes both files.
    func remove() throws(Fault) {
        for url in [url, keyURL] {
            do { try FileManager.default.removeItem(at: url) } catch CocoaError.fileNoSuchFile {} catch {
                throw fault("The latest accesses cannot be removed.")
            }
        }
    }

    private func fault(_ sentence: String) -> Fault { Fault(description: "\(url.path): \(sentence)") }
}
