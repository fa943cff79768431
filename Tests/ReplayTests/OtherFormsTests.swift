import HalcyonTestSupport
import Testing

@testable import HalcyonCommand

@Suite("Traces of other forms", .timeLimit(.minutes(20)))
struct OtherFormsTests {
    /// Lines of each form, and the requests that its line of awk must give.
    static let samples: [String: (lines: String, csv: String)] = [
        "SYSTOR '17": (
            "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,R,2,1024,1024\n1.6,0.1,W,2,0,512\n1.7,0.1,R,0,4398046511104,512\n",
            "time,key\n1.5,2-2\n1.5,2-3\n1.7,0-8589934592\n"
        ),
        "Tencent block": ("5,10,2,0,7\n6,10,2,1,7\n6,9999999999,1,0,8\n", "time,key\n5,7-10\n5,7-11\n6,8-9999999999\n"),
        "Alibaba block": (
            "3,R,4096,1024,1577808000000046\n3,W,0,4096,1577808000000050\n",
            "time,key\n1577808000.000046,3-8\n1577808000.000046,3-9\n"
        ),
        "K5cloud": ("4,10.5,R,512,512\n4,10.6,W,0,512\n4,10.7,R,0,700\n", "time,key\n10.5,4-1\n10.7,4-0\n10.7,4-1\n"),
        "Camelab": ("0 R 5 2\n0 w 9 1\n", "key\n5\n6\n"),
        "Microsoft enterprise": (
            "BeginHeader\n  DiskRead,  TimeStamp\nEndHeader\n"
                + "   DiskRead,  1, p (1), 2, 0x1, 0x0000200, 0x0001000, 90,  1, 0x0\n   DiskWrite,  1, p (1), 2, 0x1, 0x0, 0x1, 90, 1\n",
            "key\n1-0x0000200\n"
        ),
        "Baleen": (
            "# block_id io_offset io_size op_time op_name\n12 131072 131073 100.5 1 0 0 3 1\n12 0 5 101 3 0 0 3 1\n",
            "time,key\n100.5,12-1\n100.5,12-2\n"
        ),
        "Thesios": (
            "filename,file_offset,a,b,c,d,op_type,e,f,g,request_io_size_bytes\nx,4,,,,,READ,,,,9\nx,4,,,,,WRITE,,,,9\n",
            "key,size\nx-4,9\n"
        ),
        "WikiBench": (
            "1 1190146243.326 http://a/x,y -\n2 1190146243.327 http://a/z save\n",
            "time,key\n1190146243.326,\"http://a/x,y\"\n"
        ),
        "UMass YouTube": (
            "1.5 10.0.0.1 10.0.0.2 GETVIDEO abc&x=1,2 1.2.3.4\n1.6 a b OTHER c d\n", "time,key\n1.5,\"abc&x=1,2\"\n"
        ),
    ]

    @Test("Each line of awk in the help of convert reads its form")
    func linesOfAwkWork() throws {
        #expect(Set(Self.samples.keys) == Set(OtherForms.all.map(\.name)))
        let help = try Replay.run("convert", "--help", in: TemporaryFolder()).text
        for form in OtherForms.all {
            let folder = try TemporaryFolder()
            let sample = try #require(Self.samples[form.name])
            _ = try folder.file("trace", sample.lines)
            let outcome = try Replay.shell("awk \(form.awk) trace | replay convert - - \(form.options)", in: folder)
            #expect(outcome.text == sample.csv, "\(form.name): \(outcome.errors)")
            #expect(help.contains(form.name) && help.contains("\nawk \(form.awk)\n"), "\(form.name)")
        }
    }
}
