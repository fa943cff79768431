import Foundation
import Halcyon
import HalcyonTestSupport
import Testing

@testable import HalcyonCache
@testable import HalcyonNetworking
@testable import HalcyonPipeline

/// `data:` URLs (RFC 2397) are images.
@Suite("Manager: data URLs", .timeLimit(.minutes(20)))
struct DataURLTests {
    /// Bytes as RFC 2397 writes them without base64: unreserved characters as they are, others escaped.
    private func escaped(_ bytes: Data) -> String {
        bytes.map { byte in
            let scalar = UnicodeScalar(byte)
            let isPlain =
                byte < 0x80 && (CharacterSet.alphanumerics.contains(scalar) || "-_.~".unicodeScalars.contains(scalar))
            return isPlain ? String(scalar) : String(format: "%%%02X", byte)
        }.joined()
    }

    @Test("Base64 and percent escapes, with and without a media type, parameters, padding or escapes, give the picture")
    func everyFormGivesThePicture() async throws {
        let sample = try EncodedPicture()
        let base64 = sample.file.base64EncodedString()
        #expect(base64.hasSuffix("="), "the padding is tried")
        let texts = [
            "data:image/png;base64,\(base64)", "data:;base64,\(base64)", "DATA:image/png;BASE64,\(base64)",
            "data:image/png;base64,\(base64.prefix { $0 != "=" })",
            "data:image/png;base64,\(base64.replacingOccurrences(of: "=", with: "%3D"))",
            "data:image/png;base64,\(base64.prefix(40))%0A%20\(base64.dropFirst(40).replacingOccurrences(of: "+", with: "%2B"))",
            "data:image/jpeg;name=a.jpg;base64,\(base64)#part", "data:image/png,\(escaped(sample.file))",
            "data:,\(escaped(sample.file).withLowercasedEscapes())",
            "data:text/plain;charset=utf-8,\(escaped(sample.file))",
        ]
        for text in texts {
            let fixture = try ManagerFixture()
            let url = try #require(URL(string: text))
            for source in [Source(url), .network(url)] {
                let result = try await fixture.manager.image(
                    for: source, options: ImageOptions { $0.forceRefresh = true })
                #expect(result.image == sample.picture && result.cacheType == .none, "\(text.prefix(60))")
            }
            #expect(try await fixture.manager.image(for: url).cacheType == .memory)
            #expect(fixture.manager.imageInMemory(for: Resource(url))?.image == sample.picture)
        }
    }

    @Test("A prefetch makes the variant of a data URL in memory, and no file of the URL, where originals are kept")
    func prefetchedDataURLIsNoFile() async throws {
        let fixture = try ManagerFixture(FakeTransport())
        let sample = try EncodedPicture()
        let text = "data:image/png;base64,\(sample.file.base64EncodedString())"
        let small = DownsamplingImageProcessor(size: PixelSize(width: 4, height: 4))
        let options = ImageOptions { ($0.processor, $0.diskPolicy) = (small, .originals) }
        let resource = Resource(try #require(URL(string: text)))
        _ = try await fixture.manager.prefetch(resource, options, toMemory: false)
        await fixture.settle()
        #expect(fixture.cache.diskStorage?.totalSize == 0)
        #expect(fixture.manager.imageInMemory(for: resource, options: options) != nil)
    }

    @Test("The picture of a data URL is no file; what a processor makes of it is one, without the original")
    func onlyVariantsAreFiles() async throws {
        let sample = try EncodedPicture()
        let fixture = try ManagerFixture()
        let url = try #require(URL(string: "data:;base64," + sample.file.base64EncodedString()))
        let options = ImageOptions {
            $0.waitForCache = true
            $0.cacheOriginalImage = true
        }
        _ = try await fixture.manager.image(for: url, options: options)
        await fixture.settle()
        #expect(fixture.cache.statistics.disk.stores == 0 && fixture.cache.statistics.memory.stores == 1)
        var mono = options
        mono.processor = BlackWhiteImageProcessor()
        let made = try await fixture.manager.image(for: url, options: mono)
        #expect(try made.image == BlackWhiteImageProcessor().process(sample.picture))
        await fixture.settle()
        #expect(fixture.cache.statistics.disk.stores == 1 && fixture.cache.statistics.disk.count == 1)
        fixture.cache.clearMemoryCache()
        #expect(
            try await fixture.manager.image(for: url, options: ImageOptions(processor: BlackWhiteImageProcessor()))
                .cacheType == .disk)
        #expect(try await fixture.manager.image(for: url).cacheType == .none)
    }

