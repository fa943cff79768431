import Dispatch
// What reads a log is part of this module's interface.
@_exported import HalcyonAccessLogReading

/// The record of every access to a cache, and of the lists that were shown, in an SQLite file.
///
/// ```swift
/// let log = AccessLog(path: "caches/access.sqlite")
/// log.record("https://example.com/cat.jpg", cost: 40_960, categories: ["cats"], outcome: .network, user: "ada")
/// try await log.flush()
/// ```
///
/// Recording takes a lock and appends to a buffer; a queue of the log's own writes the buffer in batches, half a flush
/// interval after the first access in it or as soon as a batch is full. What was recorded more than one flush interval
/// before the process is killed is in the file. See `ProcessTests.killAtRandomPointsKeepsWrittenAccesses()`.
///
/// An error of the file never reaches the caller that records:
///
/// - While the file cannot be written, accesses wait, up to a limit. Lost accesses are counted in ``statistics`` and
///   reported to ``Configuration/onEvent``. See `DiskTests.accessesWaitOnAFullDiskAndAreWrittenLater()`,
///   `DiskTests.readOnlyLogIsReadAndLaterWritten()` and
///   `FileFaultTests.accessesOfALockedFileWaitAndAreWrittenLater()`.
/// - If the disk is full from the start, recording continues. See
///   `DiskTests.recordingContinuesOnADiskFullFromTheStart()` and
///   `FileFaultTests.pageLimitLosesAccessesAtTheWaitingLimit()`.
/// - A damaged file is renamed to `NAME.damaged`, and a new one is created. Accesses that wait are kept. See
///   `FileFaultTests.damagedFileIsSetAsideAndNothingWaitingIsLost()`, `FileFaultTests.truncatedFileIsSetAside()` and
///   `FileFaultTests.pagesOverwrittenBeforeOpeningAreSetAside()`.
/// - If the file or its folder is deleted, a new file is created. See
///   `FileFaultTests.vanishedFileOrFolderIsReplacedAndReported()` and
///   `FileFaultTests.directoryInPlaceOfTheFileIsAnError()`.
/// - A file of another program or of a later release is not changed.
///
/// Users and categories are in clear in the file. It, the files that SQLite keeps beside it and a folder that is made for it can be read
/// by their owner alone; a file that others can read is closed to them when it is opened. In a folder that all users can write, such as
/// `/tmp`, a link or another user's file is refused. See `PermissionTests`.
///
/// Several processes of one user may record to one file. It is read by `AccessLogReader`, by `replay`, and by whatever reads SQLite: see
/// <doc:Schema>.
public final class AccessLog: Sendable {
    /// The file.
    public let path: String
    private let buffer: AccessBuffer
    private let writer: LogWriter

    /// A log in the file at `path`, which is made with its folder when there is something to write.
    ///
    /// Takes no time: the file is opened when it is first written.
    public init(path: String, _ configuration: Configuration = Configuration()) {
        self.path = path
        buffer = AccessBuffer(configuration)
        writer = LogWriter(path: path, configuration, buffer)
    }

    deinit {
        let writer = writer
        Task { await writer.close() }
    }

    /// Records an access. O(1), with no input or output; any thread may call it.
    ///
    /// - Parameters:
    ///   - key: what was asked for; how it is kept says ``Configuration/keys``.
    ///   - cost: the size in bytes; 0 where it is unknown. A log replays best if every object's size is known at its first access.
    ///   - categories: of the object. Empty names and repetitions count for nothing.
    ///   - outcome: where it was served from.
    ///   - user: the user or profile; `nil` or empty where unknown.
    ///   - time: microseconds since 1970; `nil` is now.
    ///   - duration: how long the fetch took, in microseconds, for the outcome `network`; `nil` where unknown.
    public func record(
        _ key: String, cost: Int, categories: [String] = [], outcome: RecordedAccess.Outcome, user: String? = nil,
        at time: Int64? = nil, duration: Int64? = nil
    ) {
        act(
            on: buffer.add(
                time: time, cost: cost, key: key, categories: categories, user: user, outcome: outcome,
                duration: duration))
    }

