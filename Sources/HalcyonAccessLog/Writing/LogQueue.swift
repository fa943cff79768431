import Dispatch

/// Runs an actor on a dispatch queue of its own, because SQLite blocks its thread.
final class LogQueue: SerialExecutor {
    private let queue = DispatchQueue(label: "halcyon.access-log", qos: .default)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
}