    @Test("The key of a data URL is its SHA-256, in the cache, in the log and in errors; an app's own key is kept")
    func keyIsAHashOfTheURL() async throws {
        let fixture = try ManagerFixture()
        // Recorded with Python: hashlib.sha256(b"data:,hello").hexdigest()
        let url = try #require(URL(string: "data:,hello"))
        let key = "data:sha256:06c84f230c1ff90bd6aa50ec631cf556ca2a6da0cd6ff07ce61acecd5afb2012"
        #expect(Source(url).cacheKey == key && Source.network(url).cacheKey == key && Resource(url).cacheKey == key)
        #expect(
            Source(url, cacheKey: "mine").cacheKey == "mine" && Source(url).url == nil && Source.network(url).url == nil
        )
        let huge = try #require(URL(string: "data:image/png;base64," + String(repeating: "QUJD", count: 300_000)))
        #expect(Source(huge).cacheKey.utf8.count == 76)
        var options = ImageOptions()
        options.alternativeSources = [.network(huge)]
        let error = try #require(await failure { try await fixture.manager.image(for: url, options: options) })
        #expect("\(error)".utf8.count < 600 && "\(error)".contains(key))
        #expect(fixture.recorder.all.map(\.key).allSatisfy { $0.utf8.count == 76 } && fixture.recorder.all.count == 2)
    }

    @Test(
        "A malformed data URL is one sentence that says what is accepted",
        arguments: [
            ("data:image/png;base64", "it has no comma before its content"),
            ("data:", "it has no comma before its content"),
            ("data:;base64,QUJDR", "its content is not base64, as ';base64' says"),
            ("data:;base64,QU!D", "its content is not base64, as ';base64' says"),
            ("data:;base64,Q=JD", "its content is not base64, as ';base64' says"),
        ])
    func malformedURLIsOneSentence(text: String, reason: String) async throws {
        let fixture = try ManagerFixture()
        let url = try #require(URL(string: text))
        let error = try #require(await failure { try await fixture.manager.image(for: url) })
        #expect("\(error)" == "The data URL cannot be read: \(reason); 'data:[type][;base64],content' is accepted.")
    }

    @Test("A picture that is none, and content longer than a body may be, are errors")
    func contentIsBoundedAndDecoded() async throws {
        let sample = try EncodedPicture()
        let size = sample.file.count
        let fixture = try ManagerFixture()
        func manager(_ limit: Int) -> HalcyonManager {
            let downloader = ImageDownloader.test {
                $0.request = { .test($0) { $0.limits.responseBytes = limit } }
            }
            return HalcyonManager(cache: fixture.cache, downloader: downloader)
        }
        for text in ["data:;base64," + sample.file.base64EncodedString(), "data:," + escaped(sample.file)] {
            let url = try #require(URL(string: text))
            let error = await failure { try await manager(size - 1).image(for: url) }
            #expect(error as? NetworkError == .responseTooLarge(limit: size - 1))
            #expect(try await manager(size).image(for: url).image == sample.picture)
        }
        let text = try #require(URL(string: "data:,hello"))
        #expect(await failure { try await fixture.manager.image(for: text) } is ImageError)
    }
}

extension String {
    /// The text with its escapes in lower case.
    fileprivate func withLowercasedEscapes() -> String {
        var (text, left) = ("", 0)
        for character in self {
            if character == "%" { left = 3 }
            text += left > 0 ? character.lowercased() : String(character)
            left = max(left - 1, 0)
        }
        return text
    }
}