    /// Records an event, such as the start of a prefetch, after the accesses so far. O(1), with no input or output; any thread may call
    /// it. A log with events replays with the prefetches and delays that were recorded.
    public func record(event: RecordedEvent) { act(on: buffer.add(event)) }

    /// Records a list that was shown, after the accesses so far. O(1), with no input or output; any thread may call it. A list without
    /// items is ignored.
    public func record(list: RecordedList) { act(on: buffer.add(list)) }

    private func act(on signal: AccessBuffer.Signal) {
        switch signal {
        case .nothing: break
        case .timer:
            let writer = writer
            Task { await writer.flushLater() }
        case .writer:
            let writer = writer
            Task { await writer.flush() }
        }
    }

    /// Whether accesses are recorded. Switched off, ``record(_:cost:categories:outcome:user:at:duration:)`` does nothing; what was recorded
    /// before stays.
    public var isRecording: Bool {
        get { buffer.isRecording }
        set { buffer.isRecording = newValue }
    }

    /// Lets what follows belong to another session, as when an app comes back to the front.
    public func beginSession() { buffer.beginSession() }

    /// What was recorded, written and lost so far.
    public var statistics: AccessLogStatistics { buffer.statistics }

    /// Writes what was recorded up to now, and brings the file within its bounds.
    ///
    /// - Throws: `AccessLogError` if that is not possible now; accesses keep waiting where a later attempt may succeed.
    public func flush() async throws(AccessLogError) {
        if let error = await writer.flush() { throw error }
    }

    /// Writes what was recorded and closes the file. Nothing is recorded afterwards.
    ///
    /// - Throws: `AccessLogError` if it could not be written; it is then lost and counted. With the reason `notOverwritten` it was
    ///   written, and what was deleted before is overwritten when a log opens the file again.
    public func close() async throws(AccessLogError) {
        if let error = await writer.close() { throw error }
    }

    /// Deletes all accesses and lists of a user, and the names that only they refer to. O(rows of the log), on the log's queue.
    ///
    /// What is deleted is overwritten in the file and in its write-ahead log before this returns. A damaged file that was set aside is
    /// deleted as a whole. A reader that has the log open, such as an `AccessLogReader`, needs what was there when it began. Then this
    /// throws the reason `notOverwritten`: the accesses are deleted, and overwritten by the first flush after the reader has ended, or
    /// when the log is opened again. See `DeletionTests.openReaderKeepsADeletionFromBeingReported()`.
    ///
    /// - Returns: the number of accesses.
    /// - Throws: `AccessLogError` if the file cannot be written; it is then as it was. With the reason `notOverwritten` the accesses are
    ///   deleted and not yet overwritten.
    @discardableResult
    public func deleteAccesses(ofUser user: String) async throws(AccessLogError) -> Int {
        try await writer.delete(.user(user))
    }

    /// Deletes all accesses to objects of a category, these objects in lists, and the names that only they refer to, as
    /// ``deleteAccesses(ofUser:)`` does.
    @discardableResult
    public func deleteAccesses(inCategory category: String) async throws(AccessLogError) -> Int {
        try await writer.delete(.category(category))
    }

    /// Deletes all accesses, all lists and all names, as ``deleteAccesses(ofUser:)`` does.
    @discardableResult
    public func deleteAll() async throws(AccessLogError) -> Int {
        try await writer.delete(.everything)
    }

    /// Writes what was recorded up to now to a CSV in the form of a trace, `time,key,size,category,user`, and `event,list` if there
    /// are lists; see `AccessLogText`. Recording and writing go on meanwhile.
    ///
    /// - Parameter destination: the file to make or replace; it appears when it is whole, and only its owner can read it.
    /// - Returns: the number of accesses.
    /// - Throws: `AccessLogError` if the log cannot be written or read, or the file not be made.
    @discardableResult
    public func export(to destination: String) async throws(AccessLogError) -> Int {
        try await flush()
        let path = path
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(
                    returning: Result { () throws(AccessLogError) in
                        try AccessLogExport.write(logAt: path, to: destination)
                    })
            }
        }
        return try result.get()
    }
}
