import Foundation
import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct ColumnUseTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func use(_ text: String, _ options: TraceLoadOptions = TraceLoadOptions(), name: String = "t.csv") throws
        -> ColumnUse
    {
        let path = try folder.file(name, text)
        let loaded = try Trace.load(path, options).report.columns
        var stream = try TraceStream(path, options)
        var batch = StreamBatch()
        while try stream.next(into: &batch) {}
        #expect(stream.report.columns == loaded)
        return loaded
    }

    @Test func usedAndUnusedColumnsAreReported() throws {
        let usual = try use("Timestamp,obj_id,size,tags,user_id\n1,a,2,c,u\n")
        #expect(usual.used.map(\.role) == [.time, .key, .size, .category, .user])
        #expect(usual.used.map(\.name) == ["Timestamp", "obj_id", "size", "tags", "user_id"])
        #expect(usual.unused.isEmpty && usual.isAsUsual)
        let extra = try use("genre,key,,size\nx,a,b,1\n")
        #expect(extra.used.map(\.name) == ["key", "size"])
        #expect(extra.unused == ["genre", ""] && !extra.isAsUsual)
        let named = try use("when,item\n1,a\n", .with { $0.columns = ColumnNames(key: "item", time: "when") })
        #expect(named.used.map(\.name) == ["when", "item"] && named.unused.isEmpty && !named.isAsUsual)
        let twitter = try use("1,k,1,2,c,get,0\n", name: "t.twitter")
        #expect(twitter == ColumnUse())
    }

    /// A row number beside the key must not become the key because its column comes first in a list of names.
    @Test(arguments: [
        ("id,user_id,obj_id,size", "key", ["id", "obj_id"]), ("Timestamp,key,time", "time", ["Timestamp", "time"]),
        ("key,size,OBJ_SIZE,bytes", "size", ["size", "OBJ_SIZE", "bytes"]),
        ("key,tags,category", "category", ["tags", "category"]),
        ("client,key,user", "user", ["client", "user"]),
    ])
    func twoUsualNamesOfOneRoleAreRefused(_ header: String, _ role: String, _ names: [String]) throws {
        let row = header.split(separator: ",").map { _ in "1" }.joined(separator: ",")
        let text = "\(header)\n\(row)\n"
        #expect(
            fault(try folder.file("t.csv", text))
                == "t.csv:1: the columns \(names.map { "'\($0)'" }.joined(separator: " and ")) can all be the \(role), and one is "
                + "needed: write \(names.map { "--columns \(role)=\($0)" }.joined(separator: " or "))")
        for name in names {
            let chosen = try use(text, .with { $0.columns = try! ColumnNames(parsing: "\(role)=\(name)") })
            #expect(chosen.used.first { $0.role.rawValue == role }?.name == name)
            #expect(Set(chosen.unused).isSuperset(of: Set(names).subtracting([name])))
        }
    }

    /// A column that is named for another role does not count as one with a usual name.
    @Test func aNamedColumnIsNoCandidateForAnotherRole() throws {
        let named = try use("id,obj_id\n1,a\n", .with { $0.columns = ColumnNames(user: "id") })
        #expect(named.used.map(\.name) == ["obj_id", "id"] && named.used.map(\.role) == [.key, .user])
    }

    @Test func columnNamesAreParsed() throws {
        #expect(
            try ColumnNames(parsing: "key=a,time=b,size=c,category=d,user=e=f")
                == ColumnNames(key: "a", time: "b", size: "c", category: "d", user: "e=f"))
        for text in ["", "key", "key=", "=a", "key=a,", "colour=b", "key=a,key=b"] {
            #expect(throws: ColumnNames.Fault.self, "\(text)") { try ColumnNames(parsing: text) }
        }
    }

    @Test func lossesOfAFormatAreListed() throws {
        func losses(_ text: String, _ options: TraceLoadOptions = .with { $0.names = .all }, in format: TraceFormat)
            throws
            -> [String]
        {
            TraceWriter.losses(of: try Trace.load(folder.file("t.csv", text), options), in: format)
        }
        let full = "time,key,size,category,user\n1.5,a,1,c|d,u\n2,7,2,c,v\n3.25,a,5,c,u\n"
        #expect(
            try losses(full, in: .oracleGeneral) == [
                "2 categories", "2 users", "the text of 1 key (a number instead)",
                "the fractions of a second in 2 times",
                "the size of 1 request whose object had another size before (--sizes per-request keeps it)",
            ])
        #expect(try losses(full, in: .csv).count == 1)
        let each = TraceLoadOptions.with {
            $0.names = .all
            $0.sizes = .perRequest
        }
        #expect(try losses(full, each, in: .csv).isEmpty)
        #expect(try losses("time,key,size\n1,7,1\n2,8,2\n", in: .oracleGeneral).isEmpty)
        #expect(try losses("key\n7\n", in: .oracleGeneral).isEmpty)
        let unit = TraceLoadOptions.with {
            $0.names = .all
            $0.sizes = .unit
        }
        #expect(try losses("key,size\n7,5\n", unit, in: .csv) == ["the sizes (--sizes unit)"])
    }
}
