import Dispatch

/// A serial executor on a dispatch queue of its own, for an actor whose jobs block their thread.
///
/// The threads of the cooperative pool are as many as the processors. A job that waits for the disk, or computes for long,
/// would keep one of them from all other tasks of the process. The queue's quality of service is utility and not background, because
/// what it saves must be written before an app is suspended.
final class QueueExecutor: SerialExecutor {
    private let queue: DispatchQueue

    /// - Parameter label: the label of the queue.
    init(label: String) { queue = DispatchQueue(label: label, qos: .utility) }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
