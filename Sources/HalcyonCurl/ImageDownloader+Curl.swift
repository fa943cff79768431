import HalcyonNetworking
import HalcyonSupport

// The platforms whose default transport this is: see Package.swift.
#if HALCYON_CURL
    extension ImageDownloader {
        /// The default downloader, whose transport is ``CurlTransport/shared``.
        public static let `default` = ImageDownloader(name: "default")

        /// Creates a downloader whose transport is ``CurlTransport/shared``.
        ///
        /// - Parameters:
        ///   - name: the name of the downloader.
        ///   - clock: the clock for retries and freshness.
        public convenience init(
            name: String, configuration: Configuration = Configuration(), clock: any CacheClock = SystemClock()
        ) {
            self.init(name: name, configuration: configuration, transport: CurlTransport.shared, clock: clock)
        }
    }
#endif
