import Foundation
import HalcyonTestSupport
import Testing

/// Wrong arguments, and the sentence that they give, without `replay: `.
struct Mistake: CustomTestStringConvertible {
    let arguments: [String]
    let sentence: String

    init(_ arguments: String, _ sentence: String) {
        self.arguments = arguments.split(separator: " ").map { $0 == "''" ? "" : String($0) }
        self.sentence = sentence
    }

    var testDescription: String { arguments.joined(separator: " ") }
}

@Suite("Usage errors: one sentence, exit code 64", .timeLimit(.minutes(20)))
struct UsageTests {
    static let mistakes: [Mistake] = [
        Mistake("t.csv --only -p s3fifo", "There is no policy 's3fifo'; the nearest are s3-fifo, fifo, s4-fifo."),
        Mistake("t.csv --only -p arc(x=1)", "arc has no parameter 'x': it has none at all."),
        Mistake("t.csv --only -p clock(bits=9)", "clock cannot take bits=9: bits is a whole number from 1 to 8."),
        Mistake(
            "t.csv --only -p lru(",
            """
            'lru(' is not a policy: write a name, or name(parameter=value,parameter=value).
            """),
        Mistake(
            "t.csv -c 1X",
            """
            '1X' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000).
            """),
        Mistake(
            "t.csv -c 1,000",
            """
            '1,000' would be the capacities 1 and 000, because a comma separates capacities: write a number without separators \
            (1000), or with a power of 1000 (64k).
            """),
        Mistake(
            "t.csv -c 1_000",
            """
            '1_000' is not a capacity: write a number without separators (1000), or with a power of 1000 (64k).
            """),
        Mistake(
            "t.csv -c 1.0005k",
            "The capacity 1.0005k is not a whole number of objects or bytes: write a whole number (1000)."),
        Mistake("t.csv -c 0%", "'0%' is not a share: write a percentage above 0% and at most 100%."),
        Mistake("t.csv -c=-5", "A capacity cannot be negative, and '-5' is."),
        Mistake(
            "t.csv -c ''",
            """
            '' is not a capacity: write a share (1%), a size with a unit (64MB) or a whole number (1000).
            """),
        Mistake(
            "t.csv -c 9223372036854775807",
            """
            The capacity 9223372036854775807 is too large: the most is 9007199254740992 (9 PB).
            """),
        Mistake(
            "t.csv -c 1MB --sizes unit",
            """
            The capacity 1MB is in bytes, but in this trace every object counts 1: write a share (1%) or a number of \
            objects.
            """),
        Mistake(
            "t.csv --warmup 1.0",
            """
            '1.0' is no warm-up: a number with a point is a share below 1, and a number of requests is written without one.
            """),
        Mistake("t.csv --warmup 100%", "A warm-up of 100% leaves nothing to count: give less than 100%."),
        Mistake("t.csv --warmup=-0.1", "A warm-up cannot be negative, and '-0.1' is."),
        Mistake("t.csv --warmup=-5", "A warm-up cannot be negative, and '-5' is."),
        Mistake(
            "t.csv --warmup 5m",
            """
            '5m' is no warm-up: give a share (25% or 0.25), a number of requests (60000 or 60k) or a time (5d, 12h, 30min, 90s).
            """),
        Mistake(
            "t.csv --warmup nan",
            """
            'nan' is no warm-up: give a share (25% or 0.25), a number of requests (60000 or 60k) or a time (5d, 12h, 30min, 90s).
            """),
        Mistake(
            "t.csv --only -p lru -c 1KB --stream --warmup-trace t.csv",
            "--warmup-trace needs both traces in memory: leave out --stream or --warmup-trace."),
        Mistake("t.csv --windows 0", "--windows 0 is out of range: give 1 to 100000."),
        Mistake("t.csv --threads 0", "--threads 0 is too small: give at least 1."),
        Mistake("t.csv --limit 0", "--limit 0 leaves nothing: give at least 1."),
        Mistake("t.csv --skip=-1", "--skip -1 is negative: give 0 or more."),
        Mistake(
            "t.csv --only --prefetch crystal-ball",
            """
            There is no prefetch policy 'crystal-ball': give one of planner, lists, list-order, list-random, \
            list-newest, list-popular, list-last-opened, list-affinity, markov, markov-user, popular, category-popular, \
            visit-refill, mithril, announced, next-key, recorded, or none.
            """),
        Mistake(
            "t.csv --only --prefetch planner --prefetch-budget 2/hour",
            "Prefetch budget: 'hour' is not a period: write request, list, visit, minute, day or total."),
        Mistake(
            "t.csv --only --prefetch planner(price=2)",
            "planner cannot take price=2: price is a number from 0.0 to 1.0."),
        Mistake(
            "t.csv --only --prefetch-budget 2/request",
            "--prefetch-budget, --fetch-latency and --prefetch-model need --prefetch."),
        Mistake(
            "t.csv --only -p belady --prefetch planner",
            "belady knows the requests in advance, but not the prefetches: leave it out."),
        Mistake(
            "t.csv --only --prefetch markov --prefetch-model p.safetensors",
            "--prefetch-model needs --prefetch planner."),
        Mistake("t.csv --only -p learned(hidden=8,hidden=9)", "learned is given 'hidden' twice: give it once."),
        Mistake(
            "train t.csv -o m.safetensors -p learned(decider=heuristic)",
            "learned(decider=heuristic) trains no network: leave the decider out, or write network."),
        Mistake(
            "explain t.csv --capacity 0",
            """
            A cache of capacity 0 holds nothing: write a share (10%), a size with a unit (64MB) or a whole number from 1 (1000).
            """),
        Mistake(
            "t.csv --capacity 0.1",
            """
            '0.1' is not a capacity: write 10% for this share of all distinct objects, or a size with a unit (64MB) or a whole \
            number (1000).
            """),
        Mistake(
            "t.csv --capacity 1.5",
            """
            '1.5' is not a capacity: a bare number is a whole number of objects or bytes (1000); write a share (1%) or a size \
            with a unit (64MB) otherwise.
            """),
        Mistake(
            "t.csv --capacity 1%..10%",
            """
            '1%..10%' is not a range of capacities: write from..to:count with two shares, two sizes or two numbers and a count \
            from 2 to 1000 (0.1%..20%:10).
            """),
        Mistake("t.csv --seeds 0", "--seeds 0 is out of range: give 1 to 1000."),
        Mistake(
            "t.csv --sort-by colour",
            """
            --sort-by has no column 'colour': write hit-ratio, byte-hit-ratio, miss-ratio, byte-miss-ratio, miss-cost, \
            gap-closed, user-p10, user-p50, user-p90, memory, disk, mean-ms, p99-ms, refused, stale, evictions, speed, fixed, \
            per-resident, total.
            """),
        Mistake("t.csv --knowledge server", "--knowledge needs --per user."),
        Mistake(
            "t.csv --per user --prefetch popular --announce popular(count=1000000)",
            "count=1000000 is no number of entries of a list: give 1 to 10000."),
        Mistake(
            "t.csv --per user --prefetch announced",
            "announced fetches announced objects, and nothing is announced: add --per user and --announce 'popular(count=100, "
                + "every=1h)'."),
        Mistake(
            "t.csv --announce popular",
            "Announcements are sent to the prefetch policy of each user's device: add --per user and a --prefetch that "
                + "learns, with device knowledge, or leave --announce out."),
        Mistake(
            "t.csv --per user --models own",
            "There is no --models: give --knowledge device (one model a user) or --knowledge server."),
        Mistake(
            "t.csv --memory-expiration 5s",
            "--memory-expiration, --disk-expiration and --decoded-size-ratio need --tiers."),
        Mistake(
            "t.csv --tiers memory=1KB",
            """
            'memory=1KB' does not name two tiers: write memory=64MB,disk=1GB, each with a policy of its own if needed \
            (memory=64MB:lru).
            """),
        Mistake("t.csv --tiers memory=1KB,disk=1MB -c 5", "--tiers states the capacities: leave out --capacity."),
        Mistake(
            "t.csv --only -p lru -c 5 --stream --prefetch next-key",
            "next-key needs the keys of the whole trace in advance, and a stream has none."),
        Mistake(
            "t.csv --only -p lru -c 5 --stream --windows 4",
            "--windows divides the requests into equal parts, but their number is not known in a stream: leave it out."),
        Mistake(
            "t.csv --tiers memory=1KB,disk=1MB --memory-expiration 5",
            """
            '5' is not a duration: write a number with ms, s, min, h, d or w (300s).
            """),
        Mistake(
            "t.csv --tiers memory=1KB,disk=1MB --latency network=1e308",
            """
            'network=1e308' is not a latency: write memory=0.001,disk=10,network=150 (milliseconds) or bandwidth=5MB \
            (a second).
            """),
        Mistake(
            "t.csv --only -p belady --tiers memory=1KB,disk=1MB",
            """
            belady knows the future of one cache and cannot serve two tiers.
            """),
        Mistake(
            "t.csv --only -p belady -c 1KB --stream",
            """
            belady needs the whole trace in advance, and a stream has none.
            """),
        Mistake(
            "t.csv --only -p lru -c 1% --stream",
            """
            The capacity 1% is a share of the distinct objects, which are not known in advance in a stream: write a \
            number or a size.
            """),
        Mistake(
            "t.csv --only -p lru -c 1KB --stream --warmup 0.1",
            """
            The warm-up is a share of the requests, whose number is not known in a stream: give a number of requests (60000) or \
            a time (5d).
            """),
        Mistake(
            "t.csv --sizes big",
            """
            'big' is not a rule for sizes: write first, per-request, unit or lognormal:median=40KB,sigma=1.1.
            """),
        Mistake("t.csv --delimiter ab", "'ab' is not a delimiter: write one ASCII character, or tab."),
        Mistake(
            "t.csv --columns foo",
            """
            'foo' does not name a column: write key=…, time=…, size=…, category=…, user=…, event=…, \
            position=… or list=…, separated by commas.
            """),
        Mistake("t.csv --bogus", "Unknown option '--bogus'. See 'replay run --help'."),
        Mistake(
            "t.csv --format xml",
            """
            The value 'xml' is invalid for '--format <format>'. Please provide one of 'table', 'json', 'csv' or \
            'jsonl'. See 'replay run --help'.
            """),
        Mistake("curve t.csv --sample 0", "--sample 0 is not a share: give a number above 0 and at most 1."),
        Mistake("curve t.csv --sample 1e-12", "--sample selects none of the 114 objects: give a larger share."),
        Mistake("curve t.csv --points 1", "--points 1 is no curve: give at least 2, or 0 for every point of lru."),
        Mistake("curve t.csv --maximum-objects 5", "--maximum-objects needs --sample and at least 1."),
        Mistake("inspect t.csv --top=-1", "--top -1 is negative: give 0 or more."),
        Mistake(
            "hypothesis t.csv --per shared --knowledge device",
            "--knowledge needs per-user caches: leave out --per shared."),
        Mistake("policies nope", "There is no policy 'nope'; the nearest are size, clock, sieve."),
        Mistake(
            "generate nope",
            """
            There is no model 'nope': write one of shop, feed, uniform-categories, million-users, informative, \
            uninformative, harmless, zipf, loop, loop-block, loop-key-value, scan, lists, kinds.
            """),
        Mistake("generate zipf --set nope=1", "There is no parameter 'nope': this model has alpha, objects, requests."),
        Mistake("generate zipf --set requests", "'requests' does not set a parameter: write name=value."),
        Mistake("generate zipf --set requests=many", "requests is many; it must be a number."),
        Mistake("generate zipf --set requests=1.5", "requests is 1.5; it must be a whole number."),
        Mistake("generate zipf --set requests=0", "requests is 0; it must be a whole number from 1 to 4294967294."),
        Mistake(
            "generate zipf -o x.foo",
            """
            The name 'x.foo' does not imply a format: end it in .csv or .oracleGeneral, optionally followed by .gz or \
            .zst.
            """),
        Mistake("convert t.csv x.vscsi", "Traces are written as csv or oracleGeneral, not as vscsi."),
        Mistake("convert t.csv x.csv --limit 0", "--limit 0 leaves nothing: give at least 1."),
    ]

