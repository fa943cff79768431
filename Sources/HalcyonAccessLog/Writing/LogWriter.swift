import HalcyonAccessLogReading
import Foundation

/// Writes what was recorded, keeps the file within its bounds, and copes with a file that cannot be written.
actor LogWriter {
    private let queue = LogQueue()
    private let path: String
    private let configuration: AccessLog.Configuration
    private let buffer: AccessBuffer
    private var retention: Retention
    private var file: LogFile?
    /// Taken from the buffer, not yet written.
    private var batches: [[LogEntry]] = []
    private var lostBefore = 0
    private var isClosed = false
    /// Whether a deletion has returned before what it deleted was overwritten.
    private var isDeletionPending = false

    nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

    init(path: String, _ configuration: AccessLog.Configuration, _ buffer: AccessBuffer) {
        self.path = path
        self.configuration = configuration
        self.buffer = buffer
        retention = Retention(configuration.bounds)
    }

    /// Writes what waits after half the flush interval; the other half is for the writing.
    func flushLater() async {
        try? await configuration.clock.sleep(for: configuration.flushInterval / 2)
        buffer.timerHasRun()
        _ = await flush()
    }

    /// Writes what waits and then sees to the bounds; returns why that failed, if it did.
    func flush() async -> AccessLogError? {
        if isClosed {
            drop(.closed)
            return AccessLogError(path, .closed, "has been closed; nothing is written any more")
        }
        if let error = writeWaiting() { return error }
        do {
            while try tend() {
                await Task.yield()
                if isClosed { return nil }
                if let error = writeWaiting() { return error }
            }
            try emptyWriteAheadLog()
            return nil
        } catch {
            return cope(with: error)
        }
    }

    /// Writes the write-ahead log back if it may still have what was deleted. It is tried again if a reader needs it.
    private func emptyWriteAheadLog() throws {
        guard file?.owesCheckpoint == true else { return }
        try withFile { try $0.checkpoint(waits: false) }
        if file?.owesCheckpoint == false { isDeletionPending = false }
    }

    /// Writes what waits and closes the file. What cannot be written is counted as lost.
    func close() -> AccessLogError? {
        if isClosed { return nil }
        buffer.isRecording = false
        var error = writeWaiting()
        drop(error?.reason ?? .closed)
        if error == nil, isDeletionPending, file?.owesCheckpoint == true {
            do {
                try withFile { try $0.checkpoint(waits: true) }
                if file?.owesCheckpoint == true { error = .notOverwritten(path) }
            } catch let failure {
                error = AccessLogError(path, failure)
            }
        }
        file?.close()
        file = nil
        isClosed = true
        return error
    }

    /// Deletes accesses, written or waiting, and returns how many.
    func delete(_ deletion: LogDeletion) throws(AccessLogError) -> Int {
        if isClosed { throw AccessLogError(path, .closed, "has been closed; open it again to delete from it") }
        batches += buffer.take()
        var count = 0
        let keys = deletion.keys(of: batches)
        for index in batches.indices {
            let (kept, accesses) = deletion.kept(of: batches[index], keys: keys)
            let removed = batches[index].rows - kept.rows
            if removed == 0 { continue }
            batches[index] = kept
            buffer.delete(removed)
            count += accesses
        }
        // A damaged file that was set aside holds accesses that nobody can pick out any more.
        removeSetAside()
        if let error = writeWaiting() { throw error }
        do {
            count += try withFile { try deletion.perform(on: &$0) }
        } catch {
            throw cope(with: error)
        }
        isDeletionPending = file?.owesCheckpoint == true
        if isDeletionPending { throw .notOverwritten(path) }
        return count
    }
}

extension LogWriter {
    /// Writes what waits now, not what is recorded meanwhile; returns why that failed, if it did.
    private func writeWaiting() -> AccessLogError? {
        batches += buffer.take()
        var hasRenewed = false
        while !batches.isEmpty {
            let batch = batches.removeFirst()
            do {
                try withFile { try $0.append(batch) }
                buffer.wrote(batch)
            } catch {
                batches.insert(batch, at: 0)
                let problem = cope(with: error)
                // A damaged file has been set aside: what could not be written goes to the new one.
                if problem.reason == .damaged, file == nil, !hasRenewed {
                    hasRenewed = true
                    continue
                }
                return problem
            }
        }
        if file != nil { settle() }
        return nil
    }

    /// Does something with the file, opened if it is not.
    private func withFile<Result>(_ body: (inout LogFile) throws -> Result) throws -> Result {
        if let open = file, !open.isInPlace {
            open.close()
            file = nil
            retention = Retention(configuration.bounds)
            configuration.onEvent?(.replaced)
        }
        // Taken out for the time being: a second reference would make each change to what it remembers a copy.
        var opened = try file.take() ?? LogFile(path: path, configuration)
        defer { file = opened }
        return try body(&opened)
    }

    /// One step of keeping the bounds; tells whether there is more to do.
    private func tend() throws -> Bool {
        let now = configuration.now()
        return try withFile { try retention.step(&$0, now: now) }
    }

    /// Reports that writing succeeds, if it did not before.
    private func settle() {
        if buffer.setProblem(nil) == nil { return }
        let lost = buffer.statistics.lostCount
        configuration.onEvent?(.recovered(lost: lost - lostBefore))
    }

    /// Does what an error asks for, so that recording goes on, and returns what it means.
    private func cope(with error: any Error) -> AccessLogError {
        let error = AccessLogError(path, error)
        if buffer.setProblem(error) == nil {
            lostBefore = buffer.statistics.lostCount
            configuration.onEvent?(.failed(error))
        }
        switch error.reason {
        case .damaged:
            if setAside() { return error }
        case .foreign, .newerSchema:
            drop(error.reason)
        case .locked, .diskFull:
            break
        default:
            file?.close()
            file = nil
        }
        retryLater()
        return error
    }

    private func retryLater() {
        guard !batches.isEmpty, buffer.setTimer() else { return }
        Task { await flushLater() }
    }

    /// Counts what waits as lost.
    private func drop(_ reason: AccessLogError.Reason) {
        batches += buffer.take()
        let count = batches.reduce(0) { $0 + $1.rows }
        batches = []
        if count > 0 { buffer.lose(count, reason) }
    }

    private var setAsidePath: String { "\(path).damaged" }

    /// Moves a damaged file out of the way, in place of one that was moved before; tells whether that succeeded.
    private func setAside() -> Bool {
        let rows = file?.rows
        let wasInPlace = file?.isInPlace ?? true
        file?.close()
        file = nil
        // Another process may have set it aside already, and this one be at the old file.
        if !wasInPlace { return true }
        removeSetAside()
        // The file first: SQLite discards a write-ahead log that lies beside no file.
        guard rename(path, setAsidePath) == 0 else { return false }
        rename("\(path)-wal", "\(setAsidePath)-wal")
        unlink("\(path)-shm")
        if let rows, rows > 0 { buffer.lose(rows, .damaged, waiting: false) }
        configuration.onEvent?(.setAside(path: setAsidePath, rows: rows))
        return true
    }

    private func removeSetAside() {
        for suffix in ["", "-wal", "-shm"] { unlink(setAsidePath + suffix) }
    }
}
