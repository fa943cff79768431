import Foundation

extension ReplayReport {
    /// Returns the report as CSV: a header, then one row per run, each followed by one row per category and user if they
    /// are counted.
    public func csv() -> Data { Self.csv([self]) }

    /// Returns several reports as one CSV.
    public static func csv(_ reports: [ReplayReport]) -> Data {
        var text = columns.map(\.name).joined(separator: ",") + "\n"
        for report in reports {
            for run in report.runs {
                text += columns.map { quoted($0.value(report, run)) }.joined(separator: ",") + "\n"
                for part in run.breakdown ?? [] {
                    let fields = columns.map { column in
                        Self.field(column.name, of: part)
                            ?? (identity.contains(column.name) ? column.value(report, run) : "")
                    }
                    text += fields.map(quoted).joined(separator: ",") + "\n"
                }
            }
        }
        return Data(text.utf8)
    }

    /// The columns that a row of a category or a user shares with its run.
    private static let identity: Set = [
        "trace", "fingerprint", "mode", "policy", "label", "capacity", "capacity_asked", "capacity_unit", "caches",
        "warmup_requests", "seed", "halcyon_version", "models", "result_version", "build_id", "kernels", "prefetch",
        "prefetch_budget", "fetch_latency_us", "prefetch_kernels",
    ]

    /// Returns a column of a category or a user that its counts determine; `nil` for another column.
    private static func field(_ column: String, of part: Breakdown) -> String? {
        switch column {
        case "by": part.by
        case "name": part.name
        case "requests": "\(part.requests)"
        case "hits": "\(part.hits)"
        case "object_hit_ratio": "\(part.objectHitRatio)"
        case "byte_hit_ratio": "\(part.byteHitRatio)"
        case "bytes_fetched": "\(part.bytesFetched)"
        default: nil
        }
    }

    private typealias Column = (name: String, value: (ReplayReport, RunResult) -> String)

    private static var columns: [Column] {
        [
            ("trace", { report, _ in report.trace.path }), ("fingerprint", { report, _ in report.trace.fingerprint }),
            ("mode", { $1.mode.rawValue }), ("policy", { $1.policy }), ("label", { $1.label }),
            ("capacity", { "\($1.capacity)" }), ("capacity_asked", { $1.capacityAsked }),
            ("capacity_unit", { $1.capacityUnit.rawValue }), ("caches", { "\($1.caches)" }),
            ("requests", { "\($1.requests)" }), ("hits", { "\($1.hits)" }),
            ("object_hit_ratio", { "\($1.objectHitRatio)" }), ("byte_hit_ratio", { "\($1.byteHitRatio)" }),
            ("bytes_fetched", { "\($1.bytesFetched)" }), ("evictions", { "\($1.evictions)" }),
            ("admissions_refused", { "\($1.admissionsRefused)" }), ("stale", { "\($1.stale)" }),
            ("warmup_requests", { "\($1.warmupRequests)" }), ("seed", { "\($1.seed)" }),
            ("seconds", { "\($1.seconds)" }), ("requests_per_second", { "\($1.requestsPerSecond)" }),
            ("metadata_bytes", { "\($1.metadataBytes)" }), ("metadata_fixed_bytes", { "\($1.metadataFixedBytes)" }),
            ("metadata_bytes_per_resident", { "\($1.metadataBytesPerResident)" }),
            ("memory_hits", { $1.tiers.map { "\($0.memoryHits)" } ?? "" }),
            ("disk_hits", { $1.tiers.map { "\($0.diskHits)" } ?? "" }),
            ("mean_latency_ms", { $1.tiers.map { "\($0.meanLatency)" } ?? "" }),
            ("p99_latency_ms", { $1.tiers.map { "\($0.p99Latency)" } ?? "" }),
            ("halcyon_version", { report, _ in report.halcyonVersion }),
            ("clock_ns", { $1.timings.map { "\($0.clock)" } ?? "" }),
        ] + timingColumns("hit", \.hit) + timingColumns("miss", \.miss) + timingColumns("eviction", \.eviction) + [
            ("models", { $1.models?.rawValue ?? "" }), ("miss_cost", { $1.missCost.map { "\($0)" } ?? "" }),
        ] + prefetchColumns + [
            ("result_version", { report, _ in "\(report.resultVersion)" }),
            ("kernels", { $1.kernels?.name.rawValue ?? "" }),
            ("prefetch_kernels", { $1.prefetch?.kernels?.name.rawValue ?? "" }), ("by", { _, _ in "" }),
            ("name", { _, _ in "" }), ("refused_too_large", { "\($1.refusedTooLarge)" }),
            ("build_id", { report, _ in report.buildId }),
        ]
    }

    private static var prefetchColumns: [Column] {
        func column(_ name: String, _ value: @escaping (PrefetchResult) -> some CustomStringConvertible) -> Column {
            (name, { $1.prefetch.map { "\(value($0))" } ?? "" })
        }
        return [
            column("prefetch", \.policy), column("prefetch_budget", \.budget),
            column("object_hit_ratio_without", \.objectHitRatioWithout), column("prefetched", \.fetched),
            column("prefetched_used", \.used), column("precision", \.precision), column("coverage", \.coverage),
            column("pollution", \.pollution), column("timeliness", \.timeliness), column("wasted_share", \.wastedShare),
            column("planning_us", \.planningMicroseconds), column("hits_owed", \.hitsOwed),
            column("prefetched_late", \.late), column("fetched_size", \.fetchedSize),
            column("wasted_size", \.wastedSize), column("fetch_latency_us", \.fetchLatency),
            (
                "time_resolution_us",
                { _, run in run.prefetch?.timeResolution.map { "\($0)" } ?? "" }
            ),
            column("mean_wait_ms", \.meanLatency), column("p99_wait_ms", \.p99Latency),
            column("mean_wait_without_ms", \.meanLatencyWithout), column("p99_wait_without_ms", \.p99LatencyWithout),
        ]
    }

    private static func timingColumns(
        _ kind: String, _ times: @escaping (RunTimings) -> TimeDistribution
    ) -> [Column] {
        TimeDistribution.columns.map { column in
            ("\(kind)_\(column.name)", { $1.timings.map { column.value(times($0)) } ?? "" })
        }
    }

    private static func quoted(_ field: String) -> String {
        guard field.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return field }
        return "\"" + field.replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}
