import Foundation
import HalcyonSupport

// What the policies of a cache have learned, in files beside the index database.

extension DiskStorage {
    var keptFile: KeptCallsFile { KeptCallsFile(folder: folder.hidden, tier: .disk) }
    private var keptFiles: [KeptCallsFile] { [keptFile, KeptCallsFile(folder: folder.hidden, tier: .memory)] }

    /// Reads what the policy of this storage had learned; `nil` if there is nothing, or the policy does not learn.
    func readKept() -> (calls: KeptCalls, key: NameHashKey)? {
        if !state.withLock({ $0.config.keepsLearning }) {
            removeKept()
            return nil
        }
        guard state.withLock({ $0.entries.calls != nil }) else { return nil }
        do { return try keptFile.read() } catch {
            onFault?(error)
            return nil
        }
    }

    /// Writes what the policies of both tiers have learned.
    func keepCalls() {
        if isFolderMissing || isListing { return }
        keeping.withLock { _ in
            let sources = [state.withLock { $0.entries.callsSource }, memoryCalls?()]
            for (file, source) in zip(keptFiles, sources) {
                guard let source else { continue }
                do { try file.write(source) } catch { onFault?(error) }
            }
        }
    }

    /// Removes what the policies of both tiers have learned from the folder.
    func removeKept() {
        if isFolderMissing { return }
        keeping.withLock { _ in
            for file in keptFiles { do { try file.remove() } catch { onFault?(error) } }
        }
    }
}
