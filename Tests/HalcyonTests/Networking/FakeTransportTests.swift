import Foundation
import Halcyon
import Testing

@testable import HalcyonCurl
@testable import HalcyonNetworking

@Suite("Fake transport", .timeLimit(.minutes(20)))
struct FakeTransportTests {
    /// A load has joined before its transfer starts. An answer that was dropped then let a busy machine's tests wait for ever.
    @Test("an answer, and an error, that come before the transfer starts are kept for it")
    func early() async throws {
        let transport = FakeTransport()
        let downloader = ImageDownloader.test(transport)
        transport.answer("a", Data([7]))
        #expect(try await downloader.download(fake("a")).value == Data([7]))
        transport.fail("a", .timedOut(.idle))
        #expect(await networkError { try await downloader.download(fake("a")) } == .timedOut(.idle))
        #expect(transport.calls == [.start("a", .normal), .start("a", .normal)])
    }
}
