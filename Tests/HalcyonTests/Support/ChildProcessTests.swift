import Foundation
import HalcyonTestSupport
import Testing

@Suite("Children of the tests", .timeLimit(.minutes(20)))
struct ChildProcessTests {
    @Test("a child ends as it ends, gets what it is given and says what it says")
    func streams() async throws {
        let folder = try TemporaryFolder()
        let said = try folder.file("said", "from a file\n")
        let child = try ChildProcess(
            "/bin/sh", ["-c", "cat; pwd >&2; echo \"$A\"; exit 7"], in: folder.path, environment: ["A": "b c"],
            input: .file(said), output: .pipe, errors: .file(try folder.file("errors", "")))
        #expect(await child.output() == Data("from a file\nb c\n".utf8))
        #expect(await child.ended() == .exited(7))
        #expect(child.wait() == .exited(7))
        #expect(!child.isRunning)
        let errors = try String(contentsOfFile: folder.path + "/errors", encoding: .utf8)
        #expect(errors.hasSuffix("\(URL(fileURLWithPath: folder.path).lastPathComponent)\n"))

        let cat = try ChildProcess("/bin/cat", input: .pipe, output: .nothing)
        #expect(cat.isRunning)
        cat.closeInput()
        #expect(await cat.ended() == .exited(0))
        let killed = try ChildProcess("/bin/cat", input: .pipe)
        killed.signal(SIGTERM)
        #expect(await killed.ended() == .killed(by: SIGTERM))
        #expect(throws: POSIXError.self) { try ChildProcess("/nowhere/at-all") }
    }

    #if os(Linux)
        /// From Foundation's `Process` one child of some hundred gets what another thread opened between its look at the descriptors and
        /// the fork, on a busy machine.
        @Test("a child holds its three streams and nothing else, whatever other threads open while it starts")
        func inheritance() async throws {
            let opener = Thread {
                var kept: [Int32] = []
                while !Thread.current.isCancelled {
                    var ends: [Int32] = [-1, -1]
                    guard pipe(&ends) == 0 else { break }
                    kept += ends
                    if kept.count >= 40 {
                        for descriptor in kept { close(descriptor) }
                        kept = []
                        usleep(300)
                    }
                }
                for descriptor in kept { close(descriptor) }
            }
            opener.start()
            defer { opener.cancel() }
            for _ in 0..<20 {
                // The fourth is what it reads the folder by.
                let child = try ChildProcess("/bin/ls", ["/proc/self/fd"], output: .pipe, errors: .nothing)
                #expect(await child.output() == Data("0\n1\n2\n3\n".utf8))
                #expect(await child.ended() == .exited(0))
            }
        }
    #endif
}