    @Test("Invalid options give exit code 64, one sentence and no file", arguments: mistakes)
    func invalidOptionsExitWith64AndOneSentence(_ mistake: Mistake) throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace().csv)
        let outcome = try Replay.run(mistake.arguments, in: folder)
        #expect((outcome.code, outcome.text, outcome.errors) == (64, "", "replay: \(mistake.sentence)\n"))
        #expect(folder.contents == ["t.csv"])
    }

    @Test("Without LightGBM a policy that needs it is refused in one sentence and still listed")
    func policyWithoutLightGBMIsRefusedAndListed() throws {
        let folder = try TemporaryFolder()
        _ = try folder.file("t.csv", SampleTrace().csv)
        let environment = ["HALCYON_LIGHTGBM": "/nowhere/lib_lightgbm.so"]
        for arguments in [["t.csv", "--only", "-p", "3l-cache"], ["curve", "t.csv", "-p", "3l-cache"]] {
            let outcome = try Replay.run(arguments, in: folder, environment: environment)
            #expect(outcome.code == 64 && outcome.text.isEmpty)
            #expect(outcome.errors.hasPrefix("replay: 3l-cache needs LightGBM: LightGBM cannot be loaded (/nowhere/"))
            #expect(
                outcome.errors.hasSuffix(
                    """
                    : 'pip install lightgbm' installs it; HALCYON_LIGHTGBM names a library elsewhere, 3.3 or later.

                    """))
        }
        let listed = try Replay.run(["policies", "3l-cache"], in: folder, environment: environment)
        #expect(listed.code == 0 && listed.text.contains("\n    batch=65536: "))
    }

    @Test("Help and version succeed; without an argument the help is an error")
    func helpAndVersionSucceedAndNoArgumentShowsHelp() throws {
        let folder = try TemporaryFolder()
        for arguments in [["--help"], ["run", "--help"], ["help", "curve"], ["--version"]] {
            let outcome = try Replay.run(arguments, in: folder)
            #expect((outcome.code, outcome.errors) == (0, ""))
            #expect(!outcome.text.isEmpty)
        }
        let bare = try Replay.run([], in: folder)
        #expect((bare.code, bare.text) == (64, ""))
        #expect(bare.errors.contains("USAGE: replay <trace>"))
    }
}
