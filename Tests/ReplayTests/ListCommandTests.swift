import Foundation
import HalcyonTestSupport
import Testing

@Suite("Lists of what was shown", .timeLimit(.minutes(20)))
struct ListCommandTests {
    private let folder: TemporaryFolder
    private static let feed = """
        time,user,key,event
        10,u,a,shown
        10,u,b,shown
        10,u,b,opened
        11,v,a,request
        20,u,c,shown
        25,u,c,opened
        26,u,b,opened

        """

    init() throws {
        folder = try TemporaryFolder()
        _ = try folder.file("t.csv", Self.feed)
    }

    @Test("An opening at the time of its list comes 2 s later, and a note says so")
    func openingsAtTheTimeOfTheirListAreDelayed() throws {
        let note = "Openings at their list's time are taken to come 2 s later (--open-delay): 1."
        for per in [[], ["--per", "user"]] {
            let run = try Replay.run(["t.csv", "--policy", "lru", "--capacity", "1"] + per, in: folder)
            #expect(run.code == 0 && run.text.contains(note), "\(run.errors)\(run.text)")
        }
        let json = try Replay.run("t.csv", "--policy", "lru", "--capacity", "1", "--format", "json", in: folder)
        #expect(json.text.contains(note))
        for delay in ["0", "500ms"] {
            let run = try Replay.run("t.csv", "--policy", "lru", "-c", "1", "--open-delay", delay, in: folder)
            #expect(run.code == 0 && run.text.contains("500 ms later") == (delay == "500ms"))
            #expect(!run.text.contains(note))
        }
        let wrong = try Replay.run("t.csv", "--policy", "lru", "-c", "1", "--open-delay", "soon", in: folder)
        #expect(wrong.code == 64 && wrong.errors.contains("'soon'"), "\(wrong.errors)")
    }

    @Test("inspect describes lists, convert keeps them, and what leaves them out says so")
    func listsAreDescribedAndConverted() throws {
        let inspection = try Replay.run("inspect", "t.csv", in: folder)
        #expect(inspection.text.contains("2 with 3 items (median 1, at most 2), 3 objects, 0 never requested\n"))
        // b was opened at the time of its list, c after 5 s.
        #expect(inspection.text.contains(", 50.00 % at the time of the list\n"), "\(inspection.text)")
        let converted = try Replay.run("convert", "t.csv", "out.csv", in: folder)
        #expect(
            converted.code == 0 && converted.errors.contains("4 requests, 3 objects, 2 users, 2 lists"),
            "\(converted.errors)")
        let text = try String(contentsOfFile: folder.path + "/out.csv", encoding: .utf8)
        let rows = [
            "time,key,user,event", "10,a,u,shown", "10,b,u,shown", "10,b,u,request", "11,a,v,request", "20,c,u,shown",
            "25,c,u,request", "26,b,u,request",
        ]
        #expect(text == rows.map { $0 + "\n" }.joined())
        let binary = try Replay.run("convert", "t.csv", "out.oracleGeneral", in: folder)
        #expect(
            binary.code == 0 && (binary.text + binary.errors).contains("2 lists of what was shown"), "\(binary.errors)")
        let stream = try Replay.run("t.csv", "--policy", "lru", "--capacity", "1", "--stream", in: folder)
        #expect(stream.code == 0, "\(stream.errors)")
        #expect(
            stream.text.contains("3 rows of what was shown left out: a stream has no lists; load the trace for them."))
    }

    @Test("A thumbnail is an object of its own: it takes its room, and no count of openings has it")
    func thumbnailsAreObjectsOfTheirOwn() throws {
        _ = try folder.file(
            "thumbnails.csv",
            """
            time,user,key,size,event
            10,u,a,100,shown
            10,u,b,100,shown
            10,u,a.small,10,request
            10,u,b.small,10,request
            14,u,a,100,opened
            20,u,a,100,shown
            20,u,b,100,shown
            20,u,a.small,10,request
            20,u,b.small,10,request
            24,u,b,100,opened

            """)
        let options = ["--prefetch", "list-order", "--prefetch-budget", "1/list", "--fetch-latency", "1s"]
        func run(_ capacity: String) throws -> String {
            let run = try Replay.run(
                ["thumbnails.csv", "--policy", "lru", "--only", "--per", "user", "--capacity", capacity] + options,
                in: folder)
            #expect(run.code == 0, "\(run.errors)")
            return run.text
        }
        // a and b are fetched, one of each list; of four loads of thumbnails the second two are hits.
        let all = try run("220B")
        #expect(
            all.contains("2 openings, 100.00 % of them hits") && all.contains("lru + list-order    66.67 %"), "\(all)")
        // Without room for thumbnails beside both pictures, something leaves.
        let few = try run("110B")
        #expect(few.contains("2 openings, 100.00 % of them hits") && !few.contains("66.67 %"), "\(few)")
    }

    @Test("A policy that plans on lists refuses a stream")
    func streamsHaveNoListsToPlanOn() throws {
        let run = try Replay.run(
            "t.csv", "--policy", "lru", "--capacity", "1", "--prefetch", "lists", "--stream", in: folder)
        #expect(run.code == 64)
        #expect(run.errors.contains("--prefetch lists plans on lists, and a stream has none: leave out --stream."))
    }

    @Test("An unknown event is one sentence with line and column")
    func unknownEventsAreRefused() throws {
        _ = try folder.file("bad.csv", Self.feed.replacing("11,v,a,request", with: "11,v,a,view"))
        let run = try Replay.run("bad.csv", "--policy", "lru", "--capacity", "1", in: folder)
        #expect(run.code == 65)
        #expect(
            run.errors.contains(
                "bad.csv:5:8: 'view' is not an event; request, opened (a synonym) and shown are accepted"))
    }

    @Test("generate makes feeds and kinds", arguments: ["lists", "kinds"])
    func generatedTracesAreReplayed(model: String) throws {
        let size = model == "lists" ? "lists=500" : "requests=500"
        let made = try Replay.run("generate", model, "--set", size, "--output", "g.csv", in: folder)
        #expect(made.code == 0, "\(made.errors)")
        let run = try Replay.run("g.csv", "--policy", "lru", "--capacity", "10%", "--per", "user", in: folder)
        #expect(run.code == 0, "\(run.errors)")
        let inspection = try Replay.run("inspect", "g.csv", in: folder)
        #expect(inspection.text.contains(model == "lists" ? "500 with 6,000 items" : "reuse rates"))
    }
}
