import Foundation
import HalcyonTestSupport
import Testing

@Suite("Child processes of the tests", .timeLimit(.minutes(20)))
struct ChildProcessTests {
    @Test("A child gets its streams, arguments, folder and environment, and its status is reported")
    func childGetsStreamsAndReportsStatus() async throws {
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
        /// With Foundation's `Process`, one of some hundred children on a busy machine inherited a descriptor that
        /// another thread opened before the fork.
        @Test("A child inherits only its three streams, whatever other threads open meanwhile")
        func childInheritsThreeDescriptors() async throws {
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
                // The fourth descriptor is the one that reads the folder.
                let child = try ChildProcess("/bin/ls", ["/proc/self/fd"], output: .pipe, errors: .nothing)
                #expect(await child.output() == Data("0\n1\n2\n3\n".utf8))
                #expect(await child.ended() == .exited(0))
            }
        }
    #endif
}
