import HalcyonTestSupport
import Testing

@testable import HalcyonTrace

@Suite(.timeLimit(.minutes(20))) struct CSVLoadTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func load(_ text: String, _ options: TraceLoadOptions = .with { $0.names = .all }, name: String = "t.csv") throws
        -> Trace
    {
        try Trace.load(folder.file(name, text), options)
    }

    @Test func columnsAreReadInAnyOrder() throws {
        let trace = try load("user,size,key,category,time\nu1,10,a,x|y,1\n,20,b,,2\nu2,10,a,x|y,2.5\n")
        #expect(trace.entries == [0, 1, 0])
        #expect(Array(trace.times) == [1_000_000, 2_000_000, 2_500_000])
        #expect(trace.users == [0, Trace.noUser, 1])
        #expect(trace.objectSizes == [10, 20])
        #expect(trace.sizeUnit == .bytes)
        #expect(trace.objectCategories == [1, 0])
        #expect(Array(trace.categorySets[1]) == [0, 1])
        #expect(trace.categoryCount == 2)
        #expect(trace.userCount == 2)
        #expect(trace.requestCategories.isEmpty)
        #expect(trace.requestSizes.isEmpty)
        #expect((0..<2).map { trace.names.keys[$0] } == ["a", "b"])
        #expect((0..<2).map { trace.names.users[$0] } == ["u1", "u2"])
        #expect((0..<2).map { trace.names.categories[$0] } == ["x", "y"])
    }

    @Test func keyColumnAloneIsEnough() throws {
        let trace = try load("key\n7\n007\n7\n")
        #expect(trace.entries == [0, 1, 0])
        #expect(trace.names.keys.count == 2)
        #expect(trace.names.keys[1] == "007")
        #expect(Array(trace.times) == [0, 1_000_000, 2_000_000])
        #expect(trace.report.noTimes)
        #expect(trace.report.noSizes)
        #expect(trace.objectSizes == [1, 1])
        #expect(trace.sizeUnit == .objects)
    }

    @Test func quotesCarriageReturnsAndByteOrderMarkAreRead() throws {
        let trace = try load("\u{feff}\"key\",time\r\n\"a,b\",1\r\n\"say \"\"hi\"\"\",2\r\n\"12\",3\r\n12,4")
        #expect(trace.entries == [0, 1, 2, 2])
        #expect(trace.names.keys[0] == "a,b")
        #expect(trace.names.keys[1] == "say \"hi\"")
    }

    @Test func delimiterColumnNamesAndTimeUnitCanBeSet() throws {
        let options = TraceLoadOptions.with {
            $0.delimiter = UInt8(ascii: ";")
            $0.columns = ColumnNames(key: "Picture", time: "when")
            $0.timeUnit = .milliseconds
        }
        let trace = try load("when;picture\n1000;a\n1000.25;a\n", options)
        #expect(Array(trace.times) == [1_000_000, 1_000_250])
        #expect(try Array(load("key\ttime\na\t5\n", name: "t.tsv").times) == [5_000_000])
    }

    @Test func disagreeingSizesFollowTheSizeRule() throws {
        let text = "key,size\na,10\nb,0\na,12\nb,5\na,0\n"
        let first = try load(text)
        #expect(first.objectSizes == [10, 1])
        #expect(first.requestSizes.isEmpty)
        #expect(first.report.sizeDisagreements == 2)
        #expect(first.report.unknownSizes == 1)
        let each = try load(text, .with { $0.sizes = .perRequest })
        #expect(each.requestSizes == [10, 1, 12, 5, 10])
        let unit = try load(text, .with { $0.sizes = .unit })
        #expect(unit.objectSizes == [1, 1])
        #expect(unit.sizeUnit == .objects)
    }

    @Test func changingCategoriesAreKeptPerRequest() throws {
        let trace = try load("key,category\na,x\nb,y\na,y|x\n")
        #expect(trace.objectCategories == [1, 2])
        #expect(trace.requestCategories == [1, 2, 3])
        #expect(Array(trace.categorySets[3]) == [1, 0])
    }
}
