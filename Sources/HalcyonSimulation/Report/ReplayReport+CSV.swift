import Foundation

extension ReplayReport {
    /// Returns the report as CSV: a header, then one row per run, each followed by one row per category and user if they
    /// are counted.
    public func csv() -> Data { Self.csv([self]) }

    /// Returns several reports as one CSV.
    package static func csv(_ reports: [ReplayReport]) -> Data {
        let lines = [columns.map(\.name)] + reports.flatMap(\.rows).map { $0.map(\.asCSVField) }
        return Data(lines.map { $0.joined(separator: ",") + "\n" }.joined().utf8)
    }

    /// Returns the rows of the CSV as one flat JSON object per line: the same names, in the same order. Empty fields
    /// are null, and counts and ratios are numbers.
    public func jsonLines() throws -> Data {
        let columns = Self.columns
        return Data(
            try rows.map { row in
                let fields = try zip(columns, row).map { column, field in
                    let name = "\"\(column.name)\":"
                    if Self.texts.contains(column.name) {
                        return name
                            + (field.isEmpty ? "null" : String(decoding: try JSONReport.compact(field), as: UTF8.self))
                    }
                    // No number of a report is infinite, but JSON would have no word for it.
                    return name + (Double(field)?.isFinite == true ? field : "null")
                }
                return "{" + fields.joined(separator: ",") + "}\n"
            }.joined().utf8)
    }

    /// The fields of each row: one for each run, followed by those of its categories and users.
    private var rows: [[String]] {
        let columns = Self.columns
        return runs.flatMap { run in
            [columns.map { $0.value(self, run) }]
                + (run.breakdown ?? []).map { part in
                    columns.map { column in
                        Self.field(column.name, of: part)
                            ?? (Self.identity.contains(column.name) ? column.value(self, run) : "")
                    }
                }
        }
    }

    /// The columns that are texts; all others are numbers.
    private static let texts: Set = [
        "trace", "fingerprint", "mode", "policy", "label", "capacity_asked", "capacity_unit", "halcyon_version",
        "knowledge", "prefetch", "prefetch_budget", "kernels", "prefetch_kernels", "by", "name", "build_id",
        "announcements", "pretrain", "restart",
    ]

    /// The columns that a row of a category or a user shares with its run.
    private static let identity: Set = [
        "trace", "fingerprint", "mode", "policy", "label", "capacity", "capacity_asked", "capacity_unit", "caches",
        "warmup_requests", "seed", "halcyon_version", "knowledge", "result_version", "build_id", "kernels", "prefetch",
        "prefetch_budget", "fetch_latency_us", "prefetch_kernels", "announcements", "pretrain", "restart",
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
            ("knowledge", { $1.knowledge?.rawValue ?? "" }), ("miss_cost", { $1.missCost.map { "\($0)" } ?? "" }),
        ] + prefetchColumns + [
            ("result_version", { report, _ in "\(report.resultVersion)" }),
            ("kernels", { $1.kernels?.name.rawValue ?? "" }),
            ("prefetch_kernels", { $1.prefetch?.kernels?.name.rawValue ?? "" }), ("by", { _, _ in "" }),
            ("name", { _, _ in "" }), ("refused_too_large", { "\($1.refusedTooLarge)" }),
            ("build_id", { report, _ in report.buildId }),
            ("device_mean_bytes", { $1.deviceMetadata.map { "\($0.meanBytes)" } ?? "" }),
            ("device_largest_bytes", { $1.deviceMetadata.map { "\($0.largestBytes)" } ?? "" }),
            ("pretrain", { $1.pretrain ?? "" }),
            ("restart", { $1.restart ?? "" }),
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
            column("traffic", \.traffic),
            ("announcements", { $1.prefetch?.announcements?.announcements ?? "" }),
            ("announced_lists", { $1.prefetch?.announcements.map { "\($0.lists)" } ?? "" }),
            ("announced_entries", { $1.prefetch?.announcements.map { "\($0.entries)" } ?? "" }),
            ("announced_bytes", { $1.prefetch?.announcements.map { "\($0.bytes)" } ?? "" }),
            ("lists", { $1.prefetch?.lists.map { "\($0.lists)" } ?? "" }),
            ("list_items", { $1.prefetch?.lists.map { "\($0.items)" } ?? "" }),
            ("list_fetched", { $1.prefetch?.lists.map { "\($0.fetched)" } ?? "" }),
            ("list_openings", { $1.prefetch?.lists.map { "\($0.openings)" } ?? "" }),
            ("list_hits", { $1.prefetch?.lists.map { "\($0.hits)" } ?? "" }),
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
}

extension String {
    /// The text as a field of CSV, quoted if necessary.
    package var asCSVField: String {
        guard contains(where: { $0 == "," || $0 == "\"" || $0.isNewline }) else { return self }
        return "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\""
    }
}
