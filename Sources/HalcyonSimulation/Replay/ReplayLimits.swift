import HalcyonEviction

/// The limits of a replay that come from numbers of 32 bits. A job beyond one is refused before it runs.
///
/// All other counters of a replay have 64 bits: a shared cache under an online policy serves any number of requests.
package struct ReplayLimits: Sendable {
    /// The most requests of a loaded trace for an offline policy, which knows the next use of each by its position, and
    /// for per-user caches, which list the positions of each user.
    package var positions = FutureKnowledge.largestCount
    /// The most objects of a loaded trace with prefetching.
    package var prefetchedObjects = EntryNumbers.largestCount

    /// The limits in force.
    package init() {}

    /// Refuses a job over a trace that exceeds a limit.
    ///
    /// - Throws: ``ReplayError/data(_:)``.
    func verify(_ job: ReplayJob, requests: Int, objects: Int) throws(ReplayError) {
        if requests > positions, job.policy.info.traits.contains(.needsFuture) {
            throw .data(
                "\(job.policy.info.name) serves at most \(positions) requests, and the trace has \(requests): "
                    + "leave it out, or replay a part of the trace with --limit.")
        }
        if requests > positions, job.mode == .perUser {
            throw .data(
                "Per-user caches of a loaded trace serve at most \(positions) requests, and the trace has \(requests): "
                    + "replay it with --stream, or a part of it with --limit.")
        }
        // The next number of each key may be an object of its own.
        let most = job.options.prefetch?.traits.contains(.usesKeys) == true ? prefetchedObjects / 2 : prefetchedObjects
        if objects > most, job.options.prefetch != nil {
            throw .data(
                "Prefetching supports at most \(most) objects, and the trace has \(objects): "
                    + "leave prefetching out, or replay a part of the trace with --limit.")
        }
    }
}
