import Foundation
import Halcyon
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Fake transport", .timeLimit(.minutes(20)))
struct FakeTransportTests {
    /// A load joins before its transfer starts. Without this, tests on a busy machine waited forever for a dropped
    /// answer.
    @Test("An answer or error given before its transfer starts is kept for it")
    func earlyAnswerIsKeptForTransfer() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        transport.answer("a", Data([7]))
        #expect(try await downloader.download(fake("a")).value == Data([7]))
        transport.fail("a", .timedOut(.idle))
        #expect(await networkError { try await downloader.download(fake("a")) } == .timedOut(.idle))
        #expect(transport.calls == [.start("a", .normal), .start("a", .normal)])
    }
}
